//! A node: its tree, started, looked at, drained and stopped.

use std::sync::Arc;
use std::time::Duration;

use super::drain::{DrainReport, drain, in_time};
use super::health::Readiness;
use super::ledger::{LedgerActor, LedgerArgs};
use super::upkeep::report;
use super::wiring::{Settings, Shared, World};
use super::{hosts, intake, pools, upkeep};
use crate::domain::TaskType;
use crate::supervise::{
    ActorRow, Address, Child, Exit, KillMode, NoSuchActor, Restart, Root, RootFailed, Strategy, SupervisorSpec,
    start_root,
};
use tokio_util::sync::CancellationToken;

pub struct Node {
    shared: Arc<Shared>,
    root: Root,
}

impl Node {
    /// Starts the tree. What an earlier incarnation held must be taken back before ([`super::take_back_predecessors`]).
    pub async fn start(settings: Settings, world: World, types: Vec<TaskType>) -> Result<Node, RootFailed> {
        let shared = Shared::new(settings, world, types);
        // so that its types are known from the first moment; the heartbeat repeats it if the store is away
        let first = report(&shared, shared.types.iter().map(|t| (**t).clone()).collect());
        if let Err(error) = in_time(shared.world.store.post(first)).await {
            tracing::warn!(%error, "the first heartbeat was not posted");
        }
        let root = start_root("node", shared.roster.clone(), spec(&shared)).await?;
        Ok(Node { shared, root })
    }

    /// The live tree, in start order.
    pub fn tree(&self) -> Vec<ActorRow> {
        self.shared.roster.snapshot()
    }

    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub fn readiness(&self) -> Readiness {
        self.shared.health.readiness()
    }

    /// Kills one actor by its path.
    pub fn kill(&self, path: &str, mode: KillMode) -> Result<(), NoSuchActor> {
        self.shared.roster.kill(path, mode)
    }

    /// Resolves when the tree has ended by itself: its restart budget is spent.
    pub async fn ended(&self) -> Exit {
        self.root.ended().await
    }

    /// Lets attempts run on for the grace, then stops them, then stops the tree. `hurry` skips to the stop.
    pub async fn drain(self, hurry: CancellationToken) -> DrainReport {
        let report = drain(&self.shared, hurry).await;
        self.stop().await;
        report
    }

    /// Stops the tree now, last started first: hosts are killed, what runs is left for the next start to take back.
    pub async fn stop(self) {
        let overdue = self.root.stop(self.shared.settings.cancel_grace + Duration::from_secs(15)).await;
        for path in overdue {
            tracing::warn!(actor = path, "did not end in time and was killed");
        }
        let owner = &self.shared.settings.owner;
        if let Err(error) = in_time(self.shared.world.store.withdraw(&owner.node, owner.incarnation)).await {
            tracing::warn!(%error, "the node was not withdrawn");
        }
    }
}

fn spec(shared: &Arc<Shared>) -> SupervisorSpec {
    let for_ledger = Arc::clone(shared);
    let ledger = Child::actor("ledger", Restart::Permanent, Address::new(), move |place| {
        (LedgerActor, LedgerArgs { shared: Arc::clone(&for_ledger), place })
    });
    let children = vec![
        ledger,
        Child::supervisor("upkeep", upkeep::spec(shared)),
        Child::supervisor("hosts", hosts::spec(shared)),
        Child::supervisor("pools", pools::spec(shared)),
        Child::supervisor("intake", intake::spec(shared)),
    ];
    SupervisorSpec::new(Strategy::OneForOne, children).budget(10, Duration::from_secs(30))
}
