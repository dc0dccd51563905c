//! The port to the database: every write about a task. Design, section 6.
//!
//! Calls take batches and answer per item, in the order of the items; one bad item never fails the rest. Time is the
//! database's. A call that fails as a whole ([`LedgerError`]) may have happened: it is repeated with its tokens.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use uuid::Uuid;

use crate::domain::{
    Incarnation, Json, LeaseKey, NewEvent, NewTask, NodeId, Owner, Status, Suspicion, Task, TaskId, Timestamp,
    TypeName, Verdict,
};

/// The database could not be asked, or did not answer.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum LedgerError {
    /// Away, locked out, full or read-only: try again later. The text says which, without secrets.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// What we asked makes no sense to it; trying again won't help.
    #[error("the store refused: {0}")]
    Refused(String),
}

pub type Answers<T> = Result<Vec<T>, LedgerError>;

/// The cluster-wide limits of a type, enforced in claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Limits {
    pub max_running: Option<u32>,
    pub starts_per_minute: Option<u32>,
}

/// Claims one known task (a broker's delivery).
#[derive(Clone, PartialEq, Debug)]
pub struct Claim {
    pub task: TaskId,
    pub task_type: TypeName,
    /// The most suspicious task that may be taken.
    pub suspects: Suspicion,
    pub limits: Limits,
    /// What the attempt runs; the record keeps it.
    pub plugin_sha256: Option<String>,
    /// Repeating a claim with its token gives the same answer.
    pub token: Uuid,
}

/// Claims up to `most` due tasks of a type: by priority, then age.
#[derive(Clone, PartialEq, Debug)]
pub struct ClaimNext {
    pub task_type: TypeName,
    pub most: u32,
    /// The most suspicious task that may be taken; at most one suspect comes with an answer.
    pub suspects: Suspicion,
    pub limits: Limits,
    /// What the attempts run; the record keeps it.
    pub plugin_sha256: Option<String>,
    pub token: Uuid,
}

/// An attempt just begun: all that a run needs.
#[derive(Clone, PartialEq, Debug)]
pub struct Claimed {
    pub key: LeaseKey,
    pub task_type: TypeName,
    pub owner: String,
    /// Charged starts, this one included.
    pub attempt: u32,
    pub max_attempts: u32,
    pub suspect: Suspicion,
    pub payload: Json,
    pub model_spec: Json,
    pub inference_params: Json,
    pub checkpoint: Option<Json>,
    pub client_role: Option<String>,
    /// The task's own timeout.
    pub timeout: Option<Duration>,
    /// Time left until its deadline, at the claim.
    pub deadline_in: Option<Duration>,
    /// From due to claimed.
    pub waited: Duration,
}

#[derive(Clone, PartialEq, Debug)]
pub enum ClaimAnswer {
    Claimed(Box<Claimed>),
    NotDue {
        due_in: Duration,
    },
    /// Its type is paused, at its limit, or the task is a suspect that was not asked for.
    Limited {
        retry_after: Duration,
    },
    HeldBy {
        owner: NodeId,
        lease_left: Duration,
    },
    Finished {
        status: Status,
    },
    Unknown,
}

/// What `claim_next` found.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct NextAnswer {
    pub claimed: Vec<Claimed>,
    /// Due tasks wait, but a limit or a pause holds them: look again after that long.
    pub limited: Option<Duration>,
    /// The next queued task of the type that may be claimed is due in that long. Nothing of it left: look again at
    /// once, since more is overdue than one claim fails on its way ([`super::rules::OVERDUE_AT_ONCE`]).
    pub next_due: Option<Duration>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum RenewAnswer {
    Held {
        cancel_requested: bool,
    },
    /// The row is locked just now: again within the period.
    Busy,
    Lost,
}

/// Events of a run, numbered within the attempt: `from` counts what was sent before them. What the ledger stored
/// already is not stored again, so a record can be repeated.
#[derive(Clone, PartialEq, Debug)]
pub struct Record {
    pub key: LeaseKey,
    pub from: u64,
    pub events: Vec<NewEvent>,
    pub stage: Option<String>,
    pub progress: Option<f64>,
    pub checkpoint: Option<Json>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RecordAnswer {
    Recorded {
        last_seq: i64,
    },
    /// Only the lease ran out: renew, then repeat.
    Expired,
    /// The attempt is over, or somebody else's. Final.
    Fenced,
}

/// The end of an attempt, with the events not yet sent (numbered as in [`Record`]).
#[derive(Clone, PartialEq, Debug)]
pub struct Finish {
    pub key: LeaseKey,
    pub verdict: Verdict,
    pub from: u64,
    pub events: Vec<NewEvent>,
    pub stage: Option<String>,
    pub progress: Option<f64>,
    /// Repeating a finish with its token answers `Already`.
    pub token: Uuid,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FinishAnswer {
    /// `status` is what the task is now: a cancel or spent attempts may have turned the verdict.
    Done {
        status: Status,
    },
    /// This very finish was committed before.
    Already {
        status: Status,
    },
    /// Only the lease ran out: renew, then repeat. A release never answers it.
    Expired,
    Fenced,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Created {
    Created {
        id: TaskId,
    },
    /// The same submission under the same idempotency key.
    Same {
        id: TaskId,
        status: Status,
    },
    /// Another submission under the same key.
    Conflict {
        id: TaskId,
    },
}

#[derive(Clone, PartialEq, Debug)]
pub enum CancelAnswer {
    /// Cancelled now, or asked of its owner.
    Accepted(Box<Task>),
    /// It was cancelled before, or its cancel was asked for before.
    Already(Box<Task>),
    Finished(Box<Task>),
    Unknown,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Replay {
    pub task: TaskId,
    /// A new payload, if any.
    pub payload: Option<Json>,
    /// Drops the checkpoint.
    pub fresh: bool,
    /// Only if it waits in the dead-letter room: what was discarded meanwhile stays as it is.
    pub waiting: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub enum ReplayAnswer {
    Queued(Box<Task>),
    /// Only what failed can be replayed.
    NotFailed(Box<Task>),
    Unknown,
}

/// Why tasks are taken from an owner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TakeCause {
    /// The lease ended.
    Lease,
    /// The owner is a predecessor of ours, proven dead.
    Predecessor,
    /// This incarnation holds them, but no actor does. Those in `began` count, the others never began.
    NoActor,
}

impl TakeCause {
    pub fn as_str(self) -> &'static str {
        match self {
            TakeCause::Lease => "lease",
            TakeCause::Predecessor => "predecessor",
            TakeCause::NoActor => "no_actor",
        }
    }
}

/// Jitter and retry policy for ends that no owner decides.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Backoff {
    pub base: Duration,
    pub cap: Duration,
    /// Uniform in [0, 1).
    pub dice: f64,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Reap {
    /// A lease must be over for that long.
    pub grace: Duration,
    pub most: u32,
    pub backoff: Backoff,
}

/// Takes back what an incarnation holds, but for `except`.
#[derive(Clone, PartialEq, Debug)]
pub struct TakeBack {
    pub incarnation: Incarnation,
    pub task_type: Option<TypeName>,
    pub except: Vec<LeaseKey>,
    /// Only claims made at least that long ago, so that a claim under way is not taken.
    pub older_than: Duration,
    pub cause: TakeCause,
    pub backoff: Backoff,
}

/// What was taken from an owner, and what became of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Taken {
    pub key: LeaseKey,
    pub task_type: TypeName,
    pub owner: NodeId,
    pub status: Status,
}

/// What the pruner removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pruned {
    pub tasks: u64,
    pub nodes: u64,
}

#[async_trait]
pub trait Ledger: Send + Sync + 'static {
    /// Task, body and first event in one transaction.
    async fn create(&self, tasks: Vec<NewTask>) -> Answers<Created>;
    async fn claim(&self, owner: &Owner, claims: Vec<Claim>) -> Answers<ClaimAnswer>;
    async fn claim_next(&self, owner: &Owner, claims: Vec<ClaimNext>) -> Answers<NextAnswer>;
    /// Revives a lease that ran out as long as nobody took it.
    async fn renew(&self, owner: &Owner, leases: Vec<LeaseKey>) -> Answers<RenewAnswer>;
    async fn record(&self, owner: &Owner, records: Vec<Record>) -> Answers<RecordAnswer>;
    /// Ends attempts: every verdict, releases too (a release does not ask for a live lease).
    async fn finish(&self, owner: &Owner, finishes: Vec<Finish>) -> Answers<FinishAnswer>;
    /// The task comes without its partial output.
    async fn cancel(&self, task: TaskId, reason: Option<String>) -> Result<CancelAnswer, LedgerError>;
    /// The task comes without its partial output.
    async fn replay(&self, replay: Replay) -> Result<ReplayAnswer, LedgerError>;
    /// Takes dead letters out of the waiting room; the tasks stay failed. Answers those that were in it.
    async fn discard(&self, tasks: Vec<TaskId>) -> Result<Vec<TaskId>, LedgerError>;
    /// Takes what an owner stopped renewing. State, epoch and lease are tested again in the update itself.
    async fn reap(&self, reap: Reap) -> Result<Vec<Taken>, LedgerError>;
    /// Fails what is queued past its deadline.
    async fn expire(&self, most: u32) -> Result<Vec<TaskId>, LedgerError>;
    async fn take_back(&self, take: TakeBack) -> Result<Vec<Taken>, LedgerError>;
    /// Removes tasks that ended longer ago than `keep` (dead letters stay until discarded or replayed), at most `most`.
    async fn prune(&self, keep: Duration, most: u32) -> Result<Pruned, LedgerError>;
    /// The database's clock; it must be writable to answer.
    async fn probe(&self) -> Result<Timestamp, LedgerError>;
}

impl fmt::Display for TakeCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
