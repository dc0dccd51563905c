//! I02: a write with an old epoch, after its lease was taken, at an end, or by another owner changes nothing.

use std::time::Duration;

use super::Scene;
use crate::domain::{Json, LeaseKey, Outcome, ReleaseReason, Status, Verdict};
use crate::ports::ledger::{FinishAnswer, Record, RecordAnswer, RenewAnswer};
use crate::testkit::tasks;

fn verdicts() -> Vec<Verdict> {
    vec![
        tasks::complete(),
        tasks::fail(),
        Verdict::Cancel,
        tasks::retry(Outcome::Failed, Duration::ZERO),
        tasks::dead_letter(),
        tasks::release(ReleaseReason::Drain, Duration::ZERO),
        tasks::release(ReleaseReason::ActorDied, Duration::ZERO),
    ]
}

/// All writes of an executor are refused, and not a column or event differs after them.
async fn assert_fenced(s: &Scene, owner: u32, key: LeaseKey) {
    let before = (s.task(key.task).await, s.events(key.task).await, s.store.facts(None, 100).await.expect("facts"));
    let event = tasks::record(key, 0, vec![tasks::log("late")]);
    let checkpoint = Record { checkpoint: Some(Json::trusted("[1]")), ..tasks::record(key, 0, vec![]) };
    let progress = Record { progress: Some(0.5), stage: Some("late".to_owned()), ..tasks::record(key, 0, vec![]) };
    for record in [event, checkpoint, progress] {
        assert_eq!(s.record(owner, record).await, RecordAnswer::Fenced);
    }
    for verdict in verdicts() {
        assert_eq!(s.finish(owner, key, verdict).await, FinishAnswer::Fenced);
    }
    let renewed = s.store.renew(&s.owner(owner), vec![key]).await.expect("renew");
    assert_eq!(renewed, [RenewAnswer::Lost]);
    let after = (s.task(key.task).await, s.events(key.task).await, s.store.facts(None, 100).await.expect("facts"));
    assert_eq!(before.0, after.0);
    assert_eq!(before.1, after.1);
    assert_eq!(before.2.len(), after.2.len());
}

pub async fn old_epochs_write_nothing(s: Scene) {
    let old = s.running().await;
    s.end(old, tasks::retry(Outcome::Failed, Duration::ZERO)).await;
    s.claim(1, old.task).await;
    assert_fenced(&s, 1, old).await;
}

pub async fn a_taken_lease_writes_nothing(s: Scene) {
    let old = s.running().await;
    assert_eq!(s.lose().await.len(), 1);
    assert_fenced(&s, 1, old).await;
    s.claim(2, old.task).await;
    assert_fenced(&s, 1, old).await;
    assert_eq!(s.status(old.task).await, Status::Running);
}

pub async fn a_finished_task_takes_no_writes(s: Scene) {
    for verdict in [tasks::complete(), tasks::fail(), Verdict::Cancel, tasks::dead_letter()] {
        let key = s.running().await;
        s.end(key, verdict).await;
        assert_fenced(&s, 1, key).await;
    }
}

pub async fn other_owners_write_nothing(s: Scene) {
    let key = s.running().await;
    assert_fenced(&s, 2, key).await;
    let unknown = LeaseKey { task: tasks::task_id(), ..key };
    assert_eq!(s.finish(1, unknown, tasks::complete()).await, FinishAnswer::Fenced);
    assert_eq!(s.record(1, tasks::record(unknown, 0, vec![tasks::log("x")])).await, RecordAnswer::Fenced);
    let renewed = s.store.renew(&s.owner(1), vec![unknown, key]).await.expect("renew");
    assert_eq!(renewed, [RenewAnswer::Lost, RenewAnswer::Held { cancel_requested: false }]);
}

pub async fn a_lease_that_ran_out_can_be_revived(s: Scene) {
    let key = s.running().await;
    s.advance(31).await;
    let record = tasks::record(key, 0, vec![tasks::log("x")]);
    assert_eq!(s.record(1, record.clone()).await, RecordAnswer::Expired);
    assert_eq!(s.finish(1, key, tasks::complete()).await, FinishAnswer::Expired);
    assert_eq!(s.finish(1, key, Verdict::Cancel).await, FinishAnswer::Expired);
    assert_eq!(s.events(key.task).await.len(), 2, "nothing was written");
    let renewed = s.store.renew(&s.owner(1), vec![key]).await.expect("renew");
    assert_eq!(renewed, [RenewAnswer::Held { cancel_requested: false }]);
    assert_eq!(s.record(1, record).await, RecordAnswer::Recorded { last_seq: 3 });
    assert_eq!(s.end(key, tasks::complete()).await, Status::Succeeded);
}

pub async fn a_release_needs_no_live_lease(s: Scene) {
    let key = s.running().await;
    s.advance(31).await;
    assert_eq!(s.end(key, tasks::release(ReleaseReason::Drain, Duration::ZERO)).await, Status::Queued);
    assert_eq!(s.task(key.task).await.attempt, 0);
}
