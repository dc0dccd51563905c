//! All that is stored.

use std::collections::BTreeMap;

use super::row::{Row, With};
use crate::domain::{Command, NodeId, Standing, Status, TaskId, TaskType, Timestamp, TypeName};
use crate::ports::registry::NodeReport;
use crate::ports::rules::Sizes;
use crate::ports::signals::Signal;

#[derive(Debug)]
pub(super) struct State {
    pub now: Timestamp,
    pub sizes: Sizes,
    pub tasks: BTreeMap<TaskId, Row>,
    /// By owner and idempotency key.
    pub keys: BTreeMap<(String, String), TaskId>,
    pub nodes: BTreeMap<NodeId, Node>,
    pub types: BTreeMap<TypeName, Known>,
    pub settings: BTreeMap<String, String>,
    /// Told when the transaction is over.
    pub signals: Vec<Signal>,
}

#[derive(Debug)]
pub(super) struct Node {
    pub report: NodeReport,
    pub heartbeat_at: Timestamp,
    pub started_at: Timestamp,
}

#[derive(Debug)]
pub(super) struct Known {
    pub task_type: TaskType,
    pub paused: bool,
}

impl State {
    pub fn new(sizes: Sizes) -> Self {
        State {
            now: Timestamp::default(),
            sizes,
            tasks: BTreeMap::new(),
            keys: BTreeMap::new(),
            nodes: BTreeMap::new(),
            types: BTreeMap::new(),
            settings: BTreeMap::new(),
            signals: Vec::new(),
        }
    }

    /// Moves a task by the table. None if there is no such task, or the table refuses.
    pub fn apply(&mut self, id: TaskId, command: Command, with: With) -> Option<Standing> {
        let row = self.tasks.get_mut(&id)?;
        let moved = row.apply(command, with, self.now)?;
        if moved.event.is_some() {
            self.signals.push(Signal::Recorded { task: id, last_seq: row.last_seq() });
        }
        let (task_type, next) = (row.task.task_type.clone(), moved.next);
        if next.status == Status::Queued {
            self.queued(task_type);
        }
        Some(next)
    }

    pub fn queued(&mut self, task_type: TypeName) {
        let signal = Signal::Queued { task_type };
        if !self.signals.contains(&signal) {
            self.signals.push(signal);
        }
    }
}
