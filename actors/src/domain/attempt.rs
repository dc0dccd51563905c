//! One try of a task, and who holds it.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Epoch, Incarnation, NodeId, Outcome, TaskError, TaskId, Timestamp};

/// An attempt's identity; with the running state it is what every write of an executor is fenced by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct LeaseKey {
    pub task: TaskId,
    pub epoch: Epoch,
}

impl fmt::Display for LeaseKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.task, self.epoch)
    }
}

/// Who claims: a node in one of its lives, and how long its leases are.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Owner {
    pub node: NodeId,
    pub incarnation: Incarnation,
    pub lease: Duration,
}

/// An attempt as the record shows it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Attempt {
    pub epoch: Epoch,
    pub node_id: NodeId,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub outcome: Option<Outcome>,
    /// Whether it counts towards `max_attempts`; unknown while it runs.
    pub charged: Option<bool>,
    pub error: Option<TaskError>,
}
