//! record: a run's events, its stage, progress and checkpoint. Numbers are given under the write lock: no gap, in the
//! order of commits.

use std::collections::HashMap;

use async_trait::async_trait;
use serde::Serialize;
use windlass_actors::domain::{Json, NewEvent, Owner, TaskId};
use windlass_actors::ports::ledger::{Record, RecordAnswer};
use windlass_actors::ports::rules::share;

use super::change::EventRow;
use super::fault::Fault;
use super::row::{TaskRow, json};
use super::verb::{Tx, Verb};

pub(super) struct Records {
    pub owner: Owner,
    pub records: Vec<Record>,
}

/// Columns of a task that a run reports: id, last_seq, recorded, stage, progress. Nulls stay as they were.
#[derive(Serialize)]
pub(super) struct Report(pub TaskId, pub i64, pub i64, pub Option<String>, pub Option<f64>);

#[async_trait]
impl Verb for Records {
    type Answer = Vec<RecordAnswer>;

    async fn run(&self, tx: &mut Tx<'_>) -> Result<Vec<RecordAnswer>, Fault> {
        let mut rows = tx.load_map(self.records.iter().map(|r| r.key.task)).await?;
        let (mut answers, mut events) = (Vec::with_capacity(self.records.len()), Vec::new());
        let mut reports = Vec::with_capacity(self.records.len());
        let mut checkpoints: Vec<(TaskId, Json)> = Vec::new();
        for record in &self.records {
            let Some(row) = rows.get_mut(&record.key.task).filter(|r| r.is_held(record.key, self.owner.incarnation))
            else {
                answers.push(RecordAnswer::Fenced);
                continue;
            };
            if row.lease_is_over(tx.now) {
                answers.push(RecordAnswer::Expired);
                continue;
            }
            tx.append(row, record.from, &record.events, &mut events)?;
            match record.checkpoint.as_ref().map(|c| tx.sizes.checkpoint(c)) {
                Some(Ok(kept)) => checkpoints.push((record.key.task, kept)),
                Some(Err(event)) => tx.append_one(row, &event, &mut events)?,
                None => {}
            }
            let stage = record.stage.as_ref().map(|s| tx.sizes.text(s));
            reports.push(Report(record.key.task, row.last_seq, row.recorded, stage, share(record.progress)));
            tx.recorded(record.key.task, row.last_seq);
            answers.push(RecordAnswer::Recorded { last_seq: row.last_seq });
        }
        tx.report(&reports).await?;
        tx.keep_checkpoints(&checkpoints).await?;
        tx.insert_events(&events).await?;
        Ok(answers)
    }

    fn split(&self) -> Vec<Self> {
        let one = |record: &Record| Records { owner: self.owner.clone(), records: vec![record.clone()] };
        self.records.iter().map(one).collect()
    }

    fn join(parts: Vec<Self::Answer>) -> Option<Self::Answer> {
        Some(parts.concat())
    }
}

impl Tx<'_> {
    pub async fn load_map(&mut self, ids: impl IntoIterator<Item = TaskId>) -> Result<HashMap<TaskId, TaskRow>, Fault> {
        self.load(ids).await?.into_iter().map(|row| Ok((row.id()?, row))).collect()
    }

    /// Numbers the events that are not stored yet. Some that we never saw in between: the sender is at fault.
    pub fn append(
        &self,
        row: &mut TaskRow,
        from: u64,
        events: &[NewEvent],
        to: &mut Vec<EventRow>,
    ) -> Result<(), Fault> {
        let recorded = u64::try_from(row.recorded).unwrap_or(0);
        let Some(known) = recorded.checked_sub(from) else {
            return Err(Fault::Bad(format!("events of {} from {from} on, but {recorded} are stored", row.id)));
        };
        for event in events.iter().skip(usize::try_from(known).unwrap_or(usize::MAX)) {
            self.append_one(row, event, to)?;
            row.recorded += 1;
        }
        Ok(())
    }

    pub fn append_one(&self, row: &mut TaskRow, event: &NewEvent, to: &mut Vec<EventRow>) -> Result<(), Fault> {
        row.last_seq += 1;
        let key = row.key()?;
        to.push(EventRow::new(key.task, row.last_seq, key.epoch, &self.sizes.event(event)));
        Ok(())
    }

    pub async fn report(&mut self, reports: &[Report]) -> Result<(), Fault> {
        if !reports.is_empty() {
            sqlx::query(include_str!("sql/report.sql")).bind(json(&reports)?).execute(&mut *self.conn).await?;
        }
        Ok(())
    }

    async fn keep_checkpoints(&mut self, checkpoints: &[(TaskId, Json)]) -> Result<(), Fault> {
        for (task, checkpoint) in checkpoints {
            let update = sqlx::query("UPDATE task_body SET checkpoint = ?2 WHERE id = ?1");
            update.bind(task.to_string()).bind(checkpoint.as_str()).execute(&mut *self.conn).await?;
        }
        Ok(())
    }
}
