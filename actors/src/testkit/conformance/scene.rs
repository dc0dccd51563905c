//! Short words for what the tests do all the time.

use std::sync::Arc;
use std::time::Duration;

use super::Harness;
use crate::domain::{Event, LeaseKey, NewTask, Owner, Status, Suspicion, Task, TaskId, Verdict};
use crate::ports::SharedStore;
use crate::ports::ledger::{ClaimAnswer, ClaimNext, Claimed, Created, FinishAnswer, NextAnswer, Record, RecordAnswer};
use crate::testkit::tasks;

#[derive(Clone)]
pub struct Scene {
    harness: Arc<dyn Harness>,
    pub store: SharedStore,
}

impl Scene {
    pub fn new(harness: Arc<dyn Harness>) -> Self {
        let store = harness.store();
        Scene { harness, store }
    }

    pub fn owner(&self, n: u32) -> Owner {
        self.harness.owner(n)
    }

    pub async fn advance(&self, seconds: u64) {
        self.harness.advance(Duration::from_secs(seconds)).await;
    }

    pub async fn submit(&self, task: NewTask) -> TaskId {
        match self.store.create(vec![task]).await.expect("create").as_slice() {
            [Created::Created { id }] => *id,
            other => panic!("not created: {other:?}"),
        }
    }

    /// A plain task of type `hello`.
    pub async fn hello(&self) -> TaskId {
        self.submit(tasks::new_task("hello")).await
    }

    /// A task with so many attempts.
    pub async fn hello_of(&self, max_attempts: u32) -> TaskId {
        self.submit(NewTask { max_attempts, ..tasks::new_task("hello") }).await
    }

    pub async fn next(&self, owner: u32, claim: ClaimNext) -> NextAnswer {
        self.store.claim_next(&self.owner(owner), vec![claim]).await.expect("claim_next").remove(0)
    }

    /// Claims this task, suspect or not.
    pub async fn claim(&self, owner: u32, task: TaskId) -> LeaseKey {
        self.claimed(owner, task).await.key
    }

    pub async fn claimed(&self, owner: u32, task: TaskId) -> Claimed {
        let task_type = self.task(task).await.task_type;
        let claim = crate::ports::ledger::Claim { suspects: Suspicion::Node, ..tasks::claim(task, task_type.as_str()) };
        match self.store.claim(&self.owner(owner), vec![claim]).await.expect("claim").remove(0) {
            ClaimAnswer::Claimed(claimed) => *claimed,
            other => panic!("not claimed: {other:?}"),
        }
    }

    /// A new task and its first attempt, by owner 1.
    pub async fn running(&self) -> LeaseKey {
        let task = self.hello().await;
        self.claim(1, task).await
    }

    pub async fn finish(&self, owner: u32, key: LeaseKey, verdict: Verdict) -> FinishAnswer {
        let finish = tasks::finish(key, verdict);
        self.store.finish(&self.owner(owner), vec![finish]).await.expect("finish").remove(0)
    }

    /// Finishes, and sees it done.
    pub async fn end(&self, key: LeaseKey, verdict: Verdict) -> Status {
        match self.finish(1, key, verdict).await {
            FinishAnswer::Done { status } => status,
            other => panic!("not done: {other:?}"),
        }
    }

    pub async fn record(&self, owner: u32, record: Record) -> RecordAnswer {
        self.store.record(&self.owner(owner), vec![record]).await.expect("record").remove(0)
    }

    pub async fn task(&self, id: TaskId) -> Task {
        self.store.task(id).await.expect("task").expect("a known task")
    }

    pub async fn status(&self, id: TaskId) -> Status {
        self.task(id).await.status
    }

    pub async fn events(&self, id: TaskId) -> Vec<Event> {
        self.store.events(id, 0, 10_000).await.expect("events").expect("a known task").events
    }

    /// Lets the lease of a running task end, and takes it.
    pub async fn lose(&self) -> Vec<crate::ports::ledger::Taken> {
        self.advance(36).await;
        self.store.reap(tasks::reap()).await.expect("reap")
    }
}
