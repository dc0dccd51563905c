//! What this incarnation holds: each lease with its actor. The renewal and the cancel listener look it up; a pool that
//! restarts finds in it what its predecessor left.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio_util::sync::CancellationToken;

use super::pools::LeaseMsg;
use crate::domain::{LeaseKey, TaskId, TypeName};
use crate::supervise::ActorRef;
use crate::supervise::lock::lock;

/// A lease, its actor (who may have died), and the token that says when its run is over.
#[derive(Clone)]
pub struct Holding {
    pub task_type: TypeName,
    pub lease: ActorRef<LeaseMsg>,
    pub over: CancellationToken,
    pub begun: Begun,
}

/// Whether a host took the run: set by the host, and so known of a lease whose actor died before it heard.
#[derive(Clone, Default, Debug)]
pub struct Begun(Arc<AtomicBool>);

impl Begun {
    pub fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

#[derive(Default)]
pub struct Holdings(Mutex<HashMap<LeaseKey, Holding>>);

impl Holdings {
    pub fn insert(&self, key: LeaseKey, holding: Holding) -> usize {
        let mut map = lock(&self.0);
        map.insert(key, holding);
        map.len()
    }

    pub fn remove(&self, key: LeaseKey) -> usize {
        let mut map = lock(&self.0);
        map.remove(&key);
        map.len()
    }

    pub fn keys(&self) -> Vec<LeaseKey> {
        lock(&self.0).keys().copied().collect()
    }

    pub fn of_type(&self, task_type: &TypeName) -> Vec<(LeaseKey, Holding)> {
        lock(&self.0).iter().filter(|(_, h)| h.task_type == *task_type).map(|(k, h)| (*k, h.clone())).collect()
    }

    /// The token that says when a lease's run is over.
    pub fn over(&self, key: LeaseKey) -> Option<CancellationToken> {
        lock(&self.0).get(&key).map(|h| h.over.clone())
    }

    /// Whether a lease's run began.
    pub fn begun(&self, key: LeaseKey) -> bool {
        lock(&self.0).get(&key).is_none_or(|h| h.begun.is_set())
    }

    /// The keys that name a task: one, unless it was lost and taken by this node again.
    pub fn of_task(&self, task: TaskId) -> Vec<LeaseKey> {
        lock(&self.0).keys().filter(|k| k.task == task).copied().collect()
    }

    /// Tells a lease's actor. False if there is none alive.
    pub fn tell(&self, key: LeaseKey, message: LeaseMsg) -> bool {
        let lease = lock(&self.0).get(&key).map(|h| h.lease.clone());
        lease.is_some_and(|lease| lease.cast(message).is_ok())
    }

    pub fn len(&self) -> usize {
        lock(&self.0).len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
