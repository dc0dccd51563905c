//! Ends of attempts: the rows of the table of states.

use std::time::Duration;

use super::Scene;
use crate::domain::{ErrorKind, NewTask, Outcome, ReleaseReason, Status, Verdict};
use crate::ports::ledger::{ClaimAnswer, FinishAnswer};
use crate::testkit::tasks::{self, claim, complete, new_task, release, retry};

pub async fn every_verdict_leads_where_the_table_says(s: Scene) {
    let now = Duration::ZERO;
    let rows = [
        (complete(), Status::Succeeded, Outcome::Succeeded, true),
        (tasks::fail(), Status::Failed, Outcome::Failed, true),
        (Verdict::Cancel, Status::Cancelled, Outcome::Cancelled, true),
        (retry(Outcome::Failed, now), Status::Queued, Outcome::Failed, true),
        (retry(Outcome::TimedOut, now), Status::Queued, Outcome::TimedOut, true),
        (retry(Outcome::Crashed, now), Status::Queued, Outcome::Crashed, true),
        (tasks::dead_letter(), Status::Failed, Outcome::Failed, true),
        (release(ReleaseReason::NoHost, now), Status::Queued, Outcome::Released, false),
        (release(ReleaseReason::NeighbourKilled, now), Status::Queued, Outcome::Released, false),
    ];
    for (verdict, status, outcome, charged) in rows {
        let key = s.running().await;
        assert_eq!(s.end(key, verdict.clone()).await, status, "{verdict:?}");
        let task = s.task(key.task).await;
        let last = task.attempts.last().expect("an attempt");
        assert_eq!((task.status, last.outcome, last.charged), (status, Some(outcome), Some(charged)), "{verdict:?}");
        assert_eq!((task.node_id, task.lease_until), (None, None));
        assert_eq!(task.finished_at.is_some(), status.is_terminal());
        assert_eq!(task.error.is_some(), status == Status::Failed);
        assert_eq!(task.result.is_some(), status == Status::Succeeded);
        assert_eq!(task.attempt, u32::from(charged));
    }
}

pub async fn a_finish_is_done_once(s: Scene) {
    let succeeded = Status::Succeeded;
    let key = s.running().await;
    let finish = tasks::finish(key, complete());
    let twice = s.store.finish(&s.owner(1), vec![finish.clone(), finish.clone()]).await.expect("finish");
    assert_eq!(twice, [FinishAnswer::Done { status: succeeded }, FinishAnswer::Already { status: succeeded }]);
    let again = s.store.finish(&s.owner(1), vec![finish]).await.expect("finish");
    assert_eq!(again, [FinishAnswer::Already { status: succeeded }]);
    assert_eq!(s.finish(1, key, complete()).await, FinishAnswer::Fenced, "another token is another finish");
    assert_eq!(s.events(key.task).await.len(), 3);
    let key = s.running().await;
    let finish = tasks::finish(key, retry(Outcome::Failed, Duration::ZERO));
    s.store.finish(&s.owner(1), vec![finish.clone()]).await.expect("finish");
    s.claim(2, key.task).await;
    let again = s.store.finish(&s.owner(1), vec![finish]).await.expect("finish");
    assert_eq!(again, [FinishAnswer::Already { status: Status::Running }], "the status is today's");
}

pub async fn a_retry_waits_until_it_is_due(s: Scene) {
    let key = s.running().await;
    s.end(key, retry(Outcome::Failed, Duration::from_secs(60))).await;
    let answer = s.store.claim(&s.owner(1), vec![claim(key.task, "hello")]).await.expect("claim").remove(0);
    assert!(matches!(answer, ClaimAnswer::NotDue { due_in } if due_in > Duration::from_secs(50)));
    s.advance(61).await;
    assert_eq!(s.claimed(1, key.task).await.attempt, 2);
}

pub async fn spent_attempts_end_in_the_dead_letters(s: Scene) {
    let id = s.hello_of(2).await;
    for expected in [Status::Queued, Status::Failed] {
        let key = s.claim(1, id).await;
        assert_eq!(s.end(key, retry(Outcome::Failed, Duration::ZERO)).await, expected);
    }
    let task = s.task(id).await;
    assert!(task.dead_lettered);
    assert_eq!(task.error.and_then(|e| e.kind), Some(ErrorKind::Exhausted));
    let id = s.hello_of(1).await;
    let key = s.claim(1, id).await;
    s.end(key, retry(Outcome::Crashed, Duration::ZERO)).await;
    assert_eq!(s.task(id).await.error.and_then(|e| e.kind), Some(ErrorKind::Poison));
}

pub async fn a_deadline_ends_the_retries(s: Scene) {
    let id = s.submit(NewTask { deadline_in: Some(Duration::from_secs(50)), ..new_task("hello") }).await;
    let key = s.claim(1, id).await;
    assert_eq!(s.end(key, retry(Outcome::Failed, Duration::from_secs(60))).await, Status::Failed);
    let task = s.task(id).await;
    assert_eq!(task.error.and_then(|e| e.kind), Some(ErrorKind::Deadline));
    assert!(!task.dead_lettered);
}

pub async fn the_tenth_uncharged_end_is_charged(s: Scene) {
    let id = s.hello().await;
    for n in 1..=10 {
        let key = s.claim(1, id).await;
        s.end(key, release(ReleaseReason::ActorDied, Duration::ZERO)).await;
        assert_eq!(s.task(id).await.attempt, u32::from(n == 10));
    }
    let charged: Vec<_> = s.task(id).await.attempts.iter().map(|a| a.charged == Some(true)).collect();
    assert_eq!(charged.iter().filter(|c| **c).count(), 1);
    let key = s.claim(1, id).await;
    s.end(key, release(ReleaseReason::Drain, Duration::ZERO)).await;
    assert_eq!(s.task(id).await.attempt, 1);
}

pub async fn a_cancel_asked_for_wins(s: Scene) {
    let verdicts = [
        tasks::fail(),
        Verdict::Cancel,
        retry(Outcome::Failed, Duration::ZERO),
        tasks::dead_letter(),
        release(ReleaseReason::Drain, Duration::ZERO),
    ];
    for verdict in verdicts {
        let key = s.running().await;
        s.store.cancel(key.task, Some("enough".to_owned())).await.expect("cancel");
        assert_eq!(s.end(key, verdict).await, Status::Cancelled);
        let task = s.task(key.task).await;
        assert_eq!(task.cancel_reason.as_deref(), Some("enough"));
        assert!(task.cancel_requested_at.is_some() && task.error.is_none());
    }
}

pub async fn success_before_the_stop_stays(s: Scene) {
    let key = s.running().await;
    s.store.cancel(key.task, None).await.expect("cancel");
    assert_eq!(s.end(key, complete()).await, Status::Succeeded);
}
