//! Cluster-wide limits of a type, and its pause.

use std::time::Duration;

use super::Scene;
use super::upkeep::report;
use crate::domain::Status;
use crate::ports::ledger::{Claim, ClaimAnswer, ClaimNext, Limits};
use crate::testkit::tasks::{self, claim, claim_next};

fn of_hello(most: u32, limits: Limits) -> ClaimNext {
    ClaimNext { limits, ..claim_next("hello", most) }
}

pub async fn max_running_holds_over_owners(s: Scene) {
    let limits = Limits { max_running: Some(3), starts_per_minute: None };
    let mut ids = Vec::new();
    for _ in 0..6 {
        ids.push(s.hello().await);
    }
    let first = s.next(1, of_hello(2, limits)).await;
    assert_eq!((first.claimed.len(), first.limited), (2, None), "it got all it asked for");
    let second = s.next(2, of_hello(5, limits)).await;
    assert_eq!(second.claimed.len(), 1);
    assert!(second.limited.is_some(), "more of them wait");
    let one = Claim { limits, ..claim(ids[5], "hello") };
    let answer = s.store.claim(&s.owner(2), vec![one]).await.expect("claim").remove(0);
    assert!(matches!(answer, ClaimAnswer::Limited { .. }));
    s.end(first.claimed[0].key, tasks::complete()).await;
    assert_eq!(s.next(2, of_hello(5, limits)).await.claimed.len(), 1);
}

pub async fn starts_a_minute_are_limited(s: Scene) {
    let limits = Limits { max_running: None, starts_per_minute: Some(2) };
    for _ in 0..4 {
        s.hello().await;
    }
    let first = s.next(1, of_hello(1, limits)).await;
    s.end(first.claimed[0].key, tasks::complete()).await;
    s.advance(20).await;
    let second = s.next(1, of_hello(5, limits)).await;
    assert_eq!(second.claimed.len(), 1, "an end frees no start");
    let third = s.next(1, of_hello(5, limits)).await;
    assert_eq!(third.claimed.len(), 0);
    let wait = third.limited.expect("limited");
    assert!(wait > Duration::from_secs(30) && wait <= Duration::from_secs(40), "{wait:?}");
    s.advance(41).await;
    assert_eq!(s.next(1, of_hello(5, limits)).await.claimed.len(), 1, "the first start is a minute ago");
}

pub async fn a_paused_type_is_not_claimed(s: Scene) {
    let hello = tasks::type_name("hello");
    assert!(!s.store.set_paused(&hello, true).await.expect("set_paused"), "it was never known");
    s.store.post(report(&s.owner(1), &["hello"], 1)).await.expect("post");
    let id = s.hello().await;
    assert!(s.store.set_paused(&hello, true).await.expect("set_paused"));
    let next = s.next(1, claim_next("hello", 5)).await;
    assert!(next.claimed.is_empty() && next.limited.is_some());
    let answer = s.store.claim(&s.owner(1), vec![claim(id, "hello")]).await.expect("claim").remove(0);
    assert!(matches!(answer, ClaimAnswer::Limited { .. }));
    assert!(s.store.capabilities(Duration::from_secs(30)).await.expect("capabilities")[0].paused);
    s.store.post(report(&s.owner(1), &["hello"], 2)).await.expect("post");
    assert!(s.store.set_paused(&hello, false).await.expect("set_paused"));
    assert_eq!(s.next(1, claim_next("hello", 5)).await.claimed.len(), 1);
    assert_eq!(s.status(id).await, Status::Running);
}
