//! Where wake-ups for a type come from: a broker's queue, or the task table itself.

use async_trait::async_trait;

use crate::domain::{TaskId, TypeName};

/// A token for one unit of work of its type.
#[derive(Clone, PartialEq, Debug)]
pub struct Delivery {
    /// The task it names, if the queue knows one. A table queue wakes without a name.
    pub task: Option<TaskId>,
    /// What to settle it by; a table queue's deliveries need no settling.
    pub receipt: Option<u64>,
}

/// What the queue is told about a delivery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Settlement {
    /// A committed state made it redundant.
    Ack,
    /// It could not be handled now: to the retry queue.
    Retry,
    /// It can't be handled at all.
    Dead,
}

#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("the queue is unavailable: {0}")]
pub struct IntakeError(pub String);

/// One type's stream of deliveries. Dropping it closes it.
#[async_trait]
pub trait Subscription: Send + 'static {
    /// The next delivery. It may be dropped and called again without losing one.
    async fn next(&mut self) -> Result<Delivery, IntakeError>;
    async fn settle(&mut self, receipt: u64, settlement: Settlement) -> Result<(), IntakeError>;
}

#[async_trait]
pub trait Intake: Send + Sync + 'static {
    /// Opens a type's stream; at most `prefetch` deliveries are unsettled at a time.
    async fn open(&self, task_type: &TypeName, prefetch: u32) -> Result<Box<dyn Subscription>, IntakeError>;
}
