//! Who owns a task when its owner was frozen, killed or deaf: the reaper, other owners, the next incarnation.

use std::time::Duration;

use tokio::time::Instant;
use uuid::Uuid;
use windlass_actors::domain::{
    Incarnation, Json, LeaseKey, NodeId, Outcome, Owner, Status, Suspicion, TaskId, Verdict,
};
use windlass_actors::ports::SharedStore;
use windlass_actors::ports::ledger::{
    Backoff, ClaimNext, Claimed, Finish, FinishAnswer, Limits, Reap, RenewAnswer, TakeCause,
};
use windlass_actors::ports::observer::{Fact, Fenced};
use windlass_actors::testkit::Toxic;

use super::support::{PATIENCE, Rig, scripted, type_name};

const LONG: &str = r#"{"do":[{"stage":"work"},{"sleep_ms":60000}]}"#;
const STUBBORN: &str = r#"{"do":[{"stubborn_ms":60000}]}"#;
const GATED: &str = r#"{"do":[{"gate":true}]}"#;
const GATED_ONCE: &str = r#"{"do":[{"checkpoint":{"at":7}},{"gate":true}]}"#;

fn began(id: TaskId) -> impl Fn(&Fact) -> bool {
    move |fact| matches!(fact, Fact::RunBegan { key, .. } if key.task == id)
}

fn taken_back(fact: &Fact) -> bool {
    matches!(fact, Fact::TakenBack { .. })
}

fn reap_now() -> Reap {
    let backoff = Backoff { base: Duration::from_millis(1), cap: Duration::from_millis(1), dice: 0.0 };
    Reap { grace: Duration::ZERO, most: 100, backoff }
}

/// An owner on another node.
fn other(lease: Duration) -> Owner {
    Owner { node: NodeId("n2".to_owned()), incarnation: Incarnation(Uuid::now_v7()), lease }
}

async fn claim_one(store: &SharedStore, owner: &Owner) -> Claimed {
    let (token, limits) = (Uuid::now_v7(), Limits::default());
    let claim =
        ClaimNext { task_type: type_name("t"), most: 1, suspects: Suspicion::None, limits, plugin_sha256: None, token };
    let mut answers = store.claim_next(owner, vec![claim]).await.unwrap();
    answers.remove(0).claimed.remove(0)
}

async fn complete(store: &SharedStore, owner: &Owner, key: LeaseKey) -> FinishAnswer {
    let verdict = Verdict::Complete { result: Json::trusted(r#""other""#) };
    let token = Uuid::now_v7();
    let finish = Finish { key, verdict, from: 0, events: Vec::new(), stage: None, progress: None, token };
    store.finish(owner, vec![finish]).await.unwrap().remove(0)
}

/// Takes as soon as the leases are over.
async fn take(store: &SharedStore, count: usize) {
    let mut taken = 0;
    let all = async {
        while taken < count {
            taken += store.reap(reap_now()).await.unwrap().len();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, all).await.expect("the leases are taken");
}

impl Rig {
    /// A node whose leases are short and whose own reaper never trusts itself.
    async fn frozen_later(threads: u32) -> Rig {
        let mut rig = Rig::new(vec![scripted("t", threads)]).await;
        rig.settings.owner.lease = Duration::from_secs(1);
        rig.settings.reap = Duration::from_secs(3600);
        rig.begin().await;
        rig
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lease_taken_then_owner_returns() {
    let rig = Rig::frozen_later(3).await;
    for call in ["renew", "record", "finish"] {
        rig.toxic.always(call, Toxic::HangBefore);
    }
    let [running, speaking, ending] =
        [rig.submit("t", STUBBORN).await, rig.submit("t", LONG).await, rig.submit("t", GATED).await];
    for id in [running, speaking, ending] {
        rig.facts.until("the run begins", 1, began(id)).await;
    }
    rig.runner.open_gate(true);
    for call in ["renew", "record", "finish"] {
        rig.hit(call, 1).await;
    }
    let (second, owner) = (rig.second().await, other(Duration::from_secs(30)));
    take(&second, 3).await;
    let mut claims = Vec::new();
    for _ in 0..3 {
        claims.push(claim_one(&second, &owner).await.key);
    }
    // one has ended by the time the owner returns, two run on
    let done = FinishAnswer::Done { status: Status::Succeeded };
    assert_eq!(complete(&second, &owner, claims[0]).await, done);
    rig.toxic.clear();
    let lost = |fact: &Fact| matches!(fact, Fact::AttemptLost { .. });
    rig.facts.until("each attempt is given up", 3, lost).await;
    for key in &claims[1..] {
        assert_eq!(complete(&second, &owner, *key).await, done);
    }
    let refused = |write: Fenced, id: TaskId| {
        rig.facts.count(|fact| matches!(fact, Fact::FenceRejected { write: w, key } if *w == write && key.task == id))
    };
    assert!(refused(Fenced::Renew, running) >= 1);
    // whichever of the two was answered first: the attempt may have been given up by the second answer
    assert!(refused(Fenced::Record, speaking) + refused(Fenced::Renew, speaking) >= 1);
    assert_eq!(refused(Fenced::Finish, ending), 1);
    for id in [running, speaking, ending] {
        let task = rig.task(id).await;
        assert_eq!((task.status, task.attempts.len()), (Status::Succeeded, 2), "exactly one end");
        assert_eq!(task.result.unwrap().as_str(), r#""other""#, "the new owner's result stands");
        assert_eq!(task.attempts[0].outcome, Some(Outcome::Lost));
        assert_eq!(task.stage, None, "nothing of the old owner's was written");
    }
    rig.unharmed().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reap_meets_renew() {
    let mut rig = Rig::new(vec![scripted("t", 1)]).await;
    rig.settings.owner.lease = Duration::from_secs(1);
    rig.begin().await;
    // the reaper has looked, trusts itself, and is held before its write
    rig.toxic.always("reap", Toxic::HangBefore);
    let id = rig.submit("t", GATED).await;
    rig.running(id).await;
    rig.toxic.always("renew", Toxic::ErrorBefore);
    rig.lease_over(id, rig.settings.reap_grace).await;
    rig.hit("reap", 1).await;
    rig.toxic.heal("renew");
    rig.called_again("renew", 2).await;
    rig.toxic.clear();
    rig.called_again("reap", 2).await;
    rig.runner.open_gate(true);
    let task = rig.ended(id).await;
    assert_eq!((task.status, task.attempts.len()), (Status::Succeeded, 1));
    assert_eq!(rig.facts.count(taken_back), 0);
    rig.unharmed().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reap_and_a_renewal_at_the_same_moment_have_one_winner() {
    let rig = Rig::new(vec![scripted("t", 1)]).await;
    let second = rig.second().await;
    let mut wins = [0, 0];
    for n in 0..60 {
        rig.submit("t", "{}").await;
        let (short, long) = (other(Duration::ZERO), Duration::from_secs(60));
        let key = claim_one(&rig.store, &short).await.key;
        let owner = Owner { lease: long, ..short };
        let renew = rig.store.renew(&owner, vec![key]);
        let reap = async {
            if n % 2 == 0 {
                tokio::task::yield_now().await;
            }
            second.reap(reap_now()).await
        };
        let (renewed, taken) = if n % 3 == 0 {
            let (taken, renewed) = tokio::join!(reap, renew);
            (renewed.unwrap().remove(0), taken.unwrap())
        } else {
            let (renewed, taken) = tokio::join!(renew, reap);
            (renewed.unwrap().remove(0), taken.unwrap())
        };
        let held = renewed == RenewAnswer::Held { cancel_requested: false };
        assert_ne!(held, taken.iter().any(|taken| taken.key == key), "{renewed:?} {taken:?}");
        wins[usize::from(held)] += 1;
        let left = complete(&rig.store, &owner, key).await;
        assert_eq!(left == FinishAnswer::Done { status: Status::Succeeded }, held);
        if !held {
            let again = claim_one(&rig.store, &owner).await;
            complete(&rig.store, &owner, again.key).await;
        }
    }
    assert_eq!(wins[0] + wins[1], 60);
    rig.audit().await;
}

#[tokio::test(start_paused = true)]
async fn a_reaper_takes_nothing_for_one_lease_and_then_what_has_no_owner() {
    let mut rig = Rig::in_memory(vec![scripted("t", 1)]);
    let id = rig.submit("t", "{}").await;
    claim_one(&rig.store, &other(Duration::from_millis(100))).await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    let start = Instant::now();
    rig.begin().await;
    rig.facts.until("it is taken", 1, |fact| matches!(fact, Fact::TakenBack { cause: TakeCause::Lease, .. })).await;
    let settings = &rig.settings;
    assert!(start.elapsed() >= settings.owner.lease, "trusted itself after {:?}", start.elapsed());
    assert!(start.elapsed() <= settings.owner.lease + 2 * settings.reap);
    let task = rig.ended(id).await;
    assert_eq!((task.status, task.attempts[0].outcome), (Status::Succeeded, Some(Outcome::Lost)));
    rig.unharmed_by_others().await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_look_makes_a_reaper_wait_for_a_whole_lease_again() {
    let mut rig = Rig::in_memory(vec![scripted("t", 1)]);
    rig.begin().await;
    tokio::time::sleep(rig.settings.owner.lease * 2).await;
    rig.submit_elsewhere().await;
    rig.toxic.next("probe", Toxic::ErrorBefore);
    rig.hit("probe", 1).await;
    let failed = Instant::now();
    rig.facts.until("it is taken", 1, taken_back).await;
    assert!(failed.elapsed() >= rig.settings.owner.lease, "after {:?}", failed.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_look_that_took_too_long_makes_a_reaper_wait_for_a_whole_lease_again() {
    // all calls hang, as they do in a process that is stopped for a while: live owners renew before they are judged
    let mut rig = Rig::in_memory(vec![scripted("t", 1)]);
    rig.begin().await;
    let id = rig.submit("t", GATED).await;
    rig.running(id).await;
    tokio::time::sleep(rig.settings.owner.lease * 2).await;
    rig.toxic.always("probe", Toxic::HangBefore);
    rig.toxic.always("renew", Toxic::ErrorBefore);
    rig.lease_over(id, rig.settings.reap_grace * 2).await;
    rig.toxic.heal("probe");
    rig.toxic.release();
    rig.called_again("probe", 5).await;
    assert_eq!(rig.facts.count(taken_back), 0, "it had not seen the store writable meanwhile");
    rig.toxic.clear();
    rig.runner.open_gate(true);
    let task = rig.ended(id).await;
    assert_eq!((task.status, task.attempts.len()), (Status::Succeeded, 1));
    rig.unharmed().await;
}

impl Rig {
    /// A task whose owner elsewhere is gone, its lease over.
    async fn submit_elsewhere(&self) -> TaskId {
        self.store.set_paused(&type_name("t"), true).await.unwrap();
        let id = self.submit("t", "{}").await;
        self.store.set_paused(&type_name("t"), false).await.unwrap();
        if self.task(id).await.status == Status::Queued {
            claim_one(&self.store, &other(Duration::ZERO)).await;
        }
        id
    }

    /// As `unharmed`, where an owner that was no node of ours started attempts as well.
    async fn unharmed_by_others(&self) {
        self.quiet().await;
        assert_eq!(self.node().shared().roster.restarts_total(), 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_whose_signal_is_lost_reaches_the_run_by_the_next_renewal() {
    let rig = Rig::start(vec![scripted("t", 1)]).await;
    let id = rig.submit("t", LONG).await;
    rig.facts.until("the run begins", 1, began(id)).await;
    let second = rig.second().await;
    let asked = Instant::now();
    second.cancel(id, None).await.unwrap();
    let task = rig.ended(id).await;
    assert_eq!((task.status, task.attempts.len()), (Status::Cancelled, 1));
    assert!(asked.elapsed() < rig.settings.renew + Duration::from_secs(3), "it took {:?}", asked.elapsed());
    rig.unharmed().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn node_killed_then_the_next_incarnation_takes_everything_back_at_once() {
    let mut rig = Rig::new(vec![scripted("t", 4)]).await;
    // nobody may wait for a lease here
    rig.settings.owner.lease = Duration::from_secs(3600);
    rig.begin().await;
    let mut ids = Vec::new();
    for _ in 0..6 {
        ids.push(rig.submit("t", GATED_ONCE).await);
    }
    let held = |rig: &Rig| rig.runner.alive().len() == 4;
    rig.patient("four run", || held(&rig)).await;
    rig.patient("their checkpoints are acknowledged", || rig.toxic.calls("record") >= 1).await;
    drop(rig.node.take());
    rig.runner.open_gate(true);
    let taken = rig.begin_anew().await;
    assert_eq!(taken.len(), 4);
    assert!(taken.iter().all(|taken| taken.status == Status::Queued));
    for id in ids {
        let task = rig.ended(id).await;
        assert_eq!((task.status, task.attempt), (Status::Succeeded, 1), "the loss is not charged");
        let lost = taken.iter().any(|taken| taken.key.task == id);
        assert_eq!(task.attempts.len(), 1 + usize::from(lost));
    }
    rig.unharmed().await;
}
