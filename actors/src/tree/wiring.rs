//! What the actors of a node share: its settings, the ports, the ledger's queue, and each other's addresses.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::health::Health;
use super::holdings::Holdings;
use super::hosts::GroupMsg;
use super::intake::ConsumerMsg;
use super::ledger::LedgerQueue;
use super::pools::PoolMsg;
use crate::decide::retry::RetryPolicy;
use crate::domain::{Owner, TaskType, TypeName};
use crate::ports::ledger::{Backoff, LedgerError};
use crate::ports::observer::{Fact, Observer};
use crate::ports::{Clock, Dice, Intake, Runner, SharedStore};
use crate::supervise::{Address, Roster};

/// The spans and rules a node runs by.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    pub owner: Owner,
    /// The uuid in the locked file of the data folder.
    pub data_uuid: Uuid,
    /// Between two renewals of all leases.
    pub renew: Duration,
    /// Between two looks of the reaper.
    pub reap: Duration,
    /// How long a lease must be over before it is taken.
    pub reap_grace: Duration,
    /// From asking a run to stop until it is killed.
    pub cancel_grace: Duration,
    /// How long the kill of a host waits for the other runs in it.
    pub neighbour_grace: Duration,
    /// How long a drain lets attempts run on.
    pub drain_grace: Duration,
    /// The slow poll under all wake-ups.
    pub idle_claim: Duration,
    pub heartbeat: Duration,
    /// How long ended tasks are kept.
    pub keep: Duration,
    pub retry: RetryPolicy,
}

/// The ports, joined.
#[derive(Clone)]
pub struct World {
    pub store: SharedStore,
    pub runner: Arc<dyn Runner>,
    pub intake: Arc<dyn Intake>,
    pub clock: Arc<dyn Clock>,
    pub dice: Arc<dyn Dice>,
    pub observer: Arc<dyn Observer>,
}

/// What all actors of a node hold on to. It outlives each of them.
pub struct Shared {
    pub settings: Settings,
    pub world: World,
    pub types: Vec<Arc<TaskType>>,
    pub roster: Roster,
    pub queue: LedgerQueue,
    pub holdings: Holdings,
    pub health: Health,
    pub suspects: SuspectGate,
    /// The end of a drain: who still tries to write its end gives up.
    pub give_up: CancellationToken,
    pub(super) pools: BTreeMap<TypeName, Address<PoolMsg>>,
    pub(super) groups: BTreeMap<String, Address<GroupMsg>>,
    pub(super) consumers: BTreeMap<TypeName, Address<ConsumerMsg>>,
}

impl Shared {
    pub fn new(settings: Settings, world: World, types: Vec<TaskType>) -> Arc<Self> {
        let types: Vec<Arc<TaskType>> = types.into_iter().map(Arc::new).collect();
        let names = || types.iter().map(|t| t.name.clone());
        Arc::new(Shared {
            pools: names().map(|name| (name, Address::new())).collect(),
            groups: types.iter().map(|t| (t.host_group.clone(), Address::new())).collect(),
            consumers: names().map(|name| (name, Address::new())).collect(),
            health: Health::new(names()),
            settings,
            world,
            roster: Roster::new(),
            queue: LedgerQueue::default(),
            holdings: Holdings::default(),
            suspects: SuspectGate::default(),
            give_up: CancellationToken::new(),
            types,
        })
    }

    pub fn saw(&self, fact: Fact) {
        self.world.observer.saw(&fact);
    }

    /// Readiness tells that the store did not answer a call of that kind.
    pub(super) fn store_failed(&self, call: &'static str, error: &LedgerError) {
        self.health.store_failed(call, error.to_string(), self.world.clock.now());
    }

    /// Policy and jitter for what the ledger requeues by itself.
    pub fn backoff(&self) -> Backoff {
        let RetryPolicy { base, cap } = self.settings.retry;
        Backoff { base, cap, dice: self.world.dice.unit() }
    }

    /// The types of a group.
    pub(super) fn types_of(&self, group: &str) -> Vec<Arc<TaskType>> {
        self.types.iter().filter(|t| t.host_group == group).cloned().collect()
    }
}

/// Lets one task at a time run on this node that two owners died with.
#[derive(Clone, Default, Debug)]
pub struct SuspectGate(Arc<AtomicBool>);

/// Holds the gate until dropped.
#[derive(Debug)]
pub struct SuspectPass(Arc<AtomicBool>);

impl SuspectGate {
    pub fn try_pass(&self) -> Option<SuspectPass> {
        let free = self.0.compare_exchange(false, true, Ordering::AcqRel, Ordering::Acquire).is_ok();
        free.then(|| SuspectPass(Arc::clone(&self.0)))
    }
}

impl Drop for SuspectPass {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}
