//! Nodes, capabilities, paused types, settings.

use std::time::Duration;

use async_trait::async_trait;

use super::MemoryStore;
use super::state::{Known, Node};
use crate::domain::{Incarnation, NodeId, TypeName};
use crate::ports::Registry;
use crate::ports::ledger::LedgerError;
use crate::ports::registry::{Capability, NodeReport, NodeRow, NodeState};
use crate::ports::signals::Signal;

#[async_trait]
impl Registry for MemoryStore {
    async fn post(&self, report: NodeReport) -> Result<(), LedgerError> {
        self.write(|state| {
            for task_type in &report.types {
                let known = Known { task_type: task_type.clone(), paused: false };
                let known = state.types.entry(task_type.name.clone()).or_insert(known);
                if task_type.metadata_version >= known.task_type.metadata_version {
                    known.task_type = task_type.clone();
                }
            }
            let before = state.nodes.get(&report.node).filter(|n| n.report.incarnation == report.incarnation);
            let started_at = before.map_or(state.now, |n| n.started_at);
            let heartbeat_at = state.now;
            state.nodes.insert(report.node.clone(), Node { report, heartbeat_at, started_at });
        });
        Ok(())
    }

    async fn withdraw(&self, node: &NodeId, incarnation: Incarnation) -> Result<(), LedgerError> {
        self.write(|state| {
            if let Some(node) = state.nodes.get_mut(node).filter(|n| n.report.incarnation == incarnation) {
                node.report.state = NodeState::Gone;
                node.report.types.clear();
            }
        });
        Ok(())
    }

    async fn nodes(&self) -> Result<Vec<NodeRow>, LedgerError> {
        let state = self.read();
        let row = |node: &Node| {
            let report = node.report.clone();
            let mut types: Vec<TypeName> = report.types.into_iter().map(|t| t.name).collect();
            types.sort();
            types.dedup();
            NodeRow {
                node: report.node,
                incarnation: report.incarnation,
                data_uuid: report.data_uuid,
                lease: report.lease,
                state: report.state,
                types,
                slots: report.slots,
                tree: report.tree,
                heartbeat_age: state.now.since(node.heartbeat_at),
                started_age: state.now.since(node.started_at),
            }
        };
        Ok(state.nodes.values().map(row).collect())
    }

    async fn capabilities(&self, believed: Duration) -> Result<Vec<Capability>, LedgerError> {
        let state = self.read();
        let since = state.now.minus(believed);
        let serves = |node: &&Node, name: &TypeName| {
            node.report.state == NodeState::Serving
                && node.heartbeat_at >= since
                && node.report.types.iter().any(|t| t.name == *name)
        };
        let capability = |(name, known): (&TypeName, &Known)| Capability {
            task_type: known.task_type.clone(),
            instances: state.nodes.values().filter(|node| serves(node, name)).count() as u32,
            paused: known.paused,
        };
        Ok(state.types.iter().map(capability).collect())
    }

    async fn set_paused(&self, task_type: &TypeName, paused: bool) -> Result<bool, LedgerError> {
        Ok(self.write(|state| {
            let Some(known) = state.types.get_mut(task_type) else { return false };
            known.paused = paused;
            state.signals.push(Signal::TypeChanged { task_type: task_type.clone() });
            if !paused {
                state.signals.push(Signal::Queued { task_type: task_type.clone() });
            }
            true
        }))
    }

    async fn setting(&self, key: &str, first: &str) -> Result<String, LedgerError> {
        Ok(self.write(|state| state.settings.entry(key.to_owned()).or_insert_with(|| first.to_owned()).clone()))
    }
}
