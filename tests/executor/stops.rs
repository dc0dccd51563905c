//! Cancels, timeouts, deadlines, drains.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use windlass_actors::domain::{ErrorKind, Outcome, Status, TaskId, TaskType};
use windlass_actors::ports::ledger::CancelAnswer;
use windlass_actors::ports::observer::Fact;

use super::support::{Rig, scripted};

fn began(id: TaskId) -> impl Fn(&Fact) -> bool {
    move |fact| matches!(fact, Fact::RunBegan { key, .. } if key.task == id)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_task_that_is_cancelled_keeps_its_partial_output() {
    let rig = Rig::start(vec![scripted("t", 1)]).await;
    let id = rig.submit("t", r#"{"do":[{"output":"first"},{"sleep_ms":60000}]}"#).await;
    rig.until(id, |task| task.partial.is_some()).await;
    assert!(matches!(rig.store.cancel(id, Some("changed my mind".into())).await, Ok(CancelAnswer::Accepted(_))));
    let task = rig.ended(id).await;
    assert_eq!(task.status, Status::Cancelled);
    assert_eq!(task.partial.unwrap().as_str(), r#"["first"]"#);
    assert!(matches!(rig.store.cancel(id, None).await, Ok(CancelAnswer::Already(_))));
    rig.quiet().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancel_during_retry() {
    let rig = Rig::start(vec![scripted("t", 1)]).await;
    // while it waits for its next attempt
    let id = rig.submit("t", r#"{"do":[{"fail":{"retry_after_ms":60000}}]}"#).await;
    rig.until(id, |task| task.status == Status::Queued && task.epoch.0 == 1).await;
    assert!(matches!(rig.store.cancel(id, None).await, Ok(CancelAnswer::Accepted(_))));
    assert_eq!(rig.task(id).await.status, Status::Cancelled);
    // between the failure and the requeue: the cancel is committed while the run is about to fail
    let id = rig.submit("t", r#"{"do":[{"stubborn_ms":150},{"fail":{}}]}"#).await;
    rig.facts.until("the run begins", 1, began(id)).await;
    rig.store.cancel(id, None).await.unwrap();
    let task = rig.ended(id).await;
    assert_eq!((task.status, task.attempts.len()), (Status::Cancelled, 1));
    rig.quiet().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn success_committed_before_the_run_is_stopped_stays_success() {
    let rig = Rig::start(vec![scripted("t", 1)]).await;
    let id = rig.submit("t", r#"{"do":[{"stubborn_ms":100}]}"#).await;
    rig.facts.until("the run begins", 1, began(id)).await;
    rig.store.cancel(id, None).await.unwrap();
    assert_eq!(rig.ended(id).await.status, Status::Succeeded);
    rig.quiet().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancels_race_with_every_moment_of_a_task() {
    let rig = Rig::start(vec![scripted("t", 8)]).await;
    let mut ids = Vec::new();
    for n in 0..300_u64 {
        let id = rig.submit("t", r#"{"do":[{"sleep_ms":5},{"until_attempt":1,"then":{"fail":{}}}]}"#).await;
        if n % 7 == 0 {
            tokio::task::yield_now().await;
        }
        if n % 3 != 0 {
            let answer = rig.store.cancel(id, None).await.unwrap();
            assert!(!matches!(answer, CancelAnswer::Unknown));
        }
        ids.push(id);
    }
    for id in &ids {
        let task = rig.ended(*id).await;
        assert_ne!(task.status, Status::Failed);
        if task.status == Status::Succeeded {
            assert!(task.result.is_some());
        }
    }
    rig.quiet().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_past_its_timeout_is_stopped_and_retried_and_in_the_end_exhausted() {
    let rig = Rig::start(vec![scripted("t", 1)]).await;
    let id = rig
        .submit_as("t", r#"{"do":[{"stubborn_ms":60000}]}"#, |task| {
            (task.timeout, task.max_attempts) = (Some(Duration::from_millis(100)), 2);
        })
        .await;
    let task = rig.ended(id).await;
    assert_eq!(task.error.as_ref().unwrap().kind, Some(ErrorKind::Exhausted), "{task:#?}");
    assert!(task.attempts.iter().all(|a| a.outcome == Some(Outcome::TimedOut) && a.charged == Some(true)));
    assert_eq!(task.attempts.len(), 2);
    assert!(!rig.runner.overlapped(), "each run was dead before the next began");
    rig.quiet().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_waits_for_its_neighbours_and_then_takes_them_along_uncharged() {
    let rig = Rig::start(vec![scripted("t", 3)]).await;
    let short = rig.submit("t", r#"{"do":[{"sleep_ms":450}]}"#).await;
    let long = rig.submit("t", r#"{"do":[{"sleep_ms":1500}]}"#).await;
    let bad = rig
        .submit_as("t", r#"{"do":[{"stubborn_ms":60000}]}"#, |task| {
            (task.timeout, task.max_attempts) = (Some(Duration::from_millis(50)), 1);
        })
        .await;
    assert_eq!(rig.ended(bad).await.status, Status::Failed);
    let task = rig.ended(short).await;
    assert_eq!((task.status, task.attempts.len()), (Status::Succeeded, 1), "it had its grace");
    let task = rig.ended(long).await;
    assert_eq!((task.status, task.attempt), (Status::Succeeded, 1));
    assert_eq!(task.attempts[0].outcome, Some(Outcome::Released));
    rig.quiet().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_ends_just_before_its_kill_takes_no_neighbour_along() {
    let rig = Rig::start(vec![scripted("t", 2)]).await;
    let long = rig.submit("t", r#"{"do":[{"sleep_ms":1500}]}"#).await;
    rig.facts.until("the neighbour begins", 1, began(long)).await;
    // asked to stop after 50 ms, to be killed after 250 ms, ends at 400 ms; its neighbour's grace is over at 550 ms
    let late = rig
        .submit_as("t", r#"{"do":[{"stubborn_ms":400}]}"#, |task| task.timeout = Some(Duration::from_millis(50)))
        .await;
    assert_eq!(rig.ended(late).await.status, Status::Succeeded);
    let task = rig.ended(long).await;
    assert_eq!((task.status, task.attempts.len()), (Status::Succeeded, 1));
    rig.quiet().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deadline_ends_what_waits_and_what_runs() {
    let rig = Rig::start(vec![scripted("t", 1)]).await;
    let running = rig
        .submit_as("t", r#"{"do":[{"sleep_ms":60000}]}"#, |task| task.deadline_in = Some(Duration::from_millis(400)))
        .await;
    rig.running(running).await;
    let waiting = rig.submit_as("t", "{}", |task| task.deadline_in = Some(Duration::from_millis(100))).await;
    for id in [waiting, running] {
        let task = rig.ended(id).await;
        assert_eq!(task.error.unwrap().kind, Some(ErrorKind::Deadline));
        assert!(!task.dead_lettered);
    }
    assert_eq!(rig.task(waiting).await.attempts.len(), 0);
    rig.quiet().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_lets_short_runs_end_and_releases_long_ones_uncharged_with_their_checkpoint() {
    let mut rig = Rig::start(vec![scripted("t", 4)]).await;
    let short = rig.submit("t", r#"{"do":[{"sleep_ms":200}]}"#).await;
    let long = rig.submit("t", r#"{"do":[{"checkpoint":{"at":7}},{"sleep_ms":60000}]}"#).await;
    for id in [short, long] {
        rig.facts.until("the run begins", 1, began(id)).await;
    }
    let node = rig.node.take().unwrap();
    let late = rig.submit("t", "{}");
    let drain = node.drain(CancellationToken::new());
    let (report, late) = tokio::join!(drain, late);
    assert_eq!(report.cut.len(), 1);
    assert!(report.left.is_empty());
    assert_eq!(rig.task(short).await.status, Status::Succeeded);
    let task = rig.task(long).await;
    assert_eq!((task.status, task.attempt), (Status::Queued, 0));
    assert_eq!(task.attempts[0].charged, Some(false));
    assert!(rig.runner.alive().is_empty());
    assert!(rig.task(late).await.epoch.0 <= 1, "no attempt starts once a drain has begun");
    rig.settings = super::support::settings();
    rig.begin().await;
    assert_eq!(rig.ended(late).await.status, Status::Succeeded);
    rig.store.cancel(long, None).await.unwrap();
    rig.ended(long).await;
    rig.quiet().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_gives_back_at_once_what_has_not_begun() {
    // two suspects wait for the hosts of their own, which do not come up
    let mut rig = Rig::new(vec![TaskType { processes: 2, ..scripted("t", 3) }]).await;
    rig.settings.drain_grace = Duration::from_secs(600);
    rig.begin().await;
    rig.facts.until("both hosts are ready", 1, |fact| matches!(fact, Fact::Hosts { ready: 2, .. })).await;
    // the first and the third share a host, the second has the other
    let fatal = r#"{"do":[{"sleep_ms":200},{"until_attempt":1,"then":{"die":true}}]}"#;
    let gated = r#"{"do":[{"gate":true}]}"#;
    let ids = [rig.submit("t", fatal).await, rig.submit("t", gated).await, rig.submit("t", gated).await];
    for id in ids {
        rig.facts.until("each run begins", 1, began(id)).await;
    }
    rig.runner.hold_starts(true);
    let suspects = [ids[0], ids[2]];
    for id in suspects {
        rig.until(id, |task| task.epoch.0 == 2 && task.status == Status::Running).await;
    }
    let starts = rig.runner.starts(|_| true);
    let node = rig.node.take().unwrap();
    let given_back = async {
        for id in suspects {
            rig.until(id, |task| task.status == Status::Queued).await;
        }
        assert_eq!(rig.runner.alive().len(), 1, "what runs goes on");
        rig.runner.hold_starts(false);
        rig.runner.open_gate(true);
    };
    let (report, ()) = tokio::join!(node.drain(CancellationToken::new()), given_back);
    assert!(report.cut.is_empty() && report.left.is_empty(), "{report:?}");
    assert_eq!(rig.task(ids[1]).await.status, Status::Succeeded);
    assert_eq!(rig.runner.starts(|_| true), starts, "no attempt starts once a drain has begun");
    for id in suspects {
        let task = rig.task(id).await;
        let attempt = &task.attempts[1];
        assert_eq!((task.attempt, attempt.charged), (0, Some(false)), "{task:#?}");
        assert_eq!(attempt.error.as_ref().unwrap().code, "NOT_BEGUN");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_signal_skips_the_drains_grace() {
    let mut rig = Rig::start(vec![scripted("t", 1)]).await;
    rig.settings.drain_grace = Duration::from_secs(600);
    let id = rig.submit("t", r#"{"do":[{"sleep_ms":60000}]}"#).await;
    rig.facts.until("the run begins", 1, began(id)).await;
    let hurry = CancellationToken::new();
    hurry.cancel();
    let report = rig.node.take().unwrap().drain(hurry).await;
    assert_eq!(report.cut.len(), 1);
    assert_eq!(rig.task(id).await.status, Status::Queued);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_reports_as_cut_only_what_it_released() {
    let mut rig = Rig::new(vec![scripted("t", 3)]).await;
    rig.settings.cancel_grace = Duration::from_secs(5);
    rig.begin().await;
    // one succeeds although it is asked to stop, one is cut, one was cancelled before
    let ends = rig.submit("t", r#"{"do":[{"stubborn_ms":400}]}"#).await;
    let cut = rig.submit("t", r#"{"do":[{"sleep_ms":60000}]}"#).await;
    let cancelled = rig.submit("t", r#"{"do":[{"stubborn_ms":400},{"fail":{}}]}"#).await;
    for id in [ends, cut, cancelled] {
        rig.facts.until("the run begins", 1, began(id)).await;
    }
    rig.store.cancel(cancelled, None).await.unwrap();
    let hurry = CancellationToken::new();
    hurry.cancel();
    let report = rig.node.take().unwrap().drain(hurry).await;
    assert_eq!(report.cut.iter().map(|key| key.task).collect::<Vec<_>>(), [cut]);
    assert!(report.left.is_empty());
    assert_eq!(rig.task(ends).await.status, Status::Succeeded);
    assert_eq!(rig.task(cancelled).await.status, Status::Cancelled);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retries_wait_for_their_time_and_the_last_failure_is_a_dead_letter() {
    let rig = Rig::start(vec![scripted("t", 1)]).await;
    let id = rig.submit("t", r#"{"do":[{"fail":{"code":"FLAKY"}}]}"#).await;
    let task = rig.ended(id).await;
    assert!(task.dead_lettered);
    assert_eq!(task.error.as_ref().unwrap().code, "FLAKY");
    assert_eq!(rig.runner.starts(|key| key.task == id), 3);
    let id = rig.submit("t", r#"{"do":[{"fail":{"permanent":true}}]}"#).await;
    let task = rig.ended(id).await;
    assert!(!task.dead_lettered);
    assert_eq!((task.attempts.len(), task.error.unwrap().kind), (1, Some(ErrorKind::Permanent)));
    rig.quiet().await;
}
