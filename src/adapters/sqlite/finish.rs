//! finish: the end of attempts, with the events not yet sent. Successes are written together, other ends by the table.

use std::collections::HashMap;

use async_trait::async_trait;
use serde::Serialize;
use uuid::Uuid;
use windlass_actors::domain::{Command, Epoch, Json, LeaseKey, Owner, Status, TaskId, Verdict, apply};
use windlass_actors::ports::ledger::{Finish, FinishAnswer};
use windlass_actors::ports::rules::share;

use super::change::{EventRow, With};
use super::fault::Fault;
use super::record::Report;
use super::row::{TaskRow, json};
use super::verb::{Tx, Verb};

pub(super) struct Finishes {
    pub owner: Owner,
    pub finishes: Vec<Finish>,
}

/// A success: id, epoch, last_seq, stage, progress, result, token.
#[derive(Serialize)]
struct Success(TaskId, Epoch, i64, Option<String>, Option<f64>, Json, Uuid);

/// What the call has written so far.
#[derive(Default)]
struct Batch {
    events: Vec<EventRow>,
    successes: Vec<Success>,
    ended: HashMap<LeaseKey, (Uuid, Status)>,
}

#[async_trait]
impl Verb for Finishes {
    type Answer = Vec<FinishAnswer>;

    async fn run(&self, tx: &mut Tx<'_>) -> Result<Vec<FinishAnswer>, Fault> {
        let mut rows = tx.load_map(self.finishes.iter().map(|f| f.key.task)).await?;
        let (mut answers, mut batch) = (Vec::with_capacity(self.finishes.len()), Batch::default());
        for finish in &self.finishes {
            let answer = match rows.get_mut(&finish.key.task) {
                Some(row) => self.one(tx, row, finish, &mut batch).await?,
                None => FinishAnswer::Fenced,
            };
            answers.push(answer);
        }
        tx.succeed(&batch.successes).await?;
        tx.insert_events(&batch.events).await?;
        Ok(answers)
    }

    fn split(&self) -> Vec<Self> {
        let one = |finish: &Finish| Finishes { owner: self.owner.clone(), finishes: vec![finish.clone()] };
        self.finishes.iter().map(one).collect()
    }

    fn join(parts: Vec<Self::Answer>) -> Option<Self::Answer> {
        Some(parts.concat())
    }
}

impl Finishes {
    async fn one(
        &self,
        tx: &mut Tx<'_>,
        row: &mut TaskRow,
        finish: &Finish,
        batch: &mut Batch,
    ) -> Result<FinishAnswer, Fault> {
        if let Some((token, status)) = batch.ended.get(&finish.key) {
            let already = *token == finish.token;
            return Ok(if already { FinishAnswer::Already { status: *status } } else { FinishAnswer::Fenced });
        }
        if !row.is_held(finish.key, self.owner.incarnation) {
            return tx.ended_before(row, finish).await;
        }
        if row.lease_is_over(tx.now) && !matches!(finish.verdict, Verdict::Release { .. }) {
            return Ok(FinishAnswer::Expired);
        }
        tx.append(row, finish.from, &finish.events, &mut batch.events)?;
        let stage = finish.stage.as_ref().map(|s| tx.sizes.text(s));
        let status = match tx.sizes.verdict(&finish.verdict) {
            Verdict::Complete { result } => {
                tx.complete(row, finish, stage, result, batch)?;
                Status::Succeeded
            }
            verdict => tx.settle(row, finish, stage, verdict).await?,
        };
        batch.ended.insert(finish.key, (finish.token, status));
        Ok(FinishAnswer::Done { status })
    }
}

impl Tx<'_> {
    /// The attempt is not running under this owner: did this very finish end it?
    async fn ended_before(&mut self, row: &TaskRow, finish: &Finish) -> Result<FinishAnswer, Fault> {
        let ended: Option<i64> =
            sqlx::query_scalar("SELECT 1 FROM task_attempt WHERE task_id = ?1 AND epoch = ?2 AND finish_token = ?3")
                .bind(&row.id)
                .bind(finish.key.epoch.0)
                .bind(finish.token.to_string())
                .fetch_optional(&mut *self.conn)
                .await?;
        Ok(match ended {
            Some(_) => FinishAnswer::Already { status: row.status()? },
            None => FinishAnswer::Fenced,
        })
    }

    fn complete(
        &mut self,
        row: &TaskRow,
        finish: &Finish,
        stage: Option<String>,
        result: Json,
        batch: &mut Batch,
    ) -> Result<(), Fault> {
        let command = Command::Settle(Verdict::Complete { result: result.clone() });
        let moved = apply(&row.standing()?, command, self.now).map_err(|r| Fault::Bad(format!("{}: {r:?}", row.id)))?;
        let (LeaseKey { task, epoch }, last_seq) = (finish.key, row.last_seq + 1);
        if let Some(data) = &moved.event {
            batch.events.push(EventRow::state(task, last_seq, epoch, data)?);
        }
        batch.successes.push(Success(task, epoch, last_seq, stage, share(finish.progress), result, finish.token));
        self.recorded(task, last_seq);
        Ok(())
    }

    async fn succeed(&mut self, successes: &[Success]) -> Result<(), Fault> {
        if successes.is_empty() {
            return Ok(());
        }
        let successes = json(&successes)?;
        let sql = [
            include_str!("sql/succeed_tasks.sql"),
            include_str!("sql/succeed_attempts.sql"),
            include_str!("sql/succeed_bodies.sql"),
        ];
        for sql in sql {
            sqlx::query(sql).bind(&successes).bind(self.now.0).execute(&mut *self.conn).await?;
        }
        Ok(())
    }

    async fn settle(
        &mut self,
        row: &TaskRow,
        finish: &Finish,
        stage: Option<String>,
        verdict: Verdict,
    ) -> Result<Status, Fault> {
        self.report(&[Report(finish.key.task, row.last_seq, row.recorded, stage, share(finish.progress))]).await?;
        let with = With { finish_token: Some(finish.token), cancel_reason: None };
        let next = self.apply(row, Command::Settle(verdict), with).await?;
        next.map(|next| next.status).ok_or_else(|| Fault::Bad(format!("task {} does not run", row.id)))
    }
}
