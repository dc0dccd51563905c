//! How an attempt ended, and what we decided from it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{ErrorKind, Json, TaskError};

/// How an attempt ended: the label in the record and in the metrics.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Succeeded,
    Failed,
    TimedOut,
    Cancelled,
    /// Its host died while it ran there alone.
    Crashed,
    /// Its owner stopped renewing; who took it wrote this.
    Lost,
    Released,
}

impl Outcome {
    pub const ALL: [Outcome; 7] = [
        Outcome::Succeeded,
        Outcome::Failed,
        Outcome::TimedOut,
        Outcome::Cancelled,
        Outcome::Crashed,
        Outcome::Lost,
        Outcome::Released,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Succeeded => "succeeded",
            Outcome::Failed => "failed",
            Outcome::TimedOut => "timed_out",
            Outcome::Cancelled => "cancelled",
            Outcome::Crashed => "crashed",
            Outcome::Lost => "lost",
            Outcome::Released => "released",
        }
    }

    pub fn parse(text: &str) -> Option<Outcome> {
        Outcome::ALL.into_iter().find(|o| o.as_str() == text)
    }
}

/// What the executor knows when a run is over: the argument of `decide::verdict`.
#[derive(Clone, PartialEq, Debug)]
pub enum Ending {
    Succeeded {
        result: Json,
    },
    /// The run said so. `permanent` ends the task; else it is retried, after `retry_after` if given.
    Failed {
        error: TaskError,
        permanent: bool,
        retry_after: Option<Duration>,
    },
    TimedOut {
        after: Duration,
    },
    DeadlinePassed,
    /// The run stopped because we asked it to.
    Stopped {
        reason: EndReason,
    },
    /// The host died by itself; `alone` if this was its only run. The error keeps the reason (signal, exit status).
    HostDied {
        error: TaskError,
        alone: bool,
    },
    /// The host was killed by us for the sake of another run.
    NeighbourKilled,
    /// The run never began.
    NotStarted {
        reason: ReleaseReason,
        retry_after: Option<Duration>,
    },
    /// The actor that owned the run died.
    ActorDied {
        began: bool,
        detail: String,
    },
}

/// Why we stopped a run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    Cancel,
    Timeout,
    Deadline,
    Drain,
    /// The lease is somebody else's.
    Lost,
}

impl EndReason {
    pub fn as_str(self) -> &'static str {
        match self {
            EndReason::Cancel => "cancel",
            EndReason::Timeout | EndReason::Deadline => "timeout",
            EndReason::Drain => "drain",
            EndReason::Lost => "lost",
        }
    }
}

/// Why an attempt was given back without blame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReleaseReason {
    /// No host could be started; never began.
    NoHost,
    /// Claimed, but the node drains or the type is parked; never began.
    NotBegun,
    /// Cut short by a drain.
    Drain,
    NeighbourKilled,
    /// The host died with several runs; this one is a suspect now.
    HostDied,
    ActorDied,
}

impl ReleaseReason {
    pub const ALL: [ReleaseReason; 6] = [
        ReleaseReason::NoHost,
        ReleaseReason::NotBegun,
        ReleaseReason::Drain,
        ReleaseReason::NeighbourKilled,
        ReleaseReason::HostDied,
        ReleaseReason::ActorDied,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            ReleaseReason::NoHost => "no_host",
            ReleaseReason::NotBegun => "not_begun",
            ReleaseReason::Drain => "drain",
            ReleaseReason::NeighbourKilled => "neighbour_killed",
            ReleaseReason::HostDied => "host_died",
            ReleaseReason::ActorDied => "actor_died",
        }
    }

    /// Whether the run had begun and the end counts towards the tenth uncharged one.
    pub fn is_counted(self) -> bool {
        matches!(self, ReleaseReason::NeighbourKilled | ReleaseReason::HostDied | ReleaseReason::ActorDied)
    }
}

/// What is written about an attempt that ended. The ledger may turn it: a cancel asked for wins over every verdict but
/// `Complete`; a retry without attempts left is a dead letter.
#[derive(Clone, PartialEq, Debug)]
pub enum Verdict {
    Complete {
        result: Json,
    },
    /// Fails for good, not a dead letter (`permanent`, `deadline`).
    Fail {
        outcome: Outcome,
        error: TaskError,
        kind: ErrorKind,
    },
    Cancel,
    RetryIn {
        outcome: Outcome,
        error: TaskError,
        delay: Duration,
    },
    /// Fails for good into the waiting room (`exhausted`, `poison`).
    DeadLetter {
        outcome: Outcome,
        error: TaskError,
        kind: ErrorKind,
    },
    Release {
        reason: ReleaseReason,
        delay: Duration,
        detail: String,
    },
}
