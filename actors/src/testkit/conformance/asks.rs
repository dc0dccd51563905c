//! What callers ask: create, cancel, replay, discard.

use std::collections::BTreeSet;
use std::time::Duration;

use super::Scene;
use crate::domain::{Json, NewTask, Outcome, Status, TaskId};
use crate::ports::ledger::{CancelAnswer, Created, Record, RenewAnswer, Replay, ReplayAnswer};
use crate::testkit::tasks::{self, new_task};

pub async fn a_queued_task_is_cancelled_at_once(s: Scene) {
    let id = s.hello().await;
    let answer = s.store.cancel(id, Some("why\0not".to_owned())).await.expect("cancel");
    assert!(matches!(answer, CancelAnswer::Accepted(task) if task.status == Status::Cancelled
        && task.cancel_reason.as_deref() == Some("why\u{fffd}not")));
    assert!(matches!(s.store.cancel(id, None).await.expect("cancel"), CancelAnswer::Already(_)));
    assert_eq!(s.store.cancel(tasks::task_id(), None).await.expect("cancel"), CancelAnswer::Unknown);
    let key = s.running().await;
    let answer = s.store.cancel(key.task, None).await.expect("cancel");
    assert!(matches!(answer, CancelAnswer::Accepted(task) if task.status == Status::Running));
    assert!(matches!(s.store.cancel(key.task, None).await.expect("cancel"), CancelAnswer::Already(_)));
    let renewed = s.store.renew(&s.owner(1), vec![key]).await.expect("renew");
    assert_eq!(renewed, [RenewAnswer::Held { cancel_requested: true }]);
}

pub async fn a_cancel_of_what_ended_is_told(s: Scene) {
    for verdict in [tasks::complete(), tasks::fail()] {
        let key = s.running().await;
        let status = s.end(key, verdict).await;
        let answer = s.store.cancel(key.task, None).await.expect("cancel");
        assert!(
            matches!(answer, CancelAnswer::Finished(task) if task.status == status && task.cancel_requested_at.is_none())
        );
    }
}

async fn dead_letter_with_checkpoint(s: &Scene) -> TaskId {
    let key = s.running().await;
    s.record(1, Record { checkpoint: Some(Json::trusted("7")), ..tasks::record(key, 0, vec![tasks::output("[1]")]) })
        .await;
    s.end(key, tasks::dead_letter()).await;
    key.task
}

pub async fn replay_starts_a_new_life(s: Scene) {
    for fresh in [false, true] {
        let id = dead_letter_with_checkpoint(&s).await;
        let payload = fresh.then(|| Json::trusted(r#"{"n":2}"#));
        let answer =
            s.store.replay(Replay { task: id, payload: payload.clone(), fresh, waiting: false }).await.expect("replay");
        let ReplayAnswer::Queued(task) = answer else { panic!("not queued: {answer:?}") };
        assert_eq!((task.status, task.attempt, task.dead_lettered), (Status::Queued, 0, false));
        assert!(task.error.is_none() && task.finished_at.is_none() && task.cancel_requested_at.is_none());
        let claimed = s.claimed(1, id).await;
        assert_eq!((claimed.key.epoch.0, claimed.attempt), (2, 1));
        assert_eq!(claimed.checkpoint, (!fresh).then(|| Json::trusted("7")));
        assert_eq!(claimed.payload, payload.unwrap_or(new_task("hello").payload));
        assert_eq!(s.end(claimed.key, tasks::complete()).await, Status::Succeeded);
    }
}

pub async fn only_failed_tasks_are_replayed(s: Scene) {
    let queued = s.hello().await;
    let running = s.running().await;
    let done = s.running().await;
    s.end(done, tasks::complete()).await;
    for id in [queued, running.task, done.task] {
        let answer =
            s.store.replay(Replay { task: id, payload: None, fresh: true, waiting: false }).await.expect("replay");
        assert!(matches!(answer, ReplayAnswer::NotFailed(_)));
    }
    let unknown = Replay { task: tasks::task_id(), payload: None, fresh: false, waiting: false };
    assert_eq!(s.store.replay(unknown).await.expect("replay"), ReplayAnswer::Unknown);
}

pub async fn discarded_dead_letters_stay_failed(s: Scene) {
    let id = dead_letter_with_checkpoint(&s).await;
    let failed = s.running().await;
    s.end(failed, tasks::fail()).await;
    let gone = s.store.discard(vec![id, failed.task, tasks::task_id()]).await.expect("discard");
    assert_eq!(gone, [id]);
    assert_eq!(s.store.discard(vec![id]).await.expect("discard"), []);
    let late = Replay { task: id, payload: None, fresh: false, waiting: true };
    let answer = s.store.replay(late).await.expect("replay");
    assert!(matches!(answer, ReplayAnswer::NotFailed(_)), "a discard that came first wins: {answer:?}");
    let task = s.task(id).await;
    assert_eq!((task.status, task.dead_lettered), (Status::Failed, false));
}

fn keyed(owner: &str, key: &str, fingerprint: &str) -> NewTask {
    NewTask {
        owner: owner.to_owned(),
        idempotency_key: Some(key.to_owned()),
        fingerprint: fingerprint.to_owned(),
        ..new_task("hello")
    }
}

pub async fn many_parallel_creates_with_one_key_are_one_task(s: Scene) {
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let store = s.store.clone();
        callers.spawn(async move { store.create(vec![keyed("alice", "k", "f")]).await.expect("create").remove(0) });
    }
    let answers = callers.join_all().await;
    let created = answers.iter().filter(|a| matches!(a, Created::Created { .. })).count();
    let ids: BTreeSet<TaskId> = answers
        .iter()
        .map(|a| match a {
            Created::Created { id } | Created::Same { id, .. } => *id,
            Created::Conflict { .. } => panic!("no conflict here"),
        })
        .collect();
    assert_eq!((created, ids.len()), (1, 1));
    let page = crate::ports::records::Page { before: None, limit: 100 };
    assert_eq!(s.store.tasks(&Default::default(), page).await.expect("tasks").len(), 1);
}

pub async fn keys_belong_to_their_owner(s: Scene) {
    let batch = vec![
        keyed("alice", "k", "f"),
        keyed("alice", "k", "f"),
        keyed("alice", "k", "other"),
        keyed("bob", "k", "f"),
        keyed("alice", "k2", "f"),
    ];
    let first = batch[0].id;
    let answers = s.store.create(batch).await.expect("create");
    assert_eq!(answers[0], Created::Created { id: first });
    assert_eq!(answers[1], Created::Same { id: first, status: Status::Queued });
    assert_eq!(answers[2], Created::Conflict { id: first });
    assert!(matches!((&answers[3], &answers[4]), (Created::Created { .. }, Created::Created { .. })));
    let key = s.claim(1, first).await;
    s.end(key, tasks::retry(Outcome::Failed, Duration::from_secs(9))).await;
    let key = s.store.create(vec![keyed("alice", "k", "f")]).await.expect("create");
    assert_eq!(key, [Created::Same { id: first, status: Status::Queued }]);
}
