//! The configuration as the rest of the node sees it: typed, whole, without optional halves.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::secret::Secret;
use super::show::Entry;

/// All of it. A value of this type has passed every check that needs neither disk nor network.
#[derive(Debug, Clone)]
pub struct Config {
    pub database: Database,
    pub node: Node,
    pub gateway: Gateway,
    pub retry: Retry,
    /// By type name: what the operator says over what the plugin says.
    pub types: BTreeMap<String, TypeOverride>,
    pub log: Log,
    pub client: Client,
    pub(super) entries: Vec<Entry>,
}

/// The embedded store.
#[derive(Debug, Clone)]
pub struct Database {
    /// The SQLite file.
    pub path: PathBuf,
    pub max_connections: u32,
    pub statement_timeout: Duration,
}

#[derive(Debug, Clone)]
pub struct Node {
    pub id: String,
    /// Folder of the lock, scratch files and artifacts; whether it can be written is seen at start.
    pub data: PathBuf,
    /// Admin address of `windlass node`.
    pub listen: SocketAddr,
    pub plugins: Vec<PathBuf>,
    /// Nobody named a folder of plugins: one that is missing is no fault.
    pub plugins_by_default: bool,
    pub on_plugin_error: OnPluginError,
    pub lease: Duration,
    pub renew: Duration,
    pub reap: Duration,
    pub reap_grace: Duration,
    pub cancel_grace: Duration,
    pub drain_grace: Duration,
    pub neighbour_grace: Duration,
    pub idle_claim: Duration,
    pub heartbeat: Duration,
    pub believed: Duration,
    /// Ended tasks are kept for this long.
    pub keep: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnPluginError {
    Skip,
    Fail,
}

#[derive(Debug, Clone)]
pub struct Gateway {
    pub listen: SocketAddr,
    pub offline: Offline,
    /// Bytes.
    pub max_payload: usize,
    /// Bytes.
    pub max_result: usize,
    /// Bytes.
    pub max_event: usize,
    pub max_connections: usize,
    pub max_streams: usize,
    /// Empty: no authentication, and loopback only.
    pub keys: Vec<ApiKey>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offline {
    Reject,
    Accept,
}

#[derive(Debug, Clone)]
pub struct ApiKey {
    pub name: String,
    pub key: Secret,
    pub owner: String,
    pub role: Role,
    pub client_role: Option<String>,
}

/// What a key may do; each role includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    Read,
    Submit,
    Operate,
}

#[derive(Debug, Clone)]
pub struct Retry {
    pub base: Duration,
    pub cap: Duration,
    pub max_attempts: u32,
}

/// What `[types.NAME]` sets; `None` leaves what the plugin registered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TypeOverride {
    pub python: Option<PathBuf>,
    pub host_group: Option<String>,
    pub timeout: Option<Duration>,
    pub max_timeout: Option<Duration>,
    pub max_attempts: Option<u32>,
    pub processes: Option<u32>,
    pub worker_threads: Option<u32>,
    pub memory_mb: Option<u64>,
    pub max_running: Option<u32>,
    pub starts_per_minute: Option<u32>,
    pub max_tasks_per_process: Option<u32>,
    pub start_timeout: Option<Duration>,
}

#[derive(Debug, Clone)]
pub struct Log {
    /// A level, or directives `target=level`.
    pub filter: String,
    pub format: LogFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    Auto,
    Text,
    Json,
}

#[derive(Debug, Clone)]
pub struct Client {
    /// Without a slash at its end.
    pub url: String,
    pub api_key: Option<Secret>,
}
