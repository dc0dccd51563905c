//! A type's pool: its slots, and the leases in them.
//!
//! It owns its lease actors and the claim that is under way. It receives wake-ups (`Look`), the ledger's answers, and
//! its leases' ends. It promises: never more leases than slots and seats; one claim at a time, repeated with its token
//! until it is answered; a lease actor that dies is settled for once its run is over; a new incarnation first takes back
//! what the one before held ([`super::recover`]).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::lease::{LeaseActor, LeaseArgs, LeaseMsg};
use super::recover::Recovery;
use crate::decide::admission::{Room, most, suspects};
use crate::decide::retry::{RetryPolicy, pause};
use crate::decide::verdict::{Circumstances, recorded, verdict};
use crate::domain::{EndReason, Ending, LeaseKey, Suspicion, TaskType};
use crate::ports::ledger::{ClaimNext, Claimed, Finish, FinishAnswer, LedgerError, Limits, NextAnswer, Taken};
use crate::ports::observer::Fact;
use crate::supervise::{
    Actor, ActorProcessingErr, ActorRef, Ended, Exit, Nursery, OwnedTask, Place, SupervisionEvent, Tick,
};
use crate::tree::holdings::{Begun, Holding};
use crate::tree::hosts::GroupMsg;
use crate::tree::intake::{ConsumerMsg, Looked};
use crate::tree::wiring::{Shared, SuspectPass};

pub enum PoolMsg {
    /// Something may be due: claim what there is room for.
    Look,
    /// Slots came free: claim once for all of them.
    Claim,
    /// The seats of the type in hosts that are ready have changed; the health says how many there are.
    Seats,
    Claims {
        token: Uuid,
        answer: Result<NextAnswer, LedgerError>,
    },
    TryClaimAgain,
    /// The run of a lease whose actor died is over.
    OrphanOver(LeaseKey),
    OrphanSettled {
        finish: Box<Finish>,
        answer: Result<FinishAnswer, LedgerError>,
    },
    SettleOrphanAgain(Box<Finish>),
    /// All runs of the predecessor are over.
    RunsOver,
    TakenBack(Result<Vec<Taken>, LedgerError>),
    TakeBackAgain,
    /// No new attempts from now on.
    Drain,
    /// Stops all attempts.
    StopAll(EndReason),
    /// The drain is over.
    GiveUp,
}

pub struct PoolActor;

pub struct PoolArgs {
    pub shared: Arc<Shared>,
    pub task_type: Arc<TaskType>,
    pub place: Place,
}

/// A claim that is under way.
pub(super) struct Claiming {
    request: ClaimNext,
    pass: Option<SuspectPass>,
    tries: u32,
}

#[derive(Default)]
struct LeaseRow {
    suspect: bool,
    /// Held while a task runs that two owners died with.
    _pass: Option<SuspectPass>,
}

pub struct Pool {
    pub(super) shared: Arc<Shared>,
    pub(super) task_type: Arc<TaskType>,
    pub(super) myself: ActorRef<PoolMsg>,
    pub(super) place: Place,
    /// Where its leases are.
    leases: Place,
    pub(super) nursery: Nursery<LeaseKey>,
    rows: HashMap<LeaseKey, LeaseRow>,
    /// Runs that wait to be over because their lease actor died.
    orphans: HashMap<LeaseKey, OwnedTask>,
    claiming: Option<Claiming>,
    /// Somebody said that something may be due, and we have not looked since.
    hungry: bool,
    /// A `Claim` is on its way.
    claim_due: bool,
    pub(super) recovery: Option<Recovery>,
    /// The next try of the claim.
    again: Option<Tick>,
    /// Ends of orphans that could not be written, each with its next try.
    unwritten: HashMap<LeaseKey, Tick>,
}

impl Actor for PoolActor {
    type Msg = PoolMsg;
    type State = Pool;
    type Arguments = PoolArgs;

    async fn pre_start(&self, myself: ActorRef<PoolMsg>, args: PoolArgs) -> Result<Pool, ActorProcessingErr> {
        Ok(Pool::begin(myself, args))
    }

    async fn handle(&self, _: ActorRef<PoolMsg>, message: PoolMsg, pool: &mut Pool) -> Result<(), ActorProcessingErr> {
        match message {
            PoolMsg::Look => pool.look(),
            PoolMsg::Claim => pool.claim_asked(),
            PoolMsg::Seats => pool.seats(),
            PoolMsg::Claims { token, answer } => pool.claims(token, answer).await,
            PoolMsg::TryClaimAgain => pool.send_claim(),
            PoolMsg::OrphanOver(key) => pool.orphan_over(key),
            PoolMsg::OrphanSettled { finish, answer } => pool.orphan_settled(finish, answer),
            PoolMsg::SettleOrphanAgain(finish) => pool.settle_orphan(finish),
            PoolMsg::RunsOver => pool.runs_over(),
            PoolMsg::TakenBack(answer) => pool.taken_back(answer),
            PoolMsg::TakeBackAgain => pool.take_back(),
            PoolMsg::Drain => pool.drain(),
            PoolMsg::StopAll(reason) => pool.tell_all(|| LeaseMsg::Stop(reason)),
            PoolMsg::GiveUp => pool.tell_all(|| LeaseMsg::GiveUp),
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        _: ActorRef<PoolMsg>,
        event: SupervisionEvent,
        pool: &mut Pool,
    ) -> Result<(), ActorProcessingErr> {
        if let Some(ended) = pool.nursery.on_event(event) {
            pool.lease_ended(ended);
        }
        Ok(())
    }

    async fn post_stop(&self, _: ActorRef<PoolMsg>, pool: &mut Pool) -> Result<(), ActorProcessingErr> {
        pool.nursery.stop_all(Duration::from_secs(2)).await;
        Ok(())
    }
}

impl Pool {
    fn begin(myself: ActorRef<PoolMsg>, args: PoolArgs) -> Pool {
        let PoolArgs { shared, task_type, place } = args;
        let mut pool = Pool {
            shared,
            task_type,
            myself,
            leases: place.child("lease"),
            place,
            nursery: Nursery::new(),
            rows: HashMap::new(),
            orphans: HashMap::new(),
            claiming: None,
            hungry: true,
            claim_due: false,
            recovery: None,
            again: None,
            unwritten: HashMap::new(),
        };
        pool.recover();
        pool.count();
        pool
    }

    pub(super) fn look(&mut self) {
        self.hungry = true;
        self.claim();
    }

    fn seats(&mut self) {
        self.count();
        if self.hungry {
            self.claim();
        }
    }

    fn room(&self) -> Room {
        Room {
            slots: self.task_type.slots(),
            seats: self.shared.health.seats(&self.task_type.name),
            leases: u32::try_from(self.rows.len()).unwrap_or(u32::MAX),
            suspects: u32::try_from(self.rows.values().filter(|row| row.suspect).count()).unwrap_or(u32::MAX),
            suspect_on_node: false,
        }
    }

    /// Claims what there is room for, unless a claim is under way, or nothing was said to be due.
    fn claim(&mut self) {
        let room = self.room();
        let most = most(&room);
        if self.claiming.is_some() || self.recovery.is_some() || most == 0 || self.shared.health.is_draining() {
            return;
        }
        let pass = self.shared.suspects.try_pass();
        let suspects = suspects(&Room { suspect_on_node: pass.is_none(), ..room });
        let request = ClaimNext {
            task_type: self.task_type.name.clone(),
            most,
            suspects,
            limits: Limits {
                max_running: self.task_type.max_running,
                starts_per_minute: self.task_type.starts_per_minute,
            },
            plugin_sha256: self.task_type.plugin_sha256.clone(),
            token: self.shared.world.dice.token(),
        };
        self.hungry = false;
        self.claiming = Some(Claiming { request, pass, tries: 0 });
        self.count();
        self.send_claim();
    }

    fn send_claim(&self) {
        let Some(claiming) = &self.claiming else {
            return;
        };
        // not by the pool's address: that is set only after its start, and a fast answer would be lost
        let (myself, token) = (self.myself.clone(), claiming.request.token);
        self.shared.queue.claims.ask(claiming.request.clone(), move |answer| {
            // a pool that died is followed by one that takes back what this took
            let _ = myself.cast(PoolMsg::Claims { token, answer });
        });
    }

    async fn claims(&mut self, token: Uuid, answer: Result<NextAnswer, LedgerError>) {
        if self.claiming.as_ref().is_none_or(|claiming| claiming.request.token != token) {
            return; // a predecessor's: nothing of it was taken back yet, and all of it will be
        }
        match answer {
            Err(error) => self.claim_failed(&error),
            Ok(answer) => self.claimed(answer).await,
        }
    }

    /// The same claim again, with its token: if it was committed, the same answer comes.
    fn claim_failed(&mut self, error: &LedgerError) {
        tracing::warn!(actor = self.place.path(), %error, "a claim was not answered; trying again");
        self.place.state("the store is away");
        let tries = self.claiming.as_mut().map_or(1, |claiming| {
            claiming.tries += 1;
            claiming.tries
        });
        let policy = RetryPolicy { base: Duration::from_millis(100), cap: Duration::from_secs(5) };
        let after = pause(policy, tries, self.shared.world.dice.unit());
        self.again = Some(Tick::after(&self.myself, after, || PoolMsg::TryClaimAgain));
    }

    async fn claimed(&mut self, answer: NextAnswer) {
        let Some(Claiming { request, mut pass, tries }) = self.claiming.take() else {
            return;
        };
        let found = answer.claimed.len();
        self.hungry |= found >= request.most as usize;
        if tries > 0 {
            self.place.state("serving");
        }
        // an answer has one suspect at most: there may be more
        self.hungry |= answer.claimed.iter().any(|claimed| claimed.suspect > Suspicion::None);
        for claimed in answer.claimed {
            let pass = if claimed.suspect == Suspicion::Node { pass.take() } else { None };
            self.start_lease(claimed, pass).await;
        }
        drop(pass);
        self.tell_consumer(Looked { found, limited: answer.limited, next_due: answer.next_due });
        self.count();
        if self.hungry {
            self.claim();
        }
    }

    fn tell_consumer(&self, looked: Looked) {
        if let Some(consumer) = self.shared.consumers.get(&self.task_type.name) {
            // one that is down looks anew when it starts
            let _ = consumer.cast(ConsumerMsg::Looked(looked));
        }
    }

    pub(super) async fn start_lease(&mut self, claimed: Claimed, pass: Option<SuspectPass>) {
        let key = claimed.key;
        if self.nursery.contains(&key) {
            return; // a claim that was answered twice
        }
        if self.shared.health.is_draining() {
            self.release_not_begun(key);
            return;
        }
        let (suspect, waited) = (claimed.suspect > Suspicion::None, claimed.waited);
        let (over, begun) = (CancellationToken::new(), Begun::default());
        let place = self.leases.child(&key.to_string());
        let args = LeaseArgs {
            shared: Arc::clone(&self.shared),
            task_type: Arc::clone(&self.task_type),
            claimed,
            over: over.clone(),
            begun: begun.clone(),
            place: place.clone(),
        };
        match self.nursery.spawn(self.myself.get_cell(), key, place, LeaseActor, args).await {
            Ok(lease) => {
                let holding = Holding { task_type: self.task_type.name.clone(), lease, over, begun };
                self.shared.saw(Fact::Claimed { task_type: self.task_type.name.clone(), key, waited });
                let count = self.shared.holdings.insert(key, holding);
                self.shared.saw(Fact::Leases { count });
                self.rows.insert(key, LeaseRow { suspect, _pass: pass });
            }
            Err(error) => {
                tracing::error!(actor = self.place.path(), %error, "a lease's actor did not start");
                self.release_not_begun(key);
            }
        }
    }

    fn lease_ended(&mut self, ended: Ended<LeaseKey>) {
        if ended.exit == Exit::Done {
            self.forget(ended.key);
            return;
        }
        let Ended { key, exit } = ended;
        tracing::error!(task = %key.task, epoch = key.epoch.0, actor = self.place.path(), ?exit, "a lease's actor died; its run is stopped and its task released");
        if let Some(group) = self.shared.groups.get(&self.task_type.host_group) {
            // a group that is down has dropped its line
            let _ = group.cast(GroupMsg::LeaveLine(key));
        }
        let over = self.shared.holdings.over(key);
        let wait = async move {
            if let Some(over) = over {
                over.cancelled().await;
            }
        };
        let wait = OwnedTask::spawn(&self.myself, wait, move |_| PoolMsg::OrphanOver(key));
        self.orphans.insert(key, wait);
    }

    fn orphan_over(&mut self, key: LeaseKey) {
        self.orphans.remove(&key);
        let detail = "the actor of its lease died".to_owned();
        let began = self.shared.holdings.begun(key);
        if let Some(finish) = self.finish_for(key, Ending::ActorDied { began, detail }) {
            self.settle_orphan(Box::new(finish));
        }
    }

    fn finish_for(&self, key: LeaseKey, ending: Ending) -> Option<Finish> {
        let circumstances = Circumstances {
            attempt: 0,
            max_attempts: 1,
            retry: self.shared.settings.retry,
            dice: self.shared.world.dice.unit(),
        };
        let verdict = verdict(ending, &circumstances)?;
        let token = self.shared.world.dice.token();
        Some(Finish { key, verdict, from: 0, events: Vec::new(), stage: None, progress: None, token })
    }

    /// Given back before it began: claimed while the node began to drain.
    fn release_not_begun(&mut self, key: LeaseKey) {
        let ending = Ending::ActorDied { began: false, detail: "it never began".to_owned() };
        if let Some(finish) = self.finish_for(key, ending) {
            self.rows.insert(key, LeaseRow::default());
            self.settle_orphan(Box::new(finish));
        }
    }

    fn settle_orphan(&mut self, finish: Box<Finish>) {
        let myself = self.myself.clone();
        self.shared.queue.finishes.ask((*finish).clone(), move |answer| {
            // a pool that died is followed by one that takes back what no actor holds
            let _ = myself.cast(PoolMsg::OrphanSettled { finish, answer });
        });
    }

    fn orphan_settled(&mut self, finish: Box<Finish>, answer: Result<FinishAnswer, LedgerError>) {
        match answer {
            Ok(FinishAnswer::Done { status } | FinishAnswer::Already { status }) => {
                let (task_type, key) = (self.task_type.name.clone(), finish.key);
                let (outcome, ran) = (recorded(&finish.verdict, status), Duration::ZERO);
                self.shared.saw(Fact::AttemptEnded { task_type, key, outcome, status, ran });
                self.forget(finish.key);
            }
            Ok(FinishAnswer::Fenced) => self.forget(finish.key),
            Ok(FinishAnswer::Expired) | Err(_) => {
                let after = self.shared.settings.owner.lease / 10;
                let key = finish.key;
                let again = Tick::after(&self.myself, after, || PoolMsg::SettleOrphanAgain(finish));
                self.unwritten.insert(key, again);
            }
        }
    }

    /// The slot is free again.
    fn forget(&mut self, key: LeaseKey) {
        self.rows.remove(&key);
        self.unwritten.remove(&key);
        let count = self.shared.holdings.remove(key);
        self.shared.saw(Fact::Leases { count });
        self.count();
        self.claim_soon();
    }

    /// Leases that share a commit end together. A message to itself is handled after their ends, which
    /// come first: so one claim is made for all their slots, not one for the first and another for the rest.
    fn claim_soon(&mut self) {
        if self.hungry && !self.claim_due {
            self.claim_due = self.myself.cast(PoolMsg::Claim).is_ok();
        }
    }

    fn claim_asked(&mut self) {
        self.claim_due = false;
        if self.hungry {
            self.claim();
        }
    }

    fn drain(&mut self) {
        self.place.state("draining");
        self.shared.health.of_type(&self.task_type.name, |health| health.pool_serves = false);
        self.tell_all(|| LeaseMsg::Drain);
    }

    fn tell_all(&self, message: impl Fn() -> LeaseMsg) {
        for key in self.nursery.keys() {
            if let Some(lease) = self.nursery.get::<LeaseMsg>(key) {
                // one that has just ended needs no order
                let _ = lease.cast(message());
            }
        }
    }

    /// Tells metrics, readiness and a drain how full it is, and whether it waits for an answer.
    pub(super) fn count(&self) {
        let room = self.room();
        let (busy, asks) = (room.leases, self.claiming.is_some() || self.recovery.is_some());
        self.shared.health.of_type(&self.task_type.name, |health| (health.busy, health.asks) = (busy, asks));
        let free = room.slots.saturating_sub(busy);
        self.shared.saw(Fact::Slots { task_type: self.task_type.name.clone(), busy, free });
    }
}
