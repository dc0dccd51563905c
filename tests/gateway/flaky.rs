//! A store that can go away, and come back.

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{Notify, broadcast};
use windlass_actors::domain::{Incarnation, LeaseKey, NewTask, NodeId, Owner, Task, TaskId, Timestamp, TypeName};
use windlass_actors::ports::ledger::*;
use windlass_actors::ports::records::*;
use windlass_actors::ports::registry::*;
use windlass_actors::ports::signals::Signal;
use windlass_actors::ports::{Ledger, Records, Registry, SharedStore, Signals};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    Well = 0,
    /// Every call fails.
    Away = 1,
    /// No call is ever answered.
    Silent = 2,
    /// Every call panics.
    Mad = 3,
}

pub struct Flaky {
    inner: SharedStore,
    mood: AtomicU8,
    /// Rings when somebody asks where a task stands, past all its events.
    pub asked_standing: Notify,
}

impl Flaky {
    pub fn new(inner: SharedStore) -> Self {
        Flaky { inner, mood: AtomicU8::new(0), asked_standing: Notify::new() }
    }

    pub fn be(&self, mood: Mood) {
        self.mood.store(mood as u8, Ordering::SeqCst);
    }

    async fn inner(&self) -> Result<&SharedStore, LedgerError> {
        match self.mood.load(Ordering::SeqCst) {
            0 => Ok(&self.inner),
            1 => Err(LedgerError::Unavailable("gone fishing".to_owned())),
            2 => std::future::pending().await,
            _ => panic!("the store is mad"),
        }
    }
}

#[async_trait]
impl Ledger for Flaky {
    async fn create(&self, tasks: Vec<NewTask>) -> Answers<Created> {
        self.inner().await?.create(tasks).await
    }
    async fn claim(&self, owner: &Owner, claims: Vec<Claim>) -> Answers<ClaimAnswer> {
        self.inner().await?.claim(owner, claims).await
    }
    async fn claim_next(&self, owner: &Owner, claims: Vec<ClaimNext>) -> Answers<NextAnswer> {
        self.inner().await?.claim_next(owner, claims).await
    }
    async fn renew(&self, owner: &Owner, leases: Vec<LeaseKey>) -> Answers<RenewAnswer> {
        self.inner().await?.renew(owner, leases).await
    }
    async fn record(&self, owner: &Owner, records: Vec<Record>) -> Answers<RecordAnswer> {
        self.inner().await?.record(owner, records).await
    }
    async fn finish(&self, owner: &Owner, finishes: Vec<Finish>) -> Answers<FinishAnswer> {
        self.inner().await?.finish(owner, finishes).await
    }
    async fn cancel(&self, task: TaskId, reason: Option<String>) -> Result<CancelAnswer, LedgerError> {
        self.inner().await?.cancel(task, reason).await
    }
    async fn replay(&self, replay: Replay) -> Result<ReplayAnswer, LedgerError> {
        self.inner().await?.replay(replay).await
    }
    async fn discard(&self, tasks: Vec<TaskId>) -> Result<Vec<TaskId>, LedgerError> {
        self.inner().await?.discard(tasks).await
    }
    async fn reap(&self, reap: Reap) -> Result<Vec<Taken>, LedgerError> {
        self.inner().await?.reap(reap).await
    }
    async fn expire(&self, most: u32) -> Result<Vec<TaskId>, LedgerError> {
        self.inner().await?.expire(most).await
    }
    async fn take_back(&self, take: TakeBack) -> Result<Vec<Taken>, LedgerError> {
        self.inner().await?.take_back(take).await
    }
    async fn prune(&self, keep: Duration, most: u32) -> Result<Pruned, LedgerError> {
        self.inner().await?.prune(keep, most).await
    }
    async fn probe(&self) -> Result<Timestamp, LedgerError> {
        self.inner().await?.probe().await
    }
}

#[async_trait]
impl Records for Flaky {
    async fn task(&self, id: TaskId) -> Result<Option<Task>, LedgerError> {
        self.inner().await?.task(id).await
    }
    async fn tasks(&self, filter: &Filter, page: Page) -> Result<Vec<Task>, LedgerError> {
        self.inner().await?.tasks(filter, page).await
    }
    async fn events(&self, id: TaskId, after: i64, limit: u32) -> Result<Option<Events>, LedgerError> {
        let answer = self.inner().await?.events(id, after, limit).await;
        if after == i64::MAX {
            self.asked_standing.notify_waiters();
        }
        answer
    }
    async fn stats(&self) -> Result<Stats, LedgerError> {
        self.inner().await?.stats().await
    }
    async fn facts(&self, after: Option<TaskId>, limit: u32) -> Result<Vec<TaskFacts>, LedgerError> {
        self.inner().await?.facts(after, limit).await
    }
}

#[async_trait]
impl Registry for Flaky {
    async fn post(&self, report: NodeReport) -> Result<(), LedgerError> {
        self.inner().await?.post(report).await
    }
    async fn withdraw(&self, node: &NodeId, incarnation: Incarnation) -> Result<(), LedgerError> {
        self.inner().await?.withdraw(node, incarnation).await
    }
    async fn nodes(&self) -> Result<Vec<NodeRow>, LedgerError> {
        self.inner().await?.nodes().await
    }
    async fn capabilities(&self, believed: Duration) -> Result<Vec<Capability>, LedgerError> {
        self.inner().await?.capabilities(believed).await
    }
    async fn set_paused(&self, task_type: &TypeName, paused: bool) -> Result<bool, LedgerError> {
        self.inner().await?.set_paused(task_type, paused).await
    }
    async fn setting(&self, key: &str, first: &str) -> Result<String, LedgerError> {
        self.inner().await?.setting(key, first).await
    }
}

impl Signals for Flaky {
    fn subscribe(&self) -> broadcast::Receiver<Signal> {
        self.inner.subscribe()
    }
}
