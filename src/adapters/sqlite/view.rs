//! Rows as the record shows them.

use sqlx::FromRow;
use windlass_actors::domain::{Attempt, Epoch, Event, EventKind, Json, NodeId, Task, Timestamp};

use super::fault::Fault;
use super::row::{error, outcome, span, status, task_id, type_name};

#[derive(FromRow)]
pub(super) struct TaskView {
    id: String,
    task_type: String,
    owner: String,
    status: String,
    stage: Option<String>,
    progress: Option<f64>,
    priority: u8,
    attempt: u32,
    max_attempts: u32,
    epoch: i64,
    node_id: Option<String>,
    lease_until: Option<i64>,
    result: Option<String>,
    error: Option<String>,
    created_at: i64,
    not_before: i64,
    started_at: Option<i64>,
    finished_at: Option<i64>,
    deadline_at: Option<i64>,
    timeout_ms: Option<i64>,
    cancel_requested_at: Option<i64>,
    cancel_reason: Option<String>,
    dead_lettered: bool,
    last_seq: i64,
    metadata: String,
    payload: String,
    model_spec: String,
    inference_params: String,
}

impl TaskView {
    /// The task, without attempts and partial output.
    pub fn task(self) -> Result<Task, Fault> {
        Ok(Task {
            id: task_id(&self.id)?,
            task_type: type_name(&self.task_type)?,
            status: status(&self.status)?,
            owner: self.owner,
            stage: self.stage,
            progress: self.progress,
            priority: self.priority,
            attempt: self.attempt,
            max_attempts: self.max_attempts,
            epoch: Epoch(self.epoch),
            node_id: self.node_id.map(NodeId),
            lease_until: self.lease_until.map(Timestamp),
            result: self.result.map(Json::trusted),
            partial: None,
            error: self.error.as_deref().map(error).transpose()?,
            created_at: Timestamp(self.created_at),
            not_before: (self.not_before > self.created_at).then_some(Timestamp(self.not_before)),
            started_at: self.started_at.map(Timestamp),
            finished_at: self.finished_at.map(Timestamp),
            deadline_at: self.deadline_at.map(Timestamp),
            timeout: self.timeout_ms.map(span),
            cancel_requested_at: self.cancel_requested_at.map(Timestamp),
            cancel_reason: self.cancel_reason,
            dead_lettered: self.dead_lettered,
            last_seq: self.last_seq,
            metadata: Json::trusted(self.metadata),
            payload: Json::trusted(self.payload),
            model_spec: Json::trusted(self.model_spec),
            inference_params: Json::trusted(self.inference_params),
            attempts: Vec::new(),
        })
    }
}

#[derive(FromRow)]
pub(super) struct AttemptView {
    epoch: i64,
    node_id: String,
    started_at: i64,
    ended_at: Option<i64>,
    outcome: Option<String>,
    charged: Option<bool>,
    error: Option<String>,
}

impl AttemptView {
    pub fn attempt(self) -> Result<Attempt, Fault> {
        Ok(Attempt {
            epoch: Epoch(self.epoch),
            node_id: NodeId(self.node_id),
            started_at: Timestamp(self.started_at),
            ended_at: self.ended_at.map(Timestamp),
            outcome: self.outcome.as_deref().map(outcome).transpose()?,
            charged: self.charged,
            error: self.error.as_deref().map(error).transpose()?,
        })
    }
}

#[derive(FromRow)]
pub(super) struct EventView {
    seq: i64,
    epoch: i64,
    kind: String,
    at: i64,
    data: String,
}

impl EventView {
    pub fn event(self) -> Result<Event, Fault> {
        Ok(Event {
            seq: self.seq,
            epoch: Epoch(self.epoch),
            kind: EventKind::parse(&self.kind).ok_or_else(|| Fault::damaged("an event's kind"))?,
            at: Timestamp(self.at),
            data: Json::trusted(self.data),
        })
    }
}
