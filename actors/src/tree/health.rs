//! What readiness is made of. Actors write their part; the admin's thread reads it without asking anyone.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use serde::Serialize;

use crate::domain::TypeName;
use crate::supervise::lock::lock;

/// Whether the node can do its job now, and if not, why.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Readiness {
    pub ready: bool,
    pub reasons: Vec<String>,
}

/// One type's part.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TypeHealth {
    /// The pool has taken back what its predecessor left and claims.
    pub pool_serves: bool,
    pub consumer_open: bool,
    /// Seats in hosts that are ready.
    pub seats: u32,
    /// Leases alive, and ends of dead ones that are not written yet.
    pub busy: u32,
    /// The pool waits for the ledger: a claim, or what it takes back, is not answered yet.
    pub asks: bool,
    /// Why its hosts cannot live, once they were given up for now.
    pub parked: Option<String>,
    /// What was wrong with the last host that did not start.
    pub last_start_error: Option<String>,
}

#[derive(Default)]
struct Inner {
    types: BTreeMap<TypeName, TypeHealth>,
    /// By kind of call: why the store could not be written, and when that was.
    store: BTreeMap<&'static str, (String, Duration)>,
    /// The store was reached at least once.
    store_seen: bool,
    /// When all leases were last renewed, by the node's clock.
    renewed: Option<Duration>,
    draining: bool,
}

pub struct Health(Mutex<Inner>);

impl Health {
    pub fn new(types: impl Iterator<Item = TypeName>) -> Self {
        let types = types.map(|name| (name, TypeHealth::default())).collect();
        Health(Mutex::new(Inner { types, ..Inner::default() }))
    }

    /// Changes a type's part.
    pub fn of_type(&self, task_type: &TypeName, change: impl FnOnce(&mut TypeHealth)) {
        if let Some(health) = lock(&self.0).types.get_mut(task_type) {
            change(health);
        }
    }

    /// The store answered a call of that kind. It says nothing of the others: a full store still takes renewals.
    pub fn store_answered(&self, call: &'static str) {
        let mut inner = lock(&self.0);
        inner.store_seen = true;
        inner.store.remove(call);
    }

    /// The store did not answer a call of that kind.
    pub fn store_failed(&self, call: &'static str, error: String, now: Duration) {
        lock(&self.0).store.insert(call, (error, now));
    }

    /// The store was found writable: forgets failures up to `until`, which nobody has repeated since.
    pub fn store_writable(&self, until: Duration) {
        let mut inner = lock(&self.0);
        inner.store_seen = true;
        inner.store.retain(|_, (_, at)| *at > until);
    }

    pub fn drain(&self) {
        lock(&self.0).draining = true;
    }

    pub fn is_draining(&self) -> bool {
        lock(&self.0).draining
    }

    pub fn renewed(&self, at: Duration) {
        lock(&self.0).renewed = Some(at);
    }

    /// Seats of a type in hosts that are ready.
    pub fn seats(&self, task_type: &TypeName) -> u32 {
        lock(&self.0).types.get(task_type).map_or(0, |health| health.seats)
    }

    /// Nothing is left to do for any type, and no answer is awaited.
    pub fn is_idle(&self) -> bool {
        lock(&self.0).types.values().all(|health| health.busy == 0 && !health.asks)
    }

    pub fn types(&self) -> BTreeMap<TypeName, TypeHealth> {
        lock(&self.0).types.clone()
    }

    /// Ready means: the ledger answers, each type's consumer is open and its pool serves, and hosts live.
    pub fn readiness(&self) -> Readiness {
        let inner = lock(&self.0);
        let mut reasons = Vec::new();
        if inner.draining {
            reasons.push("the node drains".to_owned());
        }
        if inner.store.is_empty() && !inner.store_seen {
            reasons.push("the store was not reached yet".to_owned());
        }
        for (error, _) in inner.store.values() {
            if !reasons.contains(error) {
                reasons.push(error.clone());
            }
        }
        // a parked type is withdrawn: it is not served, and the others go on
        let all_parked = inner.types.values().all(|health| health.parked.is_some());
        for (name, health) in inner.types.iter().filter(|(_, health)| health.parked.is_none() || all_parked) {
            reasons.extend(health.reason().map(|reason| format!("type `{name}`: {reason}")));
        }
        Readiness { ready: reasons.is_empty(), reasons }
    }
}

impl TypeHealth {
    fn reason(&self) -> Option<String> {
        if let Some(parked) = &self.parked {
            return Some(format!("parked: {parked}"));
        }
        if self.seats == 0 {
            let error = self.last_start_error.as_deref().unwrap_or("it starts");
            return Some(format!("no host is ready: {error}"));
        }
        if !self.pool_serves {
            return Some("its pool takes back what it held before".to_owned());
        }
        (!self.consumer_open).then(|| "its queue is not open".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_ready_only_when_every_part_is() {
        let name = TypeName::new("hello").unwrap();
        let health = Health::new([name.clone()].into_iter());
        assert_eq!(health.readiness().reasons.len(), 2);
        health.store_answered("claim");
        health.of_type(&name, |t| {
            *t = TypeHealth { pool_serves: true, consumer_open: true, seats: 1, ..TypeHealth::default() };
        });
        assert!(health.readiness().ready);
        let full = "the store is unavailable: disk full";
        for (call, at) in [("record", 1), ("finish", 2)] {
            health.store_failed(call, full.to_owned(), Duration::from_secs(at));
        }
        health.store_answered("renew");
        assert_eq!(health.readiness().reasons, [full]);
        health.store_answered("finish");
        assert!(!health.readiness().ready, "records have not been answered");
        health.store_writable(Duration::from_secs(1));
        assert!(health.readiness().ready);
        health.drain();
        assert!(!health.readiness().ready);
    }
}
