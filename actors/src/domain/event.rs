//! What a task tells those who watch it.

use serde::{Deserialize, Serialize};

use super::{Epoch, Json, Timestamp};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EventKind {
    State,
    Stage,
    Progress,
    Output,
    Log,
    Checkpoint,
}

impl EventKind {
    pub const ALL: [EventKind; 6] = [
        EventKind::State,
        EventKind::Stage,
        EventKind::Progress,
        EventKind::Output,
        EventKind::Log,
        EventKind::Checkpoint,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            EventKind::State => "state",
            EventKind::Stage => "stage",
            EventKind::Progress => "progress",
            EventKind::Output => "output",
            EventKind::Log => "log",
            EventKind::Checkpoint => "checkpoint",
        }
    }

    pub fn parse(text: &str) -> Option<EventKind> {
        EventKind::ALL.into_iter().find(|k| k.as_str() == text)
    }
}

/// An event of a run, not yet stored. The ledger gives it its number and its time.
///
/// `data` by kind: stage `{"name"}`; progress `{"fraction","message"}`; output `{"values":[…]}` (one event holds what
/// was emitted within the coalescing window); log `{"level","stream","text"}`; checkpoint `{"bytes"}`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NewEvent {
    pub kind: EventKind,
    pub data: Json,
}

/// A stored event. `seq` counts 1..n within its task without a gap.
///
/// `data` of a `state` event has `status`; queued again: `reason`, `not_before`; running: `attempt`, `node_id`;
/// an end: `result` is not in it, `error` is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Event {
    pub seq: i64,
    pub epoch: Epoch,
    pub kind: EventKind,
    pub at: Timestamp,
    pub data: Json,
}
