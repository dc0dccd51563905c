//! What a node can run.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Json, TypeName};

/// How a type is called.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Python,
    /// Async Rust handlers in the node's own process.
    Inline,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CredentialMode {
    None,
    CallerOrPool,
    CallerRequired,
}

/// When a task may be taken from an owner that seems gone.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Takeover {
    /// As soon as the owner's pulse is gone.
    Pulse,
    /// Only at the end of the lease: for side effects that must not run twice.
    Lease,
}

/// A task type as resolved from its plugin and the configuration.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TaskType {
    pub name: TypeName,
    pub kind: Kind,
    pub description: Option<String>,
    pub metadata_version: i64,
    pub credential_mode: CredentialMode,
    /// JSON schema of the payload.
    pub payload_schema: Option<Json>,
    /// Concurrent runs a host; a type's slots are `worker_threads * processes`.
    pub worker_threads: u32,
    pub processes: u32,
    /// A run's time; `None` has no limit but the task's own.
    pub timeout: Option<Duration>,
    /// No task's own timeout goes beyond it.
    pub max_timeout: Option<Duration>,
    /// How long a host may take until it is ready.
    pub start_timeout: Duration,
    pub max_attempts: u32,
    /// Types with the same group share their hosts; the type's own name if not given.
    pub host_group: String,
    pub memory_mb: Option<u64>,
    /// A host is replaced after that many runs.
    pub max_tasks_per_process: Option<u64>,
    /// Running at once over the cluster.
    pub max_running: Option<u32>,
    /// Starts in any 60 s over the cluster.
    pub starts_per_minute: Option<u32>,
    pub takeover: Takeover,
    /// The plugin's file, and the sha256 of it that each attempt records.
    pub plugin: Option<String>,
    pub plugin_sha256: Option<String>,
    /// The interpreter, if not the node's.
    pub python: Option<String>,
}

impl TaskType {
    /// Most of `processes`, and most of `worker_threads`.
    pub const MAX_OF_EACH: u32 = 256;
    /// Most runs of one type at once on a node.
    pub const MAX_SLOTS: u32 = 1024;

    /// A type with the defaults of the contract; what differs is set on it.
    pub fn new(name: TypeName, kind: Kind) -> Self {
        TaskType {
            host_group: name.as_str().to_owned(),
            name,
            kind,
            description: None,
            metadata_version: 1,
            credential_mode: CredentialMode::None,
            payload_schema: None,
            worker_threads: 1,
            processes: 1,
            timeout: None,
            max_timeout: None,
            start_timeout: Duration::from_secs(60),
            max_attempts: 3,
            memory_mb: None,
            max_tasks_per_process: None,
            max_running: None,
            starts_per_minute: None,
            takeover: Takeover::Pulse,
            plugin: None,
            plugin_sha256: None,
            python: None,
        }
    }

    pub fn slots(&self) -> u32 {
        self.worker_threads.saturating_mul(self.processes)
    }
}
