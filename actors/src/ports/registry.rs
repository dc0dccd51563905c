//! Who serves what: nodes, their capabilities, and the types that are paused.

use std::time::Duration;

use async_trait::async_trait;

use super::ledger::LedgerError;
use crate::domain::{Incarnation, Json, NodeId, TaskType, TypeName};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeState {
    Serving,
    Draining,
    /// Left in order.
    Gone,
}

impl NodeState {
    pub fn as_str(self) -> &'static str {
        match self {
            NodeState::Serving => "serving",
            NodeState::Draining => "draining",
            NodeState::Gone => "gone",
        }
    }
}

/// What a node posts about itself.
#[derive(Clone, PartialEq, Debug)]
pub struct NodeReport {
    pub node: NodeId,
    pub incarnation: Incarnation,
    /// The uuid in the locked file of its data folder: proof that a predecessor with it is dead once the lock is ours.
    pub data_uuid: Uuid,
    pub lease: Duration,
    pub state: NodeState,
    /// What it serves now. A type that is parked is left out.
    pub types: Vec<TaskType>,
    /// JSON object by type: `{"slots","busy"}`.
    pub slots: Json,
    /// The supervision tree in a bounded form: a JSON array of actors.
    pub tree: Json,
}

#[derive(Clone, PartialEq, Debug)]
pub struct NodeRow {
    pub node: NodeId,
    pub incarnation: Incarnation,
    pub data_uuid: Uuid,
    pub lease: Duration,
    pub state: NodeState,
    pub types: Vec<TypeName>,
    pub slots: Json,
    pub tree: Json,
    pub heartbeat_age: Duration,
    pub started_age: Duration,
}

/// A type as the cluster knows it.
#[derive(Clone, PartialEq, Debug)]
pub struct Capability {
    /// The metadata with the highest `metadata_version` posted.
    pub task_type: TaskType,
    /// Nodes that serve it and are believed.
    pub instances: u32,
    pub paused: bool,
}

#[async_trait]
pub trait Registry: Send + Sync + 'static {
    /// Writes a node's row and its capabilities; the first post of an incarnation replaces its predecessor's row.
    async fn post(&self, report: NodeReport) -> Result<(), LedgerError>;
    /// Marks an incarnation as gone and withdraws its capabilities.
    async fn withdraw(&self, node: &NodeId, incarnation: Incarnation) -> Result<(), LedgerError>;
    /// All nodes that are not pruned; each says its heartbeat's age.
    async fn nodes(&self) -> Result<Vec<NodeRow>, LedgerError>;
    /// Every type that was ever known; `instances` counts nodes heard within `believed`.
    async fn capabilities(&self, believed: Duration) -> Result<Vec<Capability>, LedgerError>;
    /// Stops or resumes claiming of a type, cluster-wide. False if the type was never known.
    async fn set_paused(&self, task_type: &TypeName, paused: bool) -> Result<bool, LedgerError>;
    /// A setting that all processes on this store share, such as which queue it has. The first value stays.
    async fn setting(&self, key: &str, first: &str) -> Result<String, LedgerError>;
}
