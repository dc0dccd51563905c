//! Where we cut at the store, call by call: before the commit, after it (the answer is lost), and hanging on either side.

use windlass_actors::domain::{EventKind, Outcome, Status, TaskId};
use windlass_actors::ports::observer::Fact;
use windlass_actors::supervise::KillMode;
use windlass_actors::testkit::Toxic;

use super::support::{Rig, scripted};

const CUTS: [Toxic; 4] = [Toxic::ErrorBefore, Toxic::ErrorAfter, Toxic::HangBefore, Toxic::HangAfter];
const SPEAKS: &str =
    r#"{"do":[{"stage":"a"},{"output":1},{"checkpoint":{"at":1}},{"output":2},{"stage":"b"},{"output":3}]}"#;
const FAILS_ONCE: &str = r#"{"do":[{"until_attempt":1,"then":{"fail":{}}}]}"#;

fn began(id: TaskId) -> impl Fn(&Fact) -> bool {
    move |fact| matches!(fact, Fact::RunBegan { key, .. } if key.task == id)
}

fn fenced(fact: &Fact) -> bool {
    matches!(fact, Fact::FenceRejected { .. } | Fact::AttemptLost { .. })
}

fn hangs(cut: Toxic) -> bool {
    matches!(cut, Toxic::HangBefore | Toxic::HangAfter)
}

impl Rig {
    /// Every attempt on record is a run that really started.
    async fn each_attempt_ran(&self, id: TaskId) {
        let attempts = self.task(id).await.attempts.len();
        assert_eq!(self.runner.starts(|key| key.task == id), attempts, "attempts = real starts");
    }

    async fn events_of(&self, id: TaskId, kind: EventKind) -> usize {
        let events = self.store.events(id, 0, 1000).await.unwrap().unwrap();
        events.events.iter().filter(|event| event.kind == kind).count()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claim_committed_reply_lost() {
    for cut in CUTS {
        let mut rig = Rig::new(vec![scripted("t", 4)]).await;
        let ids = [rig.submit("t", "{}").await, rig.submit("t", "{}").await, rig.submit("t", "{}").await];
        rig.toxic.next("claim_next", cut);
        rig.begin().await;
        rig.hit("claim_next", 1).await;
        if cut == Toxic::HangAfter {
            rig.running(ids[2]).await;
        }
        rig.toxic.release();
        for id in ids {
            let task = rig.ended(id).await;
            assert_eq!((task.status, task.attempts.len()), (Status::Succeeded, 1), "{cut:?}");
            rig.each_attempt_ran(id).await;
        }
        rig.unharmed().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_is_repeated_while_its_answers_are_lost_one_after_the_other() {
    let mut rig = Rig::new(vec![scripted("t", 2)]).await;
    let ids = [rig.submit("t", "{}").await, rig.submit("t", "{}").await];
    rig.toxic.always("claim_next", Toxic::ErrorAfter);
    rig.begin().await;
    rig.hit("claim_next", 4).await;
    assert_eq!(rig.task(ids[0]).await.attempts.len(), 1, "the same claim each time");
    assert!(!rig.node().readiness().ready);
    rig.toxic.clear();
    for id in ids {
        assert_eq!(rig.ended(id).await.status, Status::Succeeded);
        rig.each_attempt_ran(id).await;
    }
    rig.ready().await;
    rig.unharmed().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_whose_answer_comes_after_its_pool_died_starts_nothing_twice() {
    let mut rig = Rig::new(vec![scripted("t", 2)]).await;
    let ids = [rig.submit("t", r#"{"do":[{"sleep_ms":400}]}"#).await, rig.submit("t", "{}").await];
    rig.toxic.next("claim_next", Toxic::HangAfter);
    rig.begin().await;
    rig.running(ids[1]).await;
    rig.node().kill("pools/pool/t", KillMode::Kill).unwrap();
    // the new pool must not take back and serve while an old claim is under way: it gets the time to do it wrong
    let wrong = rig.facts.until("a take-back", 1, |fact| matches!(fact, Fact::TakenBack { .. }));
    let _ = tokio::time::timeout(std::time::Duration::from_millis(400), wrong).await;
    rig.toxic.release();
    for id in ids {
        let task = rig.ended(id).await;
        assert_eq!((task.status, task.attempt), (Status::Succeeded, 1));
        assert_eq!(rig.runner.starts(|key| key.task == id), 1, "the first claim never began: {task:#?}");
    }
    assert_eq!(rig.facts.count(fenced), 0);
    assert!(!rig.runner.overlapped());
    rig.quiet().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn record_reply_lost() {
    for cut in CUTS {
        let rig = Rig::start(vec![scripted("t", 1)]).await;
        for _ in 0..if hangs(cut) { 1 } else { 3 } {
            rig.toxic.next("record", cut);
        }
        let id = rig.submit("t", SPEAKS).await;
        rig.hit("record", 1).await;
        if cut == Toxic::HangAfter {
            rig.until(id, |task| task.stage.is_some()).await;
        }
        rig.toxic.release();
        let task = rig.ended(id).await;
        assert_eq!((task.status, task.attempts.len()), (Status::Succeeded, 1), "{cut:?}");
        assert_eq!(task.partial.unwrap().as_str(), "[1,2,3]", "no output twice, none lost: {cut:?}");
        assert_eq!(rig.events_of(id, EventKind::Stage).await, 2, "{cut:?}");
        assert_eq!(rig.events_of(id, EventKind::Checkpoint).await, 1, "{cut:?}");
        rig.unharmed().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_hangs_when_the_ledger_dies_is_repeated_by_the_next_one() {
    for call in ["claim_next", "record", "finish"] {
        let mut rig = Rig::new(vec![scripted("t", 1)]).await;
        rig.toxic.next(call, Toxic::HangAfter);
        let id = rig.submit("t", SPEAKS).await;
        rig.begin().await;
        rig.hit(call, 1).await;
        rig.node().kill("ledger", KillMode::Kill).unwrap();
        let task = rig.ended(id).await;
        assert_eq!((task.status, task.attempts.len()), (Status::Succeeded, 1), "{call}");
        assert_eq!(task.partial.unwrap().as_str(), "[1,2,3]", "{call}");
        assert_eq!(rig.facts.count(fenced), 0, "{call}");
        rig.quiet().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn finish_commit_fails() {
    let rig = Rig::start(vec![scripted("t", 1)]).await;
    rig.ready().await;
    rig.toxic.always("finish", Toxic::ErrorBefore);
    let id = rig.submit("t", SPEAKS).await;
    rig.facts.until("its end is not stored", 3, |fact| matches!(fact, Fact::TerminalWriteFailed { .. })).await;
    assert_eq!(rig.task(id).await.status, Status::Running, "nothing pretends success");
    assert_eq!(rig.facts.count(|fact| matches!(fact, Fact::AttemptEnded { .. })), 0);
    rig.called_again("renew", 2).await;
    let readiness = rig.node().readiness();
    assert!(!readiness.ready, "renewals that work don't make ends writable");
    assert!(readiness.reasons[0].contains("toxic: finish"), "{readiness:?}");
    // shielded: success stays success
    rig.store.cancel(id, None).await.unwrap();
    rig.toxic.clear();
    let task = rig.ended(id).await;
    assert_eq!((task.status, task.attempts.len()), (Status::Succeeded, 1));
    rig.ready().await;
    rig.each_attempt_ran(id).await;
    rig.unharmed().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn finish_commit_reply_lost() {
    for cut in [Toxic::ErrorAfter, Toxic::HangAfter] {
        let rig = Rig::start(vec![scripted("t", 1)]).await;
        rig.toxic.next("finish", cut);
        let id = rig.submit("t", SPEAKS).await;
        rig.ended(id).await;
        if cut == Toxic::HangAfter {
            // renewals of an attempt that is over find nothing to hold, and are no fence's business
            rig.called_again("renew", 2).await;
        }
        rig.toxic.release();
        rig.facts.until("its end is known", 1, |fact| matches!(fact, Fact::AttemptEnded { .. })).await;
        let lost = usize::from(cut == Toxic::ErrorAfter);
        assert_eq!(rig.facts.count(|fact| matches!(fact, Fact::TerminalWriteFailed { .. })), lost);
        assert_eq!(rig.facts.count(fenced), 0, "the second try is answered `Already`: {cut:?}");
        assert_eq!(rig.task(id).await.attempts.len(), 1);
        rig.unharmed().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_whose_reply_is_lost_is_scheduled_once() {
    for cut in [Toxic::ErrorAfter, Toxic::HangAfter] {
        let rig = Rig::start(vec![scripted("t", 2)]).await;
        rig.toxic.next("finish", cut);
        let id = rig.submit("t", FAILS_ONCE).await;
        rig.until(id, |task| task.attempts.len() == 2).await;
        rig.facts.until("the second run begins", 2, began(id)).await;
        rig.toxic.release();
        let task = rig.ended(id).await;
        assert_eq!((task.status, task.attempts.len()), (Status::Succeeded, 2), "{cut:?}");
        assert_eq!(task.attempts[0].outcome, Some(Outcome::Failed));
        assert_eq!(rig.facts.count(fenced), 0, "{cut:?}");
        rig.each_attempt_ran(id).await;
        rig.unharmed().await;
    }
}
