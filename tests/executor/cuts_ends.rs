//! Ends that can't be written when they are decided: kept, renewed for, given up only with the node.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use uuid::Uuid;
use windlass_actors::domain::{Incarnation, NodeId, Outcome, Owner, Status, Suspicion, TaskId};
use windlass_actors::ports::ledger::{ClaimNext, Limits};
use windlass_actors::ports::observer::Fact;
use windlass_actors::supervise::KillMode;
use windlass_actors::testkit::Toxic;

use super::support::{Rig, scripted, type_name};

const GATED: &str = r#"{"do":[{"output":1},{"gate":true},{"output":2}]}"#;

fn not_stored(fact: &Fact) -> bool {
    matches!(fact, Fact::TerminalWriteFailed { .. })
}

fn began(id: TaskId) -> impl Fn(&Fact) -> bool {
    move |fact| matches!(fact, Fact::RunBegan { key, .. } if key.task == id)
}

fn hurry() -> CancellationToken {
    let hurry = CancellationToken::new();
    hurry.cancel();
    hurry
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kept_end_survives_an_outage_longer_than_its_lease() {
    let mut rig = Rig::new(vec![scripted("t", 1)]).await;
    rig.settings.owner.lease = Duration::from_secs(1);
    // only the lease's own renewal, before its write, can revive it; and nobody takes it
    rig.settings.renew = Duration::from_secs(3600);
    rig.settings.reap = Duration::from_secs(3600);
    rig.begin().await;
    rig.toxic.always("finish", Toxic::ErrorBefore);
    let id = rig.submit("t", r#"{"do":[{"output":1}]}"#).await;
    rig.facts.until("its end is not stored", 1, not_stored).await;
    rig.lease_over(id, Duration::from_millis(200)).await;
    let renewals = rig.toxic.calls("renew");
    rig.toxic.clear();
    let task = rig.ended(id).await;
    assert_eq!((task.status, task.attempts.len()), (Status::Succeeded, 1));
    assert!(rig.toxic.calls("renew") > renewals, "it was revived first");
    rig.unharmed().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_is_away_for_longer_than_a_lease_costs_no_run() {
    let mut rig = Rig::new(vec![scripted("t", 3)]).await;
    rig.settings.owner.lease = Duration::from_secs(1);
    rig.begin().await;
    let ids = [rig.submit("t", GATED).await, rig.submit("t", GATED).await, rig.submit("t", GATED).await];
    for id in ids {
        rig.facts.until("the run begins", 1, began(id)).await;
    }
    rig.toxic.always("*", Toxic::ErrorBefore);
    rig.runner.open_gate(true);
    rig.lease_over(ids[0], Duration::from_millis(800)).await;
    assert!(!rig.node().readiness().ready);
    rig.toxic.clear();
    for id in ids {
        let task = rig.ended(id).await;
        assert_eq!((task.status, task.attempts.len()), (Status::Succeeded, 1));
        assert_eq!(task.partial.unwrap().as_str(), "[1,2]");
    }
    rig.ready().await;
    rig.unharmed().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_a_drain_gives_up_on_an_unwritable_end_and_the_next_incarnation_runs_it_again() {
    let mut rig = Rig::start(vec![scripted("t", 1)]).await;
    rig.toxic.always("finish", Toxic::ErrorBefore);
    let id = rig.submit("t", "{}").await;
    rig.facts.until("its end is not stored", 1, not_stored).await;
    let report = rig.node.take().unwrap().drain(hurry()).await;
    assert_eq!(report.left.iter().map(|key| key.task).collect::<Vec<_>>(), [id]);
    assert_eq!(rig.task(id).await.status, Status::Running, "nothing pretends that it ended");
    rig.toxic.clear();
    let taken = rig.begin_anew().await;
    assert_eq!(taken.iter().map(|taken| taken.key.task).collect::<Vec<_>>(), [id]);
    let task = rig.ended(id).await;
    assert_eq!((task.status, task.attempts.len(), task.attempt), (Status::Succeeded, 2, 1));
    assert_eq!(task.attempts[0].outcome, Some(Outcome::Lost));
    rig.unharmed().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_whose_answer_is_lost_while_a_drain_begins_is_given_back() {
    let mut rig = Rig::new(vec![scripted("t", 1)]).await;
    let id = rig.submit("t", "{}").await;
    for _ in 0..3 {
        rig.toxic.next("claim_next", Toxic::ErrorAfter);
    }
    rig.begin().await;
    rig.running(id).await;
    let report = rig.node.take().unwrap().drain(CancellationToken::new()).await;
    assert!(report.left.is_empty());
    let task = rig.task(id).await;
    assert_eq!((task.status, task.attempt), (Status::Queued, 0), "{task:#?}");
    assert_eq!((task.attempts[0].outcome, task.attempts[0].charged), (Some(Outcome::Released), Some(false)));
    assert_eq!(rig.runner.starts(|_| true), 0, "no attempt starts once a drain has begun");
    assert!(rig.begin_anew().await.is_empty());
    assert_eq!(rig.ended(id).await.status, Status::Succeeded);
    rig.unharmed().await;
}

#[tokio::test(start_paused = true)]
async fn a_drain_ends_although_the_store_hangs() {
    let mut rig = Rig::in_memory(vec![scripted("t", 1)]);
    rig.begin().await;
    let id = rig.submit("t", r#"{"do":[{"gate":true}]}"#).await;
    rig.facts.until("the run begins", 1, began(id)).await;
    rig.toxic.always("*", Toxic::HangBefore);
    let drain = rig.node.take().unwrap().drain(hurry());
    let report = tokio::time::timeout(Duration::from_secs(60), drain).await.expect("a drain ends");
    assert_eq!(report.left.len(), 1);
    assert_eq!(rig.runner.alive(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_whose_lease_actor_died_in_an_outage_is_released_after_it() {
    let rig = Rig::start(vec![scripted("t", 2)]).await;
    let id = rig.submit("t", r#"{"do":[{"gate":true}]}"#).await;
    rig.facts.until("the run begins", 1, began(id)).await;
    rig.toxic.always("finish", Toxic::ErrorBefore);
    rig.toxic.always("claim_next", Toxic::ErrorBefore);
    let path = rig.node().tree().into_iter().map(|row| row.path).find(|path| path.contains("/lease/")).unwrap();
    rig.node().kill(&path, KillMode::Kill).unwrap();
    rig.hit("finish", 1).await;
    // the pool's tries of a claim must not forget those of the release
    rig.hit("claim_next", 2).await;
    rig.toxic.clear();
    let task = rig.until(id, |task| task.epoch.0 >= 2).await;
    assert_eq!((task.attempts[0].outcome, task.attempts[0].charged), (Some(Outcome::Released), Some(false)));
    rig.runner.open_gate(true);
    assert_eq!(rig.ended(id).await.status, Status::Succeeded);
    rig.unharmed().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_checkpoint_said_while_another_write_is_under_way_is_kept_when_the_run_is_stopped() {
    let mut rig = Rig::start(vec![scripted("t", 1)]).await;
    rig.toxic.next("record", Toxic::HangBefore);
    let id = rig.submit("t", r#"{"do":[{"stage":"a"},{"checkpoint":{"at":7}},{"gate":true}]}"#).await;
    rig.hit("record", 1).await;
    let node = rig.node.take().unwrap();
    let stopped = async {
        rig.patient("the run is over", || rig.runner.alive().is_empty()).await;
        rig.toxic.release();
    };
    let (report, ()) = tokio::join!(node.drain(hurry()), stopped);
    assert!(report.left.is_empty());
    assert_eq!(rig.task(id).await.status, Status::Queued);
    let (incarnation, lease) = (Incarnation(Uuid::now_v7()), Duration::from_secs(30));
    let owner = Owner { node: NodeId("n2".to_owned()), incarnation, lease };
    let (token, limits) = (Uuid::now_v7(), Limits::default());
    let claim =
        ClaimNext { task_type: type_name("t"), most: 1, suspects: Suspicion::None, limits, plugin_sha256: None, token };
    let claimed = rig.store.claim_next(&owner, vec![claim]).await.unwrap().remove(0).claimed.remove(0);
    assert_eq!(claimed.checkpoint.unwrap().as_str(), r#"{"at":7}"#);
}
