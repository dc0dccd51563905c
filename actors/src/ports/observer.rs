//! What the tree tells of itself: facts, for metrics and for tests that wait for something to have happened.

use std::time::Duration;

use super::ledger::TakeCause;
use super::runner::ExitCause;
use crate::domain::{LeaseKey, Outcome, Status, TypeName};

/// A write that was refused because the attempt is no longer ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fenced {
    Record,
    Finish,
    Renew,
}

impl Fenced {
    pub fn as_str(self) -> &'static str {
        match self {
            Fenced::Record => "record",
            Fenced::Finish => "finish",
            Fenced::Renew => "renew",
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub enum Fact {
    /// A task was claimed, that long after it was due.
    Claimed {
        task_type: TypeName,
        key: LeaseKey,
        waited: Duration,
    },
    /// Its run was handed to a host.
    RunBegan {
        task_type: TypeName,
        key: LeaseKey,
    },
    /// A run said how far it is, and how long the stage before took.
    StageEnded {
        task_type: TypeName,
        stage: String,
        took: Duration,
    },
    /// An attempt's end is committed. `status` is what the task is now.
    AttemptEnded {
        task_type: TypeName,
        key: LeaseKey,
        outcome: Outcome,
        status: Status,
        ran: Duration,
    },
    /// An attempt ended without a write of ours: it was somebody else's.
    AttemptLost {
        task_type: TypeName,
        key: LeaseKey,
    },
    FenceRejected {
        write: Fenced,
        key: LeaseKey,
    },
    /// The end of an attempt could not be written; it is kept and tried again.
    TerminalWriteFailed {
        key: LeaseKey,
    },
    RenewFailed,
    /// A task was taken from an owner that was gone.
    TakenBack {
        task_type: TypeName,
        key: LeaseKey,
        cause: TakeCause,
        status: Status,
    },
    HostStarted {
        group: String,
        pid: Option<u32>,
    },
    HostExited {
        group: String,
        cause: ExitCause,
    },
    /// Slots of a type.
    Slots {
        task_type: TypeName,
        busy: u32,
        free: u32,
    },
    /// Leases of the node.
    Leases {
        count: usize,
    },
    /// Hosts of a group: those that take runs, all that are alive, and their resident memory in bytes.
    Hosts {
        group: String,
        ready: u32,
        alive: usize,
        memory: u64,
    },
}

pub trait Observer: Send + Sync + 'static {
    /// Hears a fact. Must not block.
    fn saw(&self, fact: &Fact);
}

/// Hears nothing.
#[derive(Clone, Copy, Debug)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn saw(&self, _: &Fact) {}
}
