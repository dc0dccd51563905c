//! Records: numbered without a gap, stored once, heard after the commit.

use std::time::Duration;

use super::Scene;
use crate::domain::{EventKind, Json, LeaseKey, Outcome, Status};
use crate::ports::ledger::{Finish, FinishAnswer, LedgerError, Record, RecordAnswer};
use crate::ports::signals::Signal;
use crate::testkit::tasks::{self, log, output, record};

pub async fn records_are_not_stored_twice(s: Scene) {
    let key = s.running().await;
    let first = record(key, 0, vec![log("a"), log("b")]);
    assert_eq!(s.record(1, first.clone()).await, RecordAnswer::Recorded { last_seq: 4 });
    assert_eq!(s.record(1, first).await, RecordAnswer::Recorded { last_seq: 4 }, "its reply was lost");
    let overlap = record(key, 1, vec![log("b"), log("c")]);
    assert_eq!(s.record(1, overlap).await, RecordAnswer::Recorded { last_seq: 5 });
    let finish = Finish { from: 2, events: vec![log("c"), log("d")], ..tasks::finish(key, tasks::complete()) };
    let done = s.store.finish(&s.owner(1), vec![finish]).await.expect("finish");
    assert_eq!(done, [FinishAnswer::Done { status: Status::Succeeded }]);
    let events = s.events(key.task).await;
    let texts: Vec<_> = events.iter().filter(|e| e.kind == EventKind::Log).map(|e| e.data.clone()).collect();
    assert_eq!(texts, ["a", "b", "c", "d"].map(|t| log(t).data));
    assert_eq!(events.iter().map(|e| e.seq).collect::<Vec<_>>(), (1..=7).collect::<Vec<_>>());
}

pub async fn events_are_gapless_under_many_recorders(s: Scene) {
    let mut keys: Vec<LeaseKey> = Vec::new();
    for _ in 0..50 {
        keys.push(s.running().await);
    }
    let mut recorders = tokio::task::JoinSet::new();
    for key in keys.clone() {
        let s = s.clone();
        recorders.spawn(async move {
            for n in 0..10 {
                let answer = s.record(1, record(key, n, vec![log("x")])).await;
                assert_eq!(answer, RecordAnswer::Recorded { last_seq: 3 + n as i64 });
            }
        });
    }
    recorders.join_all().await;
    for key in keys {
        let seqs: Vec<i64> = s.events(key.task).await.iter().map(|e| e.seq).collect();
        assert_eq!(seqs, (1..=12).collect::<Vec<_>>());
    }
}

pub async fn a_record_beyond_what_is_stored_is_refused(s: Scene) {
    let key = s.running().await;
    let refused = s.store.record(&s.owner(1), vec![record(key, 1, vec![log("b")])]).await;
    assert!(matches!(refused, Err(LedgerError::Refused(_))), "{refused:?}");
    assert_eq!(s.events(key.task).await.len(), 2);
}

pub async fn checkpoints_reach_the_next_attempt(s: Scene) {
    let key = s.running().await;
    let kept = Some(Json::trusted(r#"{"page":7}"#));
    s.record(1, Record { checkpoint: kept.clone(), ..record(key, 0, vec![]) }).await;
    s.end(key, tasks::retry(Outcome::Failed, Duration::ZERO)).await;
    let claimed = s.claimed(2, key.task).await;
    assert_eq!((claimed.checkpoint, claimed.attempt), (kept, 2));
}

pub async fn partial_output_is_that_of_the_latest_epoch(s: Scene) {
    let first = s.running().await;
    s.record(1, record(first, 0, vec![output("[1,2]"), output("[3]")])).await;
    s.end(first, tasks::retry(Outcome::Failed, Duration::ZERO)).await;
    let partial = || async { s.task(first.task).await.partial.map(|p| p.to_string()) };
    let second = s.claim(1, first.task).await;
    assert_eq!(partial().await.as_deref(), Some("[1,2,3]"), "the latest that has any");
    let progress =
        Record { progress: Some(0.25), stage: Some("draw".to_owned()), ..record(second, 0, vec![output(r#"["x"]"#)]) };
    s.record(1, progress).await;
    assert_eq!(partial().await.as_deref(), Some(r#"["x"]"#));
    let task = s.task(first.task).await;
    assert_eq!((task.stage.as_deref(), task.progress), (Some("draw"), Some(0.25)));
    s.record(1, Record { progress: Some(f64::NAN), ..record(second, 1, vec![]) }).await;
    s.record(1, Record { progress: Some(7.0), ..record(second, 1, vec![]) }).await;
    assert_eq!(s.task(first.task).await.progress, Some(1.0));
}

pub async fn events_are_read_in_pages(s: Scene) {
    let key = s.running().await;
    s.record(1, record(key, 0, (0..5).map(|n| log(&n.to_string())).collect())).await;
    let page = s.store.events(key.task, 2, 3).await.expect("events").expect("known");
    assert_eq!(page.events.iter().map(|e| e.seq).collect::<Vec<_>>(), [3, 4, 5]);
    assert_eq!((page.status, page.last_seq), (Status::Running, 7));
    let end = s.store.events(key.task, 7, 3).await.expect("events").expect("known");
    assert!(end.events.is_empty());
    assert_eq!(s.store.events(tasks::task_id(), 0, 3).await.expect("events"), None);
}

pub async fn listeners_hear_what_is_committed(s: Scene) {
    let mut heard = s.store.subscribe();
    let key = s.running().await;
    s.store.cancel(key.task, None).await.expect("cancel");
    s.record(1, record(key, 0, vec![log("x")])).await;
    let mut signals = Vec::new();
    while let Ok(signal) = heard.try_recv() {
        signals.push(signal);
    }
    for expected in [
        Signal::Queued { task_type: tasks::type_name("hello") },
        Signal::CancelRequested { task: key.task, epoch: key.epoch },
        Signal::Recorded { task: key.task, last_seq: 1 },
        Signal::Recorded { task: key.task, last_seq: 2 },
        Signal::Recorded { task: key.task, last_seq: 3 },
    ] {
        assert!(signals.contains(&expected), "{expected:?} is not among {signals:?}");
    }
}
