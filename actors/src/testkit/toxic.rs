//! Faults at a store's calls: what a test plans, happens to the next calls of that name.
//!
//! ```text
//! toxic.next("finish", Toxic::ErrorAfter);   // committed, but the answer is lost
//! toxic.always("record", Toxic::ErrorBefore);
//! toxic.clear();
//! ```

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{Notify, broadcast};

use crate::domain::{Incarnation, LeaseKey, NewTask, NodeId, Owner, Task, TaskId, Timestamp, TypeName};
use crate::ports::ledger::{
    Answers, CancelAnswer, Claim, ClaimAnswer, ClaimNext, Created, Finish, FinishAnswer, LedgerError, NextAnswer,
    Pruned, Reap, Record, RecordAnswer, RenewAnswer, Replay, ReplayAnswer, TakeBack, Taken,
};
use crate::ports::records::{Events, Filter, Page, Stats, TaskFacts};
use crate::ports::registry::{Capability, NodeReport, NodeRow};
use crate::ports::signals::Signal;
use crate::ports::{Dice, Ledger, Records, Registry, SharedStore, Signals};

/// What happens to a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Toxic {
    /// It fails and has done nothing.
    ErrorBefore,
    /// It is done, but its caller hears an error.
    ErrorAfter,
    /// It waits until [`ToxicStore::release`] (or [`clear`](ToxicStore::clear)), then is done.
    HangBefore,
    /// It is done, and its caller waits for the answer until release.
    HangAfter,
    Delay(Duration),
}

#[derive(Default)]
struct Plan {
    next: BTreeMap<String, VecDeque<Toxic>>,
    always: BTreeMap<String, Toxic>,
    /// How likely any call fails, and the dice.
    chance: Option<(f64, Arc<dyn Dice>)>,
    hits: BTreeMap<String, usize>,
    calls: BTreeMap<String, usize>,
}

/// A store whose calls fail as planned; by default none does. Calls are named as the ports name them.
pub struct ToxicStore {
    inner: SharedStore,
    plan: Mutex<Plan>,
    released: Notify,
    struck: Notify,
}

impl ToxicStore {
    pub fn new(inner: SharedStore) -> Arc<Self> {
        Arc::new(ToxicStore { inner, plan: Mutex::default(), released: Notify::new(), struck: Notify::new() })
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Poisons the next call of that name; more of them queue up.
    pub fn next(&self, call: &str, toxic: Toxic) {
        self.plan().next.entry(call.to_owned()).or_default().push_back(toxic);
    }

    /// Poisons each call of that name until cleared; `*` is all calls.
    pub fn always(&self, call: &str, toxic: Toxic) {
        self.plan().always.insert(call.to_owned(), toxic);
    }

    /// Poisons that share of all calls, each with a toxic that the dice choose.
    pub fn seeded(&self, chance: f64, dice: Arc<dyn Dice>) {
        self.plan().chance = Some((chance, dice));
    }

    /// Ends the plans for calls of that name; what hangs goes on hanging.
    pub fn heal(&self, call: &str) {
        let mut plan = self.plan();
        plan.next.remove(call);
        plan.always.remove(call);
    }

    /// Ends all plans and lets go what hangs.
    pub fn clear(&self) {
        let mut plan = self.plan();
        plan.next.clear();
        plan.always.clear();
        plan.chance = None;
        drop(plan);
        self.release();
    }

    /// Lets go what hangs now.
    pub fn release(&self) {
        self.released.notify_waiters();
    }

    /// How many calls of that name were poisoned.
    pub fn hits(&self, call: &str) -> usize {
        self.plan().hits.get(call).copied().unwrap_or(0)
    }

    /// How many calls of that name there were.
    pub fn calls(&self, call: &str) -> usize {
        self.plan().calls.get(call).copied().unwrap_or(0)
    }

    /// Resolves once so many calls of that name were poisoned.
    pub async fn hit(&self, call: &str, times: usize) {
        self.seen(|| self.hits(call) >= times).await;
    }

    /// Resolves once there were so many more calls of that name.
    pub async fn called_again(&self, call: &str, times: usize) {
        let wanted = self.calls(call) + times;
        self.seen(|| self.calls(call) >= wanted).await;
    }

    async fn seen(&self, wanted: impl Fn() -> bool) {
        loop {
            let next = self.struck.notified();
            if wanted() {
                return;
            }
            next.await;
        }
    }

    fn draw(&self, call: &str) -> Option<Toxic> {
        let mut plan = self.plan();
        *plan.calls.entry(call.to_owned()).or_default() += 1;
        let scripted = plan.next.get_mut(call).and_then(VecDeque::pop_front);
        let always = plan.always.get(call).or_else(|| plan.always.get("*")).copied();
        let chosen = scripted.or(always).or_else(|| plan.chance.as_ref().and_then(|(p, dice)| by_chance(*p, &**dice)));
        if chosen.is_some() {
            *plan.hits.entry(call.to_owned()).or_default() += 1;
        }
        chosen
    }

    async fn run<T>(&self, call: &str, inner: impl Future<Output = Result<T, LedgerError>>) -> Result<T, LedgerError> {
        let lost = |how: &str| Err(LedgerError::Unavailable(format!("toxic: {call} {how}")));
        let hang = self.released.notified();
        let drawn = self.draw(call);
        self.struck.notify_waiters();
        match drawn {
            None => inner.await,
            Some(Toxic::ErrorBefore) => lost("was not done"),
            Some(Toxic::ErrorAfter) => {
                let _ = inner.await;
                lost("lost its answer")
            }
            Some(Toxic::HangBefore) => {
                hang.await;
                inner.await
            }
            Some(Toxic::HangAfter) => {
                let answer = inner.await;
                hang.await;
                answer
            }
            Some(Toxic::Delay(by)) => {
                tokio::time::sleep(by).await;
                inner.await
            }
        }
    }
}

fn by_chance(chance: f64, dice: &dyn Dice) -> Option<Toxic> {
    (dice.unit() < chance).then(|| match (dice.unit() * 3.0) as u32 {
        0 => Toxic::ErrorBefore,
        1 => Toxic::ErrorAfter,
        _ => Toxic::Delay(Duration::from_secs_f64(dice.unit())),
    })
}

/// The ports, call by call: a plan may poison each.
macro_rules! poisoned {
    ($port:ident { $(fn $call:ident(&self $(, $arg:ident: $ty:ty)*) -> $answer:ty;)* }) => {
        #[async_trait]
        impl $port for ToxicStore {
            $(async fn $call(&self $(, $arg: $ty)*) -> $answer {
                self.run(stringify!($call), self.inner.$call($($arg),*)).await
            })*
        }
    };
}

poisoned!(Ledger {
    fn create(&self, tasks: Vec<NewTask>) -> Answers<Created>;
    fn claim(&self, owner: &Owner, claims: Vec<Claim>) -> Answers<ClaimAnswer>;
    fn claim_next(&self, owner: &Owner, claims: Vec<ClaimNext>) -> Answers<NextAnswer>;
    fn renew(&self, owner: &Owner, leases: Vec<LeaseKey>) -> Answers<RenewAnswer>;
    fn record(&self, owner: &Owner, records: Vec<Record>) -> Answers<RecordAnswer>;
    fn finish(&self, owner: &Owner, finishes: Vec<Finish>) -> Answers<FinishAnswer>;
    fn cancel(&self, task: TaskId, reason: Option<String>) -> Result<CancelAnswer, LedgerError>;
    fn replay(&self, replay: Replay) -> Result<ReplayAnswer, LedgerError>;
    fn discard(&self, tasks: Vec<TaskId>) -> Result<Vec<TaskId>, LedgerError>;
    fn reap(&self, reap: Reap) -> Result<Vec<Taken>, LedgerError>;
    fn expire(&self, most: u32) -> Result<Vec<TaskId>, LedgerError>;
    fn take_back(&self, take: TakeBack) -> Result<Vec<Taken>, LedgerError>;
    fn prune(&self, keep: Duration, most: u32) -> Result<Pruned, LedgerError>;
    fn probe(&self) -> Result<Timestamp, LedgerError>;
});

poisoned!(Records {
    fn task(&self, id: TaskId) -> Result<Option<Task>, LedgerError>;
    fn tasks(&self, filter: &Filter, page: Page) -> Result<Vec<Task>, LedgerError>;
    fn events(&self, id: TaskId, after: i64, limit: u32) -> Result<Option<Events>, LedgerError>;
    fn stats(&self) -> Result<Stats, LedgerError>;
    fn facts(&self, after: Option<TaskId>, limit: u32) -> Result<Vec<TaskFacts>, LedgerError>;
});

poisoned!(Registry {
    fn post(&self, report: NodeReport) -> Result<(), LedgerError>;
    fn withdraw(&self, node: &NodeId, incarnation: Incarnation) -> Result<(), LedgerError>;
    fn nodes(&self) -> Result<Vec<NodeRow>, LedgerError>;
    fn capabilities(&self, believed: Duration) -> Result<Vec<Capability>, LedgerError>;
    fn set_paused(&self, task_type: &TypeName, paused: bool) -> Result<bool, LedgerError>;
    fn setting(&self, key: &str, first: &str) -> Result<String, LedgerError>;
});

impl Signals for ToxicStore {
    fn subscribe(&self) -> broadcast::Receiver<Signal> {
        self.inner.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::tasks::new_task;
    use crate::testkit::{MemoryStore, SeededDice};

    fn toxic() -> Arc<ToxicStore> {
        ToxicStore::new(Arc::new(MemoryStore::new()))
    }

    async fn stored(store: &ToxicStore, id: TaskId) -> bool {
        store.inner.task(id).await.unwrap().is_some()
    }

    #[tokio::test]
    async fn an_error_comes_before_or_after_the_effect() {
        let store = toxic();
        for (toxic, effect) in [(Toxic::ErrorBefore, false), (Toxic::ErrorAfter, true)] {
            store.next("create", toxic);
            let task = new_task("hello");
            let id = task.id;
            assert!(store.create(vec![task]).await.is_err());
            assert_eq!(stored(&store, id).await, effect);
        }
        assert!(store.create(vec![new_task("hello")]).await.is_ok());
        assert_eq!((store.hits("create"), store.calls("create")), (2, 3));
    }

    #[tokio::test]
    async fn what_is_always_poisoned_heals_when_cleared() {
        let store = toxic();
        store.always("*", Toxic::ErrorBefore);
        assert!(store.probe().await.is_err() && store.stats().await.is_err());
        store.clear();
        assert!(store.probe().await.is_ok() && store.stats().await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_hangs_until_it_is_released() {
        let store = toxic();
        store.always("probe", Toxic::HangBefore);
        let call = store.probe();
        tokio::pin!(call);
        assert!(tokio::time::timeout(Duration::from_secs(60), &mut call).await.is_err());
        store.release();
        assert!(call.await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn chance_is_the_same_for_the_same_seed() {
        let run = || async {
            let store = toxic();
            store.seeded(0.5, Arc::new(SeededDice::new(7)));
            let mut answers = Vec::new();
            for _ in 0..50 {
                answers.push(store.probe().await.is_ok());
            }
            answers
        };
        let first = run().await;
        assert_eq!(first, run().await);
        assert!(first.contains(&true) && first.contains(&false));
    }
}
