//! A task as it is asked for, and as the record shows it.

use std::time::Duration;

use super::{Attempt, Epoch, Json, NodeId, Status, TaskError, TaskId, Timestamp, TypeName};

/// A submission, checked and with every default filled in.
#[derive(Clone, PartialEq, Debug)]
pub struct NewTask {
    pub id: TaskId,
    pub task_type: TypeName,
    pub owner: String,
    pub payload: Json,
    pub model_spec: Json,
    pub inference_params: Json,
    /// Any JSON the caller wants back with the task; never read by us.
    pub metadata: Json,
    /// 0 to 9; higher goes first.
    pub priority: u8,
    pub max_attempts: u32,
    pub timeout: Option<Duration>,
    /// From now, by the database's clock.
    pub deadline_in: Option<Duration>,
    pub not_before: Option<Timestamp>,
    pub client_role: Option<String>,
    /// Unique for an owner, kept as long as the task.
    pub idempotency_key: Option<String>,
    /// Of the request's meaning; tells the same submission from another one under the same key.
    pub fingerprint: String,
}

/// A task as the API shows it (contract, section 2).
#[derive(Clone, PartialEq, Debug)]
pub struct Task {
    pub id: TaskId,
    pub task_type: TypeName,
    pub owner: String,
    pub status: Status,
    pub stage: Option<String>,
    /// 0 to 1.
    pub progress: Option<f64>,
    pub priority: u8,
    pub attempt: u32,
    pub max_attempts: u32,
    pub epoch: Epoch,
    pub node_id: Option<NodeId>,
    pub lease_until: Option<Timestamp>,
    pub result: Option<Json>,
    /// A JSON array: the outputs of the latest epoch that has any.
    pub partial: Option<Json>,
    pub error: Option<TaskError>,
    pub created_at: Timestamp,
    pub not_before: Option<Timestamp>,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    pub deadline_at: Option<Timestamp>,
    pub timeout: Option<Duration>,
    pub cancel_requested_at: Option<Timestamp>,
    pub cancel_reason: Option<String>,
    pub dead_lettered: bool,
    pub last_seq: i64,
    pub metadata: Json,
    pub payload: Json,
    pub model_spec: Json,
    pub inference_params: Json,
    /// Oldest first. Empty in lists.
    pub attempts: Vec<Attempt>,
}
