//! Hosts: processes (or, inline, tasks of this process) that run plugin code.
//!
//! A runner launches a host and gives a handle. What the host says comes as [`HostEvent`]s, in order, to the sink given
//! at launch; the last one is always [`HostEvent::Exited`], sent when nothing of its process tree is left.

use std::sync::Arc;
use std::time::Duration;

use crate::domain::{EndReason, Json, LeaseKey, TaskError, TaskType, TypeName};

/// What a host is to be.
#[derive(Clone, PartialEq, Debug)]
pub struct HostSpec {
    pub group: String,
    /// The types it serves, each with its `worker_threads`. All use the same interpreter.
    pub types: Vec<TaskType>,
}

/// A run's number: unique within a host's life.
pub type RunRef = u64;

/// All that a run needs.
#[derive(Clone, PartialEq, Debug)]
pub struct RunRequest {
    pub run: RunRef,
    pub key: LeaseKey,
    pub task_type: TypeName,
    pub attempt: u32,
    pub max_attempts: u32,
    pub timeout: Option<Duration>,
    pub client_role: Option<String>,
    pub payload: Json,
    pub model_spec: Json,
    pub inference_params: Json,
    pub checkpoint: Option<Json>,
}

/// What the node tells a host. `Ack` answers an output or a checkpoint that is durable now, or fenced.
#[derive(Clone, PartialEq, Debug)]
pub enum HostCommand {
    Run(Box<RunRequest>),
    Cancel {
        run: RunRef,
        reason: EndReason,
    },
    Ack {
        run: RunRef,
        reference: u64,
        fenced: bool,
    },
    /// Takes no more runs and exits once idle.
    Shutdown,
    Ping {
        number: u64,
    },
}

/// What a run says. Exactly one `Done` or `Failed` ends it, unless the host exits first.
#[derive(Clone, PartialEq, Debug)]
pub enum RunEvent {
    Stage { name: String },
    Progress { fraction: f64, message: Option<String> },
    Output { reference: u64, value: Json },
    Log { level: String, stream: String, text: String },
    Checkpoint { reference: u64, value: Json },
    Done { result: Json },
    Failed { failure: RunFailure, error: TaskError, retry_after: Option<Duration> },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunFailure {
    Retryable,
    Permanent,
    /// It stopped because it was asked to.
    Cancelled,
}

#[derive(Clone, PartialEq, Debug)]
pub enum HostEvent {
    /// All plugins are loaded and set up.
    Ready {
        pid: Option<u32>,
    },
    /// It can't start: the text says why. It exits next.
    StartFailed {
        error: TaskError,
    },
    Run {
        run: RunRef,
        event: RunEvent,
    },
    /// A line of output that belongs to no run.
    Log {
        level: String,
        stream: String,
        text: String,
    },
    Pong {
        number: u64,
    },
    /// It broke the protocol; it is being killed.
    ProtocolBroken {
        detail: String,
    },
    Exited(HostExit),
}

/// How a host ended. Nothing of its tree is left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostExit {
    pub cause: ExitCause,
    /// For people: the cause in its first line (`exit status 1`, `signal 9 (SIGKILL)`), then the last lines it said on
    /// standard error, which may be of any run in it.
    pub detail: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ExitCause {
    /// As we asked: a shutdown.
    Ordered,
    /// We killed it.
    Killed,
    /// It exited by itself, with that status.
    Status(i32),
    /// A signal that was not ours.
    Signal(i32),
    /// It passed its memory limit.
    OutOfMemory,
    ProtocolBroken,
    /// It never came to life.
    NotLaunched,
}

impl ExitCause {
    /// The reason as a metric label.
    pub fn as_str(self) -> &'static str {
        match self {
            ExitCause::Ordered => "ordered",
            ExitCause::Killed => "killed",
            ExitCause::Status(_) => "exit",
            ExitCause::Signal(_) => "signal",
            ExitCause::OutOfMemory => "out_of_memory",
            ExitCause::ProtocolBroken => "protocol",
            ExitCause::NotLaunched => "not_launched",
        }
    }

    /// The stable error code of a run that ended with its host.
    pub fn code(self) -> &'static str {
        match self {
            ExitCause::Ordered | ExitCause::Killed => "HOST_KILLED",
            ExitCause::Status(_) => "HOST_EXITED",
            ExitCause::Signal(_) => "HOST_SIGNALLED",
            ExitCause::OutOfMemory => "OUT_OF_MEMORY",
            ExitCause::ProtocolBroken => "PROTOCOL_BROKEN",
            ExitCause::NotLaunched => "HOST_NOT_LAUNCHED",
        }
    }
}

/// Where a host's events go. Called from the runner's own task; never blocks.
pub type HostSink = Arc<dyn Fn(HostEvent) + Send + Sync>;

/// A live host. Dropping the handle kills it.
pub trait Host: Send + Sync + 'static {
    fn pid(&self) -> Option<u32>;
    /// Queues a command; a host that is gone ignores it (its `Exited` is on its way).
    fn send(&self, command: HostCommand);
    /// Kills the whole process tree. `Exited` follows when nothing is left of it. May be called again.
    fn kill(&self);
    /// Resolves once nothing of the process tree is left; outlives the handle.
    fn gone(&self) -> tokio_util::sync::CancellationToken;
    /// Resident memory of the process tree in bytes, where it is known.
    fn memory(&self) -> Option<u64> {
        None
    }
}

pub trait Runner: Send + Sync + 'static {
    /// Launches a host and returns at once: a launch that fails says so by `StartFailed` and `Exited`.
    fn launch(&self, spec: &HostSpec, sink: HostSink) -> Box<dyn Host>;
}
