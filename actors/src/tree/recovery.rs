//! What a start does about the incarnations before it.
//!
//! A predecessor is proven dead when its row names the uuid in the data folder's locked file, and the lock is ours now:
//! the lock ends with the process and is never inherited, and whoever locks the folder sees to it that a copy of one
//! does not keep the original's uuid. Then what it held is taken back at once, after whoever called has swept its
//! leftovers: no process of it may still run.
//!
//! Without that proof only the end of the leases decides, and nothing is done here.

use uuid::Uuid;

use crate::domain::{Incarnation, NodeId};
use crate::ports::SharedStore;
use crate::ports::ledger::{Backoff, LedgerError, TakeBack, TakeCause, Taken};
use crate::ports::registry::{NodeRow, NodeState};
use std::time::Duration;

/// An earlier life that is proven dead.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Predecessor {
    pub node: NodeId,
    pub incarnation: Incarnation,
}

/// The plan: whose tasks to take back.
pub fn plan(nodes: &[NodeRow], data_uuid: Uuid, ours: Incarnation) -> Vec<Predecessor> {
    nodes
        .iter()
        .filter(|row| row.data_uuid == data_uuid && row.incarnation != ours)
        .map(|row| Predecessor { node: row.node.clone(), incarnation: row.incarnation })
        .collect()
}

/// Takes back what proven-dead predecessors held and withdraws them. The data folder's lock must be ours, and their
/// processes gone.
pub async fn take_back_predecessors(
    store: &SharedStore,
    data_uuid: Uuid,
    ours: Incarnation,
    backoff: Backoff,
) -> Result<Vec<Taken>, LedgerError> {
    let nodes = store.nodes().await?;
    let mut taken = Vec::new();
    for predecessor in plan(&nodes, data_uuid, ours) {
        let request = TakeBack {
            incarnation: predecessor.incarnation,
            task_type: None,
            except: Vec::new(),
            older_than: Duration::ZERO,
            cause: TakeCause::Predecessor,
            backoff,
        };
        taken.extend(store.take_back(request).await?);
        let gone = nodes.iter().any(|row| row.incarnation == predecessor.incarnation && row.state == NodeState::Gone);
        if !gone {
            store.withdraw(&predecessor.node, predecessor.incarnation).await?;
        }
    }
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Json;

    fn row(data_uuid: u128, incarnation: u128) -> NodeRow {
        NodeRow {
            node: NodeId("n".into()),
            incarnation: Incarnation(Uuid::from_u128(incarnation)),
            data_uuid: Uuid::from_u128(data_uuid),
            lease: Duration::from_secs(30),
            state: NodeState::Serving,
            types: Vec::new(),
            slots: Json::empty_object(),
            tree: Json::null(),
            heartbeat_age: Duration::ZERO,
            started_age: Duration::ZERO,
        }
    }

    #[test]
    fn only_lives_of_the_same_data_folder_are_predecessors() {
        let nodes = [row(1, 10), row(2, 20), row(1, 30)];
        let planned = plan(&nodes, Uuid::from_u128(1), Incarnation(Uuid::from_u128(30)));
        assert_eq!(planned.len(), 1);
        assert_eq!(planned[0].incarnation, Incarnation(Uuid::from_u128(10)));
    }
}
