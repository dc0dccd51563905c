//! Writes what the table of states says: for every move that is not hot.

use serde::Serialize;
use uuid::Uuid;
use windlass_actors::domain::{
    AttemptEnd, Command, Epoch, EventKind, Json, Move, NewEvent, Standing, StateData, Status, TaskId, apply,
};

use super::fault::Fault;
use super::row::{TaskRow, json};
use super::verb::Tx;

/// An event to be stored: task, seq, epoch, kind, data.
#[derive(Serialize)]
pub(super) struct EventRow(TaskId, i64, Epoch, &'static str, Json);

impl EventRow {
    pub fn new(task: TaskId, seq: i64, epoch: Epoch, event: &NewEvent) -> Self {
        EventRow(task, seq, epoch, event.kind.as_str(), event.data.clone())
    }

    pub fn state(task: TaskId, seq: i64, epoch: Epoch, data: &StateData) -> Result<Self, Fault> {
        Ok(EventRow(task, seq, epoch, EventKind::State.as_str(), Json::trusted(json(data)?)))
    }
}

/// What goes with a move.
#[derive(Default)]
pub(super) struct With<'a> {
    pub finish_token: Option<Uuid>,
    pub cancel_reason: Option<&'a str>,
}

impl Tx<'_> {
    pub async fn insert_events(&mut self, events: &[EventRow]) -> Result<(), Fault> {
        if !events.is_empty() {
            let insert = sqlx::query(include_str!("sql/insert_events.sql")).bind(json(&events)?).bind(self.now.0);
            insert.execute(&mut *self.conn).await?;
        }
        Ok(())
    }

    /// Moves a task by the table and writes all that it says. None if the table refuses. `row` is as read in this
    /// transaction, but for `last_seq`, which may be ahead.
    pub async fn apply(&mut self, row: &TaskRow, command: Command, with: With<'_>) -> Result<Option<Standing>, Fault> {
        let Ok(moved) = apply(&row.standing()?, command, self.now) else {
            return Ok(None);
        };
        self.write(row, &moved, with).await?;
        Ok(Some(moved.next))
    }

    async fn write(&mut self, row: &TaskRow, moved: &Move, with: With<'_>) -> Result<(), Fault> {
        let id = row.id()?;
        let last_seq = row.last_seq + i64::from(moved.event.is_some());
        self.write_task(row, moved, last_seq, &with).await?;
        if let Some(end) = &moved.attempt_end {
            self.end_attempt(row, end, with.finish_token).await?;
        }
        if let Some(result) = &moved.result {
            let update = sqlx::query("UPDATE task_body SET result = ?2 WHERE id = ?1");
            update.bind(&row.id).bind(result.as_str()).execute(&mut *self.conn).await?;
        }
        if let Some(data) = &moved.event {
            self.insert_events(&[EventRow::state(id, last_seq, moved.next.epoch, data)?]).await?;
            self.recorded(id, last_seq);
        }
        if moved.next.status == Status::Queued {
            self.queued(&row.task_type()?);
        }
        Ok(())
    }

    async fn write_task(&mut self, row: &TaskRow, moved: &Move, last_seq: i64, with: &With<'_>) -> Result<(), Fault> {
        let next = &moved.next;
        let error = moved.error.as_ref().map(json).transpose()?;
        let update = sqlx::query(include_str!("sql/write_move.sql"))
            .bind(&row.id)
            .bind(row.epoch)
            .bind(&row.status)
            .bind(next.status.as_str())
            .bind(next.attempt)
            .bind(next.uncharged)
            .bind(next.losses)
            .bind(next.suspect.as_int())
            .bind(next.life)
            .bind(next.not_before.0)
            .bind(next.deadline_at.map(|at| at.0))
            .bind(next.dead_lettered)
            .bind(last_seq)
            .bind(error)
            .bind(next.status == Status::Running)
            .bind(self.now.0)
            .bind(next.cancel_requested)
            .bind(with.cancel_reason);
        match update.execute(&mut *self.conn).await?.rows_affected() {
            1 => Ok(()),
            _ => Err(Fault::Bad(format!("task {} moved meanwhile", row.id))),
        }
    }

    async fn end_attempt(&mut self, row: &TaskRow, end: &AttemptEnd, token: Option<Uuid>) -> Result<(), Fault> {
        sqlx::query(include_str!("sql/end_attempt.sql"))
            .bind(&row.id)
            .bind(row.epoch)
            .bind(self.now.0)
            .bind(end.outcome.as_str())
            .bind(end.charged)
            .bind(end.error.as_ref().map(json).transpose()?)
            .bind(token.map(|t| t.to_string()))
            .execute(&mut *self.conn)
            .await?;
        Ok(())
    }
}
