//! What is not due yet starts at its time: an idle node sets its timer when the task is queued.

use std::time::Duration;

use super::support::{Rig, scripted};
use windlass_actors::decide::retry::RetryPolicy;
use windlass_actors::domain::Status;

/// A node that looks by itself far too seldom to be in time.
async fn idle_node() -> Rig {
    let mut rig = Rig::new(vec![scripted("t", 1)]).await;
    rig.settings.idle_claim = Duration::from_secs(10);
    // half of it, by the rig's dice
    rig.settings.retry = RetryPolicy { base: Duration::from_millis(800), cap: Duration::from_millis(800) };
    rig.begin().await;
    rig.ready().await;
    // a run that is over: the node has looked since, and found nothing
    let first = rig.submit("t", "{}").await;
    rig.ended(first).await;
    rig.quiet().await;
    rig
}

/// More than a start takes, less than the node's own look.
const IN_TIME: Duration = Duration::from_secs(3);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_for_later_starts_at_its_time() {
    let rig = idle_node().await;
    let due = rig.store.probe().await.unwrap().plus(Duration::from_millis(700));
    let id = rig.submit_as("t", "{}", |task| task.not_before = Some(due)).await;
    let task = rig.ended(id).await;
    assert_eq!(task.status, Status::Succeeded);
    let started = task.started_at.unwrap();
    assert!(started >= due && started.since(due) < IN_TIME, "due {due:?}, started {started:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_starts_when_its_pause_is_over() {
    let rig = idle_node().await;
    let id = rig.submit("t", r#"{"do":[{"until_attempt":1,"then":{"fail":{"code":"X"}}}]}"#).await;
    let task = rig.ended(id).await;
    assert_eq!((task.status, task.attempts.len()), (Status::Succeeded, 2), "{task:#?}");
    let pause = task.attempts[1].started_at.since(task.attempts[0].ended_at.unwrap());
    assert!(pause >= Duration::from_millis(390) && pause < IN_TIME, "{pause:?}");
}
