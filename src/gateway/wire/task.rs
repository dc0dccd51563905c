//! A task on the wire.

use serde::Serialize;
use utoipa::ToSchema;
use windlass_actors::domain::{Attempt, Status, Task, TaskError};

use super::raw::{Raw, time};

/// An error of a task or an attempt.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct ErrorItem {
    #[schema(example = "PLUGIN_ERROR")]
    code: String,
    detail: String,
    /// `permanent`, `exhausted`, `poison` or `deadline`; null while the task may still be retried.
    kind: Option<&'static str>,
}

/// One try of a task.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct AttemptItem {
    epoch: i64,
    node_id: String,
    started_at: String,
    ended_at: Option<String>,
    /// `succeeded`, `failed`, `timed_out`, `cancelled`, `crashed`, `lost` or `released`.
    outcome: Option<&'static str>,
    /// Whether it counts towards `max_attempts`; null while it runs.
    charged: Option<bool>,
    error: Option<ErrorItem>,
}

/// A task in a list. Times are RFC 3339 in UTC.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct TaskItem {
    #[schema(example = "0198c5a0-7a3e-7c3a-9a55-0d5a3c1f2b4e")]
    task_id: String,
    task_type: String,
    owner: String,
    /// `queued`, `running`, `succeeded`, `failed` or `cancelled`.
    status: &'static str,
    stage: Option<String>,
    /// 0 to 1.
    progress: Option<f64>,
    /// 0 to 9; higher goes first.
    priority: u8,
    /// Charged starts.
    attempt: u32,
    max_attempts: u32,
    /// Starts, charged or not: the fencing token.
    epoch: i64,
    node_id: Option<String>,
    lease_until: Option<String>,
    result: Option<Raw>,
    error: Option<ErrorItem>,
    created_at: String,
    not_before: Option<String>,
    started_at: Option<String>,
    finished_at: Option<String>,
    deadline_at: Option<String>,
    cancel_requested_at: Option<String>,
    dead_lettered: bool,
    /// The number of the latest event.
    last_seq: i64,
    metadata: Raw,
}

/// A task in full.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct TaskBody {
    #[serde(flatten)]
    task: TaskItem,
    /// An array of the outputs of the latest attempt that has any; null in the answers to a cancel and a replay.
    partial: Option<Raw>,
    /// Oldest first.
    attempts: Vec<AttemptItem>,
}

/// A page of tasks, newest first.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct TaskPage {
    pub tasks: Vec<TaskItem>,
    /// `cursor` of the next page; null on the last one.
    pub next_cursor: Option<String>,
}

/// The answer to a submission.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct Created {
    pub task_id: String,
    pub status: &'static str,
    /// False if the same submission was made before under this idempotency key.
    pub created: bool,
}

/// What a bulk call selected, or with `dry_run` would have.
#[derive(Clone, PartialEq, Debug, Default, Serialize, ToSchema)]
pub struct Selected {
    /// How many tasks matched and were changed (with `dry_run`: would be).
    pub matched: u64,
    /// Their ids, the first 10,000 of them.
    pub ids: Vec<String>,
    pub dry_run: bool,
}

impl From<TaskError> for ErrorItem {
    fn from(error: TaskError) -> Self {
        ErrorItem { code: error.code, detail: error.detail, kind: error.kind.map(|k| k.as_str()) }
    }
}

impl From<Attempt> for AttemptItem {
    fn from(attempt: Attempt) -> Self {
        AttemptItem {
            epoch: attempt.epoch.0,
            node_id: attempt.node_id.0,
            started_at: time(attempt.started_at),
            ended_at: attempt.ended_at.map(time),
            outcome: attempt.outcome.map(|o| o.as_str()),
            charged: attempt.charged,
            error: attempt.error.map(ErrorItem::from),
        }
    }
}

impl From<Task> for TaskItem {
    fn from(task: Task) -> Self {
        TaskItem {
            task_id: task.id.to_string(),
            task_type: task.task_type.to_string(),
            owner: task.owner,
            status: task.status.as_str(),
            stage: task.stage,
            progress: task.progress,
            priority: task.priority,
            attempt: task.attempt,
            max_attempts: task.max_attempts,
            epoch: task.epoch.0,
            node_id: task.node_id.map(|n| n.0),
            lease_until: task.lease_until.map(time),
            result: task.result.map(Raw),
            error: task.error.map(ErrorItem::from),
            created_at: time(task.created_at),
            not_before: task.not_before.map(time),
            started_at: task.started_at.map(time),
            finished_at: task.finished_at.map(time),
            deadline_at: task.deadline_at.map(time),
            cancel_requested_at: task.cancel_requested_at.map(time),
            dead_lettered: task.dead_lettered,
            last_seq: task.last_seq,
            metadata: Raw(task.metadata),
        }
    }
}

impl From<Task> for TaskBody {
    fn from(mut task: Task) -> Self {
        let partial = task.partial.take().map(Raw);
        let attempts = std::mem::take(&mut task.attempts).into_iter().map(AttemptItem::from).collect();
        TaskBody { task: TaskItem::from(task), partial, attempts }
    }
}

impl Created {
    pub fn new(id: impl ToString, status: Status, created: bool) -> Self {
        Created { task_id: id.to_string(), status: status.as_str(), created }
    }
}
