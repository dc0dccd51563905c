//! One case: the same commands to both.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use super::command::Command;
use super::compare::Said;
use crate::domain::{Json, LeaseKey, NewTask, Owner, TaskId, Timestamp};
use crate::ports::SharedStore;
use crate::ports::ledger::{Claim, ClaimAnswer, ClaimNext, Finish, Record, Replay, TakeBack};
use crate::ports::records::{Filter, Page};
use crate::ports::rules::Sizes;
use crate::testkit::conformance::{Harness, assert_invariants, report};
use crate::testkit::{ManualClock, MemoryStore, tasks};

pub(super) struct Run {
    clock: ManualClock,
    model: SharedStore,
    harness: Arc<dyn Harness>,
    store: SharedStore,
    ids: Vec<TaskId>,
    leases: Vec<(Owner, LeaseKey)>,
    claims: Vec<(Owner, ClaimNext)>,
    finishes: Vec<(Owner, Finish)>,
}

/// Gives a call to both and returns what the model says, or how they differ.
macro_rules! both {
    ($run:ident.$call:ident($($arg:expr),*)) => {{
        let model = $run.model.$call($($arg),*).await;
        let store = $run.store.$call($($arg),*).await;
        let now = $run.clock.now();
        $run.same(&(model.as_ref().ok(), model.is_ok()), &(store.as_ref().ok(), store.is_ok()), (now, $run.now().await?))?;
        model
    }};
}

impl Run {
    pub fn new(harness: Arc<dyn Harness>) -> Self {
        let clock = ManualClock::flowing();
        let model = Arc::new(MemoryStore::with(clock.clone(), Sizes::default()));
        let store = harness.store();
        let (ids, leases, claims, finishes) = Default::default();
        Run { clock, model, harness, store, ids, leases, claims, finishes }
    }

    pub async fn all(mut self, commands: &[Command]) -> Result<(), String> {
        for name in ["type-0", "type-1"] {
            let report = report(&tasks::owner(1), &[name], 1);
            both!(self.post(report.clone())).ok();
        }
        for command in commands {
            // two commands never fall into one millisecond of either clock
            tokio::time::sleep(Duration::from_millis(2)).await;
            self.one(command).await.map_err(|why| format!("{command:?}: {why}"))?;
        }
        self.same_record().await?;
        assert_invariants(&self.store).await;
        Ok(())
    }

    async fn now(&self) -> Result<Timestamp, String> {
        self.store.probe().await.map_err(|e| e.to_string())
    }

    fn same(&self, model: &impl Debug, store: &impl Debug, at: (Timestamp, Timestamp)) -> Result<(), String> {
        Said::of(model, at.0).differs(&Said::of(store, at.1)).map_or(Ok(()), Err)
    }

    /// All that can be read is the same.
    async fn same_record(&self) -> Result<(), String> {
        let page = Page { before: None, limit: 1000 };
        both!(self.tasks(&Filter::default(), page)).ok();
        both!(self.tasks(&Filter { dead_lettered: true, ..Filter::default() }, page)).ok();
        both!(self.stats()).ok();
        both!(self.facts(None, 1000)).ok();
        for id in &self.ids {
            both!(self.task(*id)).ok();
            both!(self.events(*id, 0, 1000)).ok();
        }
        Ok(())
    }

    fn id(&self, pick: usize) -> TaskId {
        self.ids.get(pick % self.ids.len().max(1)).copied().unwrap_or_else(tasks::task_id)
    }

    /// Among the latest attempts, whose owner or a stranger asks.
    fn lease(&self, pick: usize, stranger: bool) -> (Owner, LeaseKey) {
        let latest = &self.leases[self.leases.len().saturating_sub(6)..];
        let none = || (tasks::owner(1), LeaseKey { task: tasks::task_id(), epoch: Default::default() });
        let (owner, key) = latest.get(pick % latest.len().max(1)).cloned().unwrap_or_else(none);
        (if stranger { tasks::owner(3) } else { owner }, key)
    }

    async fn one(&mut self, command: &Command) -> Result<(), String> {
        match command.clone() {
            Command::Create { .. } => self.create(command).await?,
            Command::Claim { owner, task, suspects, limits } => {
                let (owner, id) = (tasks::owner(owner), self.id(task));
                let claim = Claim { suspects, limits, ..tasks::claim(id, "type-0") };
                if let Ok(ClaimAnswer::Claimed(c)) =
                    both!(self.claim(&owner, vec![claim.clone()])).map(|mut a| a.remove(0))
                {
                    self.leases.push((owner, c.key));
                }
            }
            Command::ClaimNext { owner, task_type, most, suspects, limits } => {
                let claim = ClaimNext { suspects, limits, ..tasks::claim_next(&format!("type-{task_type}"), most) };
                self.claim_next(tasks::owner(owner), claim).await?;
            }
            Command::RepeatClaim { pick } => {
                if let Some((owner, claim)) = self.claims.get(pick % self.claims.len().max(1)).cloned() {
                    self.claim_next(owner, claim).await?;
                }
            }
            Command::Renew { lease, stranger } => {
                let (owner, key) = self.lease(lease, stranger);
                both!(self.renew(&owner, vec![key])).ok();
            }
            Command::Record { lease, stranger, from, events, checkpoint } => {
                let (owner, key) = self.lease(lease, stranger);
                let checkpoint = checkpoint.then(|| Json::trusted(from.to_string()));
                let events = vec![tasks::output("[1]"); events];
                let record = Record { checkpoint, progress: Some(0.5), ..tasks::record(key, from, events) };
                both!(self.record(&owner, vec![record.clone()])).ok();
            }
            Command::Finish { lease, stranger, from, events, verdict } => {
                let (owner, key) = self.lease(lease, stranger);
                let events = vec![tasks::log("end"); events];
                let finish = Finish { from, events, stage: Some("end".to_owned()), ..tasks::finish(key, verdict) };
                self.finish(owner, finish).await?;
            }
            Command::RepeatFinish { pick } => {
                if let Some((owner, finish)) = self.finishes.get(pick % self.finishes.len().max(1)).cloned() {
                    self.finish(owner, finish).await?;
                }
            }
            other => self.of_others(other).await?,
        }
        Ok(())
    }

    async fn of_others(&mut self, command: Command) -> Result<(), String> {
        match command {
            Command::Cancel { task } => drop(both!(self.cancel(self.id(task), Some("why".to_owned())))),
            Command::Replay { task, fresh } => {
                let replay =
                    Replay { task: self.id(task), payload: fresh.then(|| Json::trusted("2")), fresh, waiting: false };
                both!(self.replay(replay.clone())).ok();
            }
            Command::Discard { task } => drop(both!(self.discard(vec![self.id(task)]))),
            Command::Reap => drop(both!(self.reap(tasks::reap()))),
            Command::Expire => drop(both!(self.expire(10))),
            Command::TakeBack { owner, except, cause } => {
                let (incarnation, except) = (tasks::owner(owner).incarnation, vec![self.lease(except, false).1]);
                let older_than = Duration::from_secs(5);
                let take =
                    TakeBack { incarnation, task_type: None, except, older_than, cause, backoff: tasks::backoff() };
                both!(self.take_back(take.clone())).ok();
            }
            Command::Prune => drop(both!(self.prune(Duration::from_secs(200), 3))),
            Command::Pause { task_type, paused } => {
                both!(self.set_paused(&tasks::type_name(&format!("type-{task_type}")), paused)).ok();
            }
            Command::Advance { seconds } => {
                let by = Duration::from_secs(seconds);
                self.clock.advance(by);
                self.harness.advance(by).await;
            }
            _ => {}
        }
        Ok(())
    }

    async fn create(&mut self, command: &Command) -> Result<(), String> {
        let Command::Create { task_type, priority, max_attempts, deadline, later, key, fingerprint } = command else {
            return Ok(());
        };
        let task = NewTask {
            priority: *priority,
            max_attempts: *max_attempts,
            deadline_in: deadline.then(|| Duration::from_secs(150)),
            idempotency_key: key.map(|key| key.to_string()),
            fingerprint: fingerprint.to_string(),
            ..tasks::new_task(&format!("type-{task_type}"))
        };
        // a moment in the future is another number on each clock
        let due =
            |now: Timestamp| NewTask { not_before: later.then(|| now.plus(Duration::from_secs(100))), ..task.clone() };
        let at = (self.clock.now(), self.now().await?);
        let model = self.model.create(vec![due(at.0)]).await;
        let store = self.store.create(vec![due(at.1)]).await;
        self.same(&model, &store, at)?;
        self.ids.push(task.id);
        Ok(())
    }

    async fn claim_next(&mut self, owner: Owner, claim: ClaimNext) -> Result<(), String> {
        if let Ok(answers) = both!(self.claim_next(&owner, vec![claim.clone()])) {
            let keys = answers.iter().flat_map(|a| &a.claimed).map(|c| (owner.clone(), c.key));
            self.leases.extend(keys);
        }
        self.claims.push((owner, claim));
        Ok(())
    }

    async fn finish(&mut self, owner: Owner, finish: Finish) -> Result<(), String> {
        both!(self.finish(&owner, vec![finish.clone()])).ok();
        let other = Finish { token: Uuid::new_v4(), ..finish.clone() };
        both!(self.finish(&owner, vec![other.clone()])).ok();
        self.finishes.push((owner, finish));
        Ok(())
    }
}
