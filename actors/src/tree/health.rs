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
    /// Leases alive.
    pub busy: u32,
    /// Why its hosts cannot live, once they were given up for now.
    pub parked: Option<String>,
    /// What was wrong with the last host that did not start.
    pub last_start_error: Option<String>,
}

#[derive(Default)]
struct Inner {
    types: BTreeMap<TypeName, TypeHealth>,
    /// Why the store can't be written, since it can't.
    store: Option<String>,
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

    /// The store answered, or did not.
    pub fn store(&self, error: Option<String>) {
        let mut inner = lock(&self.0);
        inner.store_seen |= error.is_none();
        inner.store = error;
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
        match &inner.store {
            Some(error) => reasons.push(error.clone()),
            None if !inner.store_seen => reasons.push("the store was not reached yet".to_owned()),
            None => {}
        }
        for (name, health) in &inner.types {
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
        health.store(None);
        health.of_type(&name, |t| {
            *t = TypeHealth { pool_serves: true, consumer_open: true, seats: 1, ..TypeHealth::default() };
        });
        assert!(health.readiness().ready);
        health.store(Some("the store is unavailable: disk full".to_owned()));
        assert_eq!(health.readiness().reasons, ["the store is unavailable: disk full"]);
        health.store(None);
        health.drain();
        assert!(!health.readiness().ready);
    }
}
