//! What is committed, for reading: tasks, events, counts, facts for the audit.

use async_trait::async_trait;

use super::ledger::LedgerError;
use crate::domain::{Epoch, Event, Status, Task, TaskId, Timestamp, TypeName};

/// Which tasks; an empty filter is all of them.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Filter {
    pub ids: Vec<TaskId>,
    pub status: Vec<Status>,
    pub task_type: Option<TypeName>,
    pub owner: Option<String>,
    /// Only what waits in the dead-letter room.
    pub dead_lettered: bool,
}

/// Newest first; `before` is the last id of the page before.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Page {
    pub before: Option<TaskId>,
    pub limit: u32,
}

/// Events after a number, and where the task stood in the same snapshot.
#[derive(Clone, PartialEq, Debug)]
pub struct Events {
    pub events: Vec<Event>,
    pub status: Status,
    pub last_seq: i64,
}

/// Tasks of a type in a state.
#[derive(Clone, PartialEq, Debug)]
pub struct Depth {
    pub task_type: TypeName,
    pub status: Status,
    pub count: u64,
    /// The oldest one's age: since due (queued) or started (running).
    pub oldest_age: std::time::Duration,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Stats {
    /// Queued and running only.
    pub depths: Vec<Depth>,
    /// Waiting dead letters.
    pub dead_letters: Vec<(TypeName, u64)>,
}

/// A task's facts for the audit, its events folded to what the invariants ask of them.
#[derive(Clone, PartialEq, Debug)]
pub struct TaskFacts {
    pub id: TaskId,
    pub status: Status,
    pub epoch: Epoch,
    pub attempt: u32,
    pub max_attempts: u32,
    pub last_seq: i64,
    pub event_count: i64,
    pub first_seq: Option<i64>,
    pub max_seq: Option<i64>,
    /// Events whose epoch is lower than that of an event before them.
    pub epoch_regressions: i64,
    /// Terminal `state` events.
    pub terminal_events: i64,
    /// Of them, those that a replay followed.
    pub replays: i64,
    /// The status in the last `state` event.
    pub last_state: Option<Status>,
    /// Attempts of this life, charged or under way.
    pub charged_attempts: i64,
    pub attempts: i64,
    pub open_attempts: i64,
    pub has_owner: bool,
    /// How long its lease has been over, if it is.
    pub lease_over_for: Option<std::time::Duration>,
    pub has_result: bool,
    pub has_error: bool,
    pub finished_at: Option<Timestamp>,
}

#[async_trait]
pub trait Records: Send + Sync + 'static {
    /// A task with its attempts and its partial output.
    async fn task(&self, id: TaskId) -> Result<Option<Task>, LedgerError>;
    /// Without attempts and partial output.
    async fn tasks(&self, filter: &Filter, page: Page) -> Result<Vec<Task>, LedgerError>;
    /// Events with `seq > after`, oldest first, at most `limit`.
    async fn events(&self, id: TaskId, after: i64, limit: u32) -> Result<Option<Events>, LedgerError>;
    async fn stats(&self) -> Result<Stats, LedgerError>;
    /// Facts of tasks by ascending id, after `after`: the audit reads them a page at a time.
    async fn facts(&self, after: Option<TaskId>, limit: u32) -> Result<Vec<TaskFacts>, LedgerError>;
}
