//! Types and nodes on the wire.

use serde::Serialize;
use utoipa::ToSchema;
use windlass_actors::domain::TaskType;
use windlass_actors::ports::registry::{Capability, NodeRow, NodeState};

use super::raw::Raw;

/// What is known of a type: the metadata with the highest `metadata_version` that a node posted.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct TypeMetadata {
    /// `python` or `inline`.
    kind: Name,
    description: Option<String>,
    metadata_version: i64,
    /// `none`, `caller_or_pool` or `caller_required`.
    credential_mode: Name,
    payload_schema: Option<Raw>,
    timeout_seconds: Option<f64>,
    max_timeout_seconds: Option<f64>,
    max_attempts: u32,
    worker_threads: u32,
    processes: u32,
    host_group: String,
    memory_mb: Option<u64>,
    max_tasks_per_process: Option<u64>,
    max_running: Option<u32>,
    starts_per_minute: Option<u32>,
    /// `pulse` or `lease`.
    takeover: Name,
}

/// A type that was ever served.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct TypeItem {
    #[serde(rename = "type")]
    #[schema(example = "hello")]
    task_type: String,
    /// Whether a node serves it now.
    available: bool,
    /// Nodes that serve it.
    instances: u32,
    paused: bool,
    metadata: TypeMetadata,
}

/// The known types, by name.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct TypePage {
    pub task_types: Vec<TypeItem>,
}

/// Whether a type is paused.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct Paused {
    pub task_type: String,
    pub paused: bool,
}

/// A node as it last posted itself.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct NodeItem {
    id: String,
    incarnation: String,
    /// `serving`, `draining` or `gone`.
    state: &'static str,
    /// Whether it is believed to be there: heard lately, and not gone.
    live: bool,
    heartbeat_age_seconds: f64,
    started_age_seconds: f64,
    lease_seconds: f64,
    /// The types it serves.
    capabilities: Vec<String>,
    /// By type: `{"slots","busy"}`.
    slots: Raw,
}

/// Nodes that are not forgotten yet.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct NodePage {
    pub nodes: Vec<NodeItem>,
}

/// A node's supervision tree as last posted: flat, in start order.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct Actors {
    node_id: String,
    heartbeat_age_seconds: f64,
    actors: Raw,
}

/// An enum of the domain, by its wire name.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
#[schema(value_type = String)]
#[serde(transparent)]
pub struct Name(serde_json::Value);

fn name(value: impl Serialize) -> Name {
    Name(serde_json::to_value(value).unwrap_or_default())
}

impl From<TaskType> for TypeMetadata {
    fn from(of: TaskType) -> Self {
        TypeMetadata {
            kind: name(of.kind),
            description: of.description,
            metadata_version: of.metadata_version,
            credential_mode: name(of.credential_mode),
            payload_schema: of.payload_schema.map(Raw),
            timeout_seconds: of.timeout.map(|t| t.as_secs_f64()),
            max_timeout_seconds: of.max_timeout.map(|t| t.as_secs_f64()),
            max_attempts: of.max_attempts,
            worker_threads: of.worker_threads,
            processes: of.processes,
            host_group: of.host_group,
            memory_mb: of.memory_mb,
            max_tasks_per_process: of.max_tasks_per_process,
            max_running: of.max_running,
            starts_per_minute: of.starts_per_minute,
            takeover: name(of.takeover),
        }
    }
}

impl From<&Capability> for TypeItem {
    fn from(of: &Capability) -> Self {
        TypeItem {
            task_type: of.task_type.name.to_string(),
            available: of.instances > 0,
            instances: of.instances,
            paused: of.paused,
            metadata: of.task_type.clone().into(),
        }
    }
}

impl NodeItem {
    /// `believed`: how long a node is believed after it was heard.
    pub fn new(row: NodeRow, believed: std::time::Duration) -> Self {
        NodeItem {
            id: row.node.0,
            incarnation: row.incarnation.to_string(),
            state: row.state.as_str(),
            live: row.state != NodeState::Gone && row.heartbeat_age <= believed,
            heartbeat_age_seconds: row.heartbeat_age.as_secs_f64(),
            started_age_seconds: row.started_age.as_secs_f64(),
            lease_seconds: row.lease.as_secs_f64(),
            capabilities: row.types.iter().map(ToString::to_string).collect(),
            slots: Raw(row.slots),
        }
    }
}

impl From<NodeRow> for Actors {
    fn from(row: NodeRow) -> Self {
        Actors { node_id: row.node.0, heartbeat_age_seconds: row.heartbeat_age.as_secs_f64(), actors: Raw(row.tree) }
    }
}
