//! Data that can't be stored as it is. Limits are the default ones.

use super::Scene;
use crate::domain::{ErrorKind, EventKind, Json, NewEvent, Outcome, Status, TaskError, Verdict};
use crate::ports::ledger::{Finish, Record};
use crate::ports::rules::Sizes;
use crate::testkit::tasks::{self, record};

pub async fn large_and_broken_data_is_kept_in_a_form_that_says_so(s: Scene) {
    let key = s.running().await;
    let huge = Json::trusted(format!(r#"{{"level":"info","text":"{}"}}"#, "\u{e9}".repeat(1 << 20)));
    let event = NewEvent { kind: EventKind::Log, data: huge.clone() };
    s.record(
        1,
        Record { stage: Some("a\0b".to_owned()), ..record(key, 0, vec![event, tasks::output(r#"["\u0000"]"#)]) },
    )
    .await;
    let events = s.events(key.task).await;
    let cut = &events[2].data;
    assert!(
        cut.len() < Sizes::default().event
            && cut.as_str().starts_with(&format!(r#"{{"truncated":true,"bytes":{}"#, huge.len()))
    );
    assert_eq!(events[3].data.as_str(), r#"{"values":["\u0000"]}"#);
    assert_eq!(s.task(key.task).await.stage.as_deref(), Some("a\u{fffd}b"));
    let error = TaskError::new("BO\0OM", format!("{}\0", "\u{1}é".repeat(5 << 20)));
    let fail = Verdict::Fail { outcome: Outcome::Failed, error, kind: ErrorKind::Permanent };
    assert_eq!(s.end(key, fail).await, Status::Failed);
    let error = s.task(key.task).await.error.expect("an error");
    assert_eq!(error.code, "BO\u{fffd}OM");
    assert!(error.detail.len() < 20 << 10 && error.detail.contains("cut"), "{}", error.detail.len());
}

pub async fn a_result_that_is_too_large_fails_for_good(s: Scene) {
    let key = s.running().await;
    let result = Json::trusted(format!("\"{}\"", "x".repeat(4 << 20)));
    let other = s.running().await;
    let finishes = vec![
        tasks::finish(key, Verdict::Complete { result }),
        Finish { progress: Some(1.0), ..tasks::finish(other, tasks::complete()) },
    ];
    s.store.finish(&s.owner(1), finishes).await.expect("finish");
    let task = s.task(key.task).await;
    let error = task.error.expect("an error");
    assert_eq!(
        (task.status, error.code.as_str(), error.kind),
        (Status::Failed, "RESULT_TOO_LARGE", Some(ErrorKind::Permanent))
    );
    assert_eq!(s.status(other.task).await, Status::Succeeded, "its neighbour in the batch is as well as ever");
}

pub async fn a_large_checkpoint_is_not_kept(s: Scene) {
    let key = s.running().await;
    let checkpoint = |text: String| Record { checkpoint: Some(Json::trusted(text)), ..record(key, 0, vec![]) };
    s.record(1, checkpoint("1".to_owned())).await;
    s.record(1, checkpoint(format!("\"{}\"", "x".repeat(4 << 20)))).await;
    assert!(s.events(key.task).await.last().is_some_and(|e| e.data.as_str().contains("not kept")));
    s.end(key, tasks::retry(Outcome::Failed, std::time::Duration::ZERO)).await;
    assert_eq!(s.claimed(1, key.task).await.checkpoint, Some(Json::trusted("1")));
}
