//! Tasks taken from an owner that is gone.

use std::time::Duration;

use super::Scene;
use crate::domain::{ErrorKind, LeaseKey, Outcome, Status, Suspicion};
use crate::ports::ledger::{RenewAnswer, TakeBack, TakeCause};
use crate::testkit::tasks;

pub async fn owners_are_lost_only_after_the_grace(s: Scene) {
    let key = s.running().await;
    s.advance(33).await;
    assert_eq!(s.store.reap(tasks::reap()).await.expect("reap"), []);
    s.advance(3).await;
    let taken = s.store.reap(tasks::reap()).await.expect("reap");
    assert_eq!(taken.len(), 1);
    assert_eq!((taken[0].key, &taken[0].owner, taken[0].status), (key, &s.owner(1).node, Status::Queued));
    let task = s.task(key.task).await;
    assert_eq!(
        (task.attempt, task.attempts[0].outcome, task.attempts[0].charged),
        (0, Some(Outcome::Lost), Some(false))
    );
    assert_eq!(s.store.reap(tasks::reap()).await.expect("reap"), []);
}

pub async fn reap_meets_renew(s: Scene) {
    let key = s.running().await;
    s.advance(36).await;
    let renewed = s.store.renew(&s.owner(1), vec![key]).await.expect("renew");
    assert_eq!(renewed, [RenewAnswer::Held { cancel_requested: false }]);
    assert_eq!(s.store.reap(tasks::reap()).await.expect("reap"), []);
    for _ in 0..20 {
        s.advance(36).await;
        let owner = s.owner(1);
        let (reaped, renewed) = tokio::join!(s.store.reap(tasks::reap()), s.store.renew(&owner, vec![key]));
        let (reaped, renewed) = (reaped.expect("reap"), renewed.expect("renew").remove(0));
        let held = matches!(renewed, RenewAnswer::Held { .. });
        assert_eq!(reaped.is_empty(), held, "one of the two got it: {reaped:?}, {renewed:?}");
        if !held {
            return;
        }
    }
}

pub async fn losses_lead_to_suspicion_then_poison(s: Scene) {
    let id = s.hello_of(2).await;
    let mut starts = Vec::new();
    while s.status(id).await == Status::Queued {
        let claimed = s.claimed(1, id).await;
        starts.push((claimed.attempt, claimed.suspect));
        assert_eq!(s.lose().await.len(), 1);
        s.advance(1001).await;
    }
    let none = Suspicion::None;
    assert_eq!(starts, [(1, none), (1, none), (1, Suspicion::Node), (2, Suspicion::Node)]);
    let task = s.task(id).await;
    assert_eq!((task.error.and_then(|e| e.kind), task.dead_lettered), (Some(ErrorKind::Poison), true));
}

pub async fn a_cancel_asked_for_is_written_by_who_takes_the_task(s: Scene) {
    let key = s.running().await;
    s.store.cancel(key.task, None).await.expect("cancel");
    assert_eq!(s.lose().await[0].status, Status::Cancelled);
}

fn take(s: &Scene, cause: TakeCause, except: Vec<LeaseKey>) -> TakeBack {
    let older_than = Duration::from_secs(5);
    TakeBack {
        incarnation: s.owner(1).incarnation,
        task_type: None,
        except,
        older_than,
        cause,
        backoff: tasks::backoff(),
    }
}

pub async fn take_back_takes_what_no_actor_owns(s: Scene) {
    let (mine, kept) = (s.running().await, s.running().await);
    let id = s.submit(tasks::new_task("other")).await;
    let other = s.claim(1, id).await;
    let theirs = s.hello().await;
    s.claim(2, theirs).await;
    let young = s.store.take_back(take(&s, TakeCause::NoActor, vec![])).await.expect("take_back");
    assert_eq!(young, [], "a claim under way is not taken");
    s.advance(6).await;
    let old_epoch = LeaseKey { epoch: crate::domain::Epoch(0), ..mine };
    let of_type =
        TakeBack { task_type: Some(tasks::type_name("hello")), ..take(&s, TakeCause::NoActor, vec![kept, old_epoch]) };
    let taken = s.store.take_back(of_type).await.expect("take_back");
    assert_eq!(taken.iter().map(|t| t.key).collect::<Vec<_>>(), [mine]);
    let last = s.task(mine.task).await.attempts.remove(0);
    assert_eq!((last.outcome, last.charged), (Some(Outcome::Released), Some(false)));
    let all = s.store.take_back(take(&s, TakeCause::Predecessor, vec![])).await.expect("take_back");
    assert_eq!(all.iter().map(|t| t.key).collect::<Vec<_>>(), [kept, other]);
    assert_eq!(s.task(kept.task).await.attempts[0].outcome, Some(Outcome::Lost));
    assert_eq!(s.status(theirs).await, Status::Running);
}
