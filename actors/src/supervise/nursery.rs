//! Temporary children of an actor that is a parent itself: the leases of a pool, the hosts of a group.
//!
//! The parent keeps a [`Nursery`] in its state and passes each supervision event to [`Nursery::on_event`]. A child's end
//! never ends the parent, and nothing is restarted: who is missing is the parent's business. Cheap enough for tens of
//! thousands of children a second; `pre_start` runs in the parent's turn and must do no IO.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::time::Duration;

use ractor::{Actor, ActorCell, ActorId, ActorRef, Message, SupervisionEvent};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::child;
use super::exit::Exit;
use super::life::Life;
use super::place::Place;
use super::row::Stay;
use super::run::{Asked, KILL_WITHIN, ask};

/// `pre_start` runs in the parent's turn; one that waits longer is a failed start.
const START_WITHIN: Duration = Duration::from_secs(1);

/// An actor's temporary children by key.
pub struct Nursery<K> {
    by_key: HashMap<K, u64>,
    by_actor: HashMap<ActorId, u64>,
    /// In start order.
    living: BTreeMap<u64, Ward<K>>,
    next: u64,
}

struct Ward<K> {
    key: K,
    place: Place,
    cell: ActorCell,
    gone: CancellationToken,
}

/// A child has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended<K> {
    /// Which.
    pub key: K,
    /// How.
    pub exit: Exit,
}

/// A child was not started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotSpawned {
    /// A child with this key lives.
    #[error("a child with this key is there already")]
    Taken,
    /// Its start failed; there will be no event.
    #[error("the start failed: {0}")]
    Start(Exit),
}

impl<K: Clone + Eq + Hash> Nursery<K> {
    /// A nursery without children.
    pub fn new() -> Self {
        Self { by_key: HashMap::new(), by_actor: HashMap::new(), living: BTreeMap::new(), next: 0 }
    }

    /// Starts a child at `place` (a [`Place::child`] of the parent's, also handed to the actor in its arguments).
    pub async fn spawn<A: Actor>(
        &mut self,
        parent: ActorCell,
        key: K,
        place: Place,
        actor: A,
        args: A::Arguments,
    ) -> Result<ActorRef<A::Msg>, NotSpawned> {
        if self.by_key.contains_key(&key) {
            return Err(NotSpawned::Taken);
        }
        let life = Life::begin(place.clone(), Stay::WithActor);
        let gone = life.gone();
        let start = timeout(START_WITHIN, child::spawn(actor, args, life, parent)).await;
        let start = start.unwrap_or_else(|_| Err(Exit::Failed(format!("did not start within {START_WITHIN:?}"))));
        let actor = start.map_err(NotSpawned::Start)?;
        self.admit(Ward { key, place, cell: actor.get_cell(), gone });
        Ok(actor)
    }

    fn admit(&mut self, ward: Ward<K>) {
        self.by_key.insert(ward.key.clone(), self.next);
        self.by_actor.insert(ward.cell.get_id(), self.next);
        self.living.insert(self.next, ward);
        self.next += 1;
    }

    /// Reads an event: which child has ended and how. `None` for a start, and for actors that are not from here.
    pub fn on_event(&mut self, event: SupervisionEvent) -> Option<Ended<K>> {
        let (who, exit) = Exit::of(event)?;
        let number = self.by_actor.remove(&who.get_id())?;
        let ward = self.living.remove(&number)?;
        self.by_key.remove(&ward.key);
        Some(Ended { key: ward.key, exit })
    }

    /// Asks all children to stop, the last one first, and waits for them together; who is left after `limit` is killed.
    /// Answers with the keys of those. In `post_stop` this is the last that is heard of the children; before, each end
    /// still comes as an event.
    pub async fn stop_all(&mut self, limit: Duration) -> Vec<K> {
        let deadline = Instant::now() + limit;
        self.living.values().rev().for_each(|ward| ask(&ward.cell, Asked::Stop));
        let mut overdue = Vec::new();
        for ward in self.living.values().rev() {
            if timeout_at(deadline, ward.gone.cancelled()).await.is_err() {
                overdue.push(ward);
            }
        }
        overdue.iter().for_each(|ward| ward.kill_overdue(limit));
        let gone = async {
            for ward in &overdue {
                ward.gone.cancelled().await;
            }
        };
        if timeout(KILL_WITHIN, gone).await.is_err() {
            tracing::error!("children were killed, but something in them does not yield and still runs");
        }
        overdue.into_iter().map(|ward| ward.key.clone()).collect()
    }

    /// Kills a child: it is cut off at its next await. Its end comes as an event. False if there is none.
    pub fn kill(&self, key: &K) -> bool {
        self.ward(key).map(|ward| ward.cell.kill()).is_some()
    }

    /// Asks a child to stop. Its end comes as an event. False if there is none.
    pub fn stop(&self, key: &K) -> bool {
        self.ward(key).map(|ward| ask(&ward.cell, Asked::Stop)).is_some()
    }

    /// The child with this key, if it takes messages of this type.
    pub fn get<M: Message>(&self, key: &K) -> Option<ActorRef<M>> {
        let cell = &self.ward(key)?.cell;
        cell.is_message_type_of::<M>().unwrap_or(false).then(|| cell.clone().into())
    }

    /// Whether a child with this key lives.
    pub fn contains(&self, key: &K) -> bool {
        self.by_key.contains_key(key)
    }

    /// The keys in start order.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.living.values().map(|ward| &ward.key)
    }

    /// How many children live.
    pub fn len(&self) -> usize {
        self.living.len()
    }

    /// Whether no child lives.
    pub fn is_empty(&self) -> bool {
        self.living.is_empty()
    }

    fn ward(&self, key: &K) -> Option<&Ward<K>> {
        self.living.get(self.by_key.get(key)?)
    }
}

impl<K> Ward<K> {
    fn kill_overdue(&self, limit: Duration) {
        tracing::warn!(actor = self.place.path(), ?limit, "actor did not end in time and is killed");
        self.place.roster().note_overdue(self.place.path());
        self.cell.kill();
    }
}

impl<K: Clone + Eq + Hash> Default for Nursery<K> {
    fn default() -> Self {
        Self::new()
    }
}
