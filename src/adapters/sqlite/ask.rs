//! What callers ask of a task: cancel, replay, discard.

use async_trait::async_trait;
use windlass_actors::domain::{Command, Epoch, Status, Task, TaskId};
use windlass_actors::ports::ledger::{CancelAnswer, Replay, ReplayAnswer};
use windlass_actors::ports::signals::Signal;

use super::change::With;
use super::fault::Fault;
use super::read;
use super::row::{json, task_id};
use super::verb::{Tx, Verb};

pub(super) struct Cancel {
    pub task: TaskId,
    pub reason: Option<String>,
}

#[async_trait]
impl Verb for Cancel {
    type Answer = CancelAnswer;

    async fn run(&self, tx: &mut Tx<'_>) -> Result<CancelAnswer, Fault> {
        let Some(row) = tx.load_one(self.task).await? else {
            return Ok(CancelAnswer::Unknown);
        };
        let before = row.standing()?;
        if before.status == Status::Cancelled || (before.status == Status::Running && before.cancel_requested) {
            return Ok(CancelAnswer::Already(tx.task(self.task).await?));
        }
        let reason = self.reason.as_ref().map(|r| tx.sizes.text(r));
        let with = With { finish_token: None, cancel_reason: reason.as_deref() };
        let Some(next) = tx.apply(&row, Command::Cancel { reason: reason.clone() }, with).await? else {
            return Ok(CancelAnswer::Finished(tx.task(self.task).await?));
        };
        if next.status == Status::Running {
            tx.signal(Signal::CancelRequested { task: self.task, epoch: Epoch(row.epoch) });
        }
        Ok(CancelAnswer::Accepted(tx.task(self.task).await?))
    }
}

pub(super) struct Replays(pub Replay);

#[async_trait]
impl Verb for Replays {
    type Answer = ReplayAnswer;

    async fn run(&self, tx: &mut Tx<'_>) -> Result<ReplayAnswer, Fault> {
        let Replay { task, payload, fresh, waiting } = &self.0;
        let Some(row) = tx.load_one(*task).await? else {
            return Ok(ReplayAnswer::Unknown);
        };
        let left = *waiting && !row.standing()?.dead_lettered;
        if left || tx.apply(&row, Command::Replay, With::default()).await?.is_none() {
            return Ok(ReplayAnswer::NotFailed(tx.task(*task).await?));
        }
        sqlx::query("UPDATE task SET started_at = NULL, stage = NULL, progress = NULL, recorded = 0 WHERE id = ?1")
            .bind(&row.id)
            .execute(&mut *tx.conn)
            .await?;
        sqlx::query(include_str!("sql/replay_body.sql"))
            .bind(&row.id)
            .bind(payload.as_ref().map(|p| p.as_str()))
            .bind(*fresh)
            .execute(&mut *tx.conn)
            .await?;
        Ok(ReplayAnswer::Queued(tx.task(*task).await?))
    }
}

pub(super) struct Discard(pub Vec<TaskId>);

#[async_trait]
impl Verb for Discard {
    type Answer = Vec<TaskId>;

    async fn run(&self, tx: &mut Tx<'_>) -> Result<Vec<TaskId>, Fault> {
        let ids: Vec<String> =
            sqlx::query_scalar(include_str!("sql/discard.sql")).bind(json(&self.0)?).fetch_all(&mut *tx.conn).await?;
        let mut ids = ids.iter().map(|id| task_id(id)).collect::<Result<Vec<_>, _>>()?;
        ids.sort();
        Ok(ids)
    }
}

impl Tx<'_> {
    async fn task(&mut self, id: TaskId) -> Result<Box<Task>, Fault> {
        let task = read::without_partial(&mut *self.conn, id).await?;
        task.map(Box::new).ok_or_else(|| Fault::damaged("a task without a body"))
    }
}
