//! Claims: order, tokens, refusals.

use std::collections::BTreeSet;
use std::time::Duration;

use super::Scene;
use crate::domain::{Epoch, ErrorKind, Json, NewTask, ReleaseReason, Status, Suspicion, TaskId};
use crate::ports::ledger::{Claim, ClaimAnswer, ClaimNext};
use crate::ports::rules::OVERDUE_AT_ONCE;
use crate::testkit::tasks::{self, claim, claim_next, new_task};

pub async fn claims_go_by_priority_then_age(s: Scene) {
    let mut of = Vec::new();
    for priority in [5, 0, 9, 5, 9] {
        of.push(s.submit(NewTask { priority, ..new_task("hello") }).await);
        s.advance(1).await;
    }
    let mut order = Vec::new();
    for _ in 0..3 {
        let answer = s.next(1, claim_next("hello", 2)).await;
        order.extend(answer.claimed.iter().map(|c| c.key.task));
    }
    assert_eq!(order, [of[2], of[4], of[0], of[3], of[1]]);
}

pub async fn no_task_is_claimed_twice_by_many_claimers(s: Scene) {
    for _ in 0..10 {
        s.store.create((0..20).map(|_| new_task("hello")).collect()).await.expect("create");
    }
    let mut claimers = tokio::task::JoinSet::new();
    for n in 0..32 {
        let s = s.clone();
        claimers.spawn(async move {
            let mut mine = Vec::new();
            loop {
                let claimed = s.next(n, claim_next("hello", 3)).await.claimed;
                if claimed.is_empty() {
                    return mine;
                }
                mine.extend(claimed.into_iter().map(|c| c.key.task));
            }
        });
    }
    let all: Vec<TaskId> = claimers.join_all().await.concat();
    assert_eq!((all.len(), all.iter().collect::<BTreeSet<_>>().len()), (200, 200));
}

pub async fn a_repeated_claim_answers_the_same(s: Scene) {
    for _ in 0..3 {
        s.hello().await;
    }
    let asked = claim_next("hello", 2);
    let (first, second) = (s.next(1, asked.clone()).await, s.next(1, asked.clone()).await);
    assert_eq!(first.claimed.len(), 2);
    assert_eq!(keys(&first.claimed), keys(&second.claimed));
    assert_eq!(s.next(2, asked).await.claimed.len(), 1, "another owner's token is another token");
    let one = Claim { token: uuid::Uuid::new_v4(), ..claim(s.hello().await, "hello") };
    let answers = s.store.claim(&s.owner(1), vec![one.clone(), one]).await.expect("claim");
    assert!(matches!(&answers[..], [ClaimAnswer::Claimed(a), ClaimAnswer::Claimed(b)] if a.key == b.key));
}

fn keys(claimed: &[crate::ports::ledger::Claimed]) -> Vec<crate::domain::LeaseKey> {
    claimed.iter().map(|c| c.key).collect()
}

pub async fn a_claim_of_a_known_task_says_why_not(s: Scene) {
    let (held, done, free) = (s.hello().await, s.hello().await, s.hello().await);
    s.claim(1, held).await;
    let key = s.claim(1, done).await;
    s.end(key, tasks::complete()).await;
    let asked = vec![
        claim(held, "hello"),
        claim(done, "hello"),
        claim(tasks::task_id(), "hello"),
        claim(free, "other"),
        claim(free, "hello"),
    ];
    let answers = s.store.claim(&s.owner(2), asked).await.expect("claim");
    assert!(matches!(&answers[0], ClaimAnswer::HeldBy { owner, lease_left }
        if *owner == s.owner(1).node && *lease_left > Duration::from_secs(20)));
    assert_eq!(answers[1], ClaimAnswer::Finished { status: Status::Succeeded });
    assert_eq!((&answers[2], &answers[3]), (&ClaimAnswer::Unknown, &ClaimAnswer::Unknown));
    assert!(matches!(&answers[4], ClaimAnswer::Claimed(c) if c.key.epoch == Epoch(1)));
}

pub async fn a_claim_is_refused_before_it_is_due(s: Scene) {
    let at = s.store.probe().await.expect("probe").plus(Duration::from_secs(60));
    let id = s.submit(NewTask { not_before: Some(at), ..new_task("hello") }).await;
    assert_eq!(s.task(id).await.not_before, Some(at));
    let answer = s.store.claim(&s.owner(1), vec![claim(id, "hello")]).await.expect("claim").remove(0);
    assert!(matches!(answer, ClaimAnswer::NotDue { due_in } if due_in > Duration::from_secs(50)), "{answer:?}");
    let next = s.next(1, claim_next("hello", 5)).await;
    assert!(next.claimed.is_empty() && next.limited.is_none());
    assert!(next.next_due.is_some_and(|d| d > Duration::from_secs(50) && d <= Duration::from_secs(60)));
    s.advance(61).await;
    let next = s.next(1, claim_next("hello", 5)).await;
    assert_eq!((next.claimed.len(), next.next_due), (1, None));
    assert!(next.claimed[0].waited < Duration::from_secs(10), "it waits since it is due");
}

pub async fn overdue_tasks_fail_on_the_way(s: Scene) {
    let deadline_in = Some(Duration::from_secs(10));
    let late = [
        s.submit(NewTask { deadline_in, ..new_task("hello") }).await,
        s.submit(NewTask { deadline_in, ..new_task("hello") }).await,
    ];
    let good = s.hello().await;
    s.advance(11).await;
    let next = s.next(1, claim_next("hello", 1)).await;
    assert_eq!(next.claimed[0].key.task, good);
    let one = s.submit(NewTask { deadline_in, ..new_task("hello") }).await;
    s.advance(11).await;
    let answer = s.store.claim(&s.owner(1), vec![claim(one, "hello")]).await.expect("claim").remove(0);
    assert_eq!(answer, ClaimAnswer::Finished { status: Status::Failed });
    for id in [late[0], late[1], one] {
        let task = s.task(id).await;
        assert_eq!(task.error.and_then(|e| e.kind), Some(ErrorKind::Deadline));
        assert_eq!((task.attempt, task.attempts.len()), (0, 0), "it never began");
    }
}

pub async fn a_claim_leaves_what_is_overdue_beyond_a_bound_to_the_next_look(s: Scene) {
    let deadline_in = Some(Duration::from_secs(10));
    let late = || NewTask { deadline_in, ..new_task("hello") };
    s.store.create((0..2 * OVERDUE_AT_ONCE + 5).map(|_| late()).collect()).await.expect("create");
    s.advance(11).await;
    let good = s.hello().await;
    for _ in 0..2 {
        let next = s.next(1, claim_next("hello", 1)).await;
        assert_eq!((next.claimed.len(), next.limited, next.next_due), (0, None, Some(Duration::ZERO)));
    }
    let next = s.next(1, claim_next("hello", 1)).await;
    assert_eq!(next.claimed.iter().map(|c| c.key.task).collect::<Vec<_>>(), [good]);
}

pub async fn a_claim_brings_all_that_a_run_needs(s: Scene) {
    let asked = NewTask {
        payload: Json::trusted(r#"{"text":"grüße \u0000"}"#),
        model_spec: Json::trusted(r#"{"m":1}"#),
        inference_params: Json::trusted(r#"{"t":0.5}"#),
        client_role: Some("admin".to_owned()),
        timeout: Some(Duration::from_millis(1500)),
        deadline_in: Some(Duration::from_secs(100)),
        ..new_task("hello")
    };
    let id = s.submit(asked.clone()).await;
    s.advance(3).await;
    let claimed = s.claimed(1, id).await;
    assert_eq!((&claimed.payload, &claimed.model_spec), (&asked.payload, &asked.model_spec));
    assert_eq!((&claimed.inference_params, claimed.timeout), (&asked.inference_params, asked.timeout));
    assert_eq!((claimed.client_role, claimed.owner), (asked.client_role, asked.owner));
    assert_eq!((claimed.attempt, claimed.max_attempts, claimed.checkpoint), (1, 3, None));
    assert!(claimed.waited >= Duration::from_secs(3) && claimed.waited < Duration::from_secs(10));
    assert!(claimed.deadline_in.is_some_and(|d| d > Duration::from_secs(80) && d < Duration::from_secs(98)));
    let task = s.task(id).await;
    assert_eq!((task.status, task.node_id), (Status::Running, Some(s.owner(1).node)));
    assert!(task.lease_until > task.started_at && task.attempts.len() == 1);
}

pub async fn suspects_are_claimed_only_if_asked_for(s: Scene) {
    let suspects = [s.hello().await, s.hello().await];
    for id in suspects {
        let key = s.claim(1, id).await;
        s.end(key, tasks::release(ReleaseReason::HostDied, Duration::ZERO)).await;
    }
    s.advance(1).await;
    let plain = s.hello().await;
    let refused = s.store.claim(&s.owner(1), vec![claim(suspects[0], "hello")]).await.expect("claim").remove(0);
    assert!(matches!(refused, ClaimAnswer::Limited { .. }));
    let next = s.next(1, claim_next("hello", 5)).await;
    assert_eq!(next.claimed.iter().map(|c| c.key.task).collect::<Vec<_>>(), [plain]);
    let ask = || ClaimNext { suspects: Suspicion::Host, ..claim_next("hello", 5) };
    for id in suspects {
        let next = s.next(1, ask()).await;
        assert_eq!(next.claimed.iter().map(|c| c.key.task).collect::<Vec<_>>(), [id], "one suspect an answer");
        assert_eq!(next.claimed[0].suspect, Suspicion::Host);
    }
}

pub async fn claims_of_other_types_are_not_in_the_way(s: Scene) {
    for n in 0..20 {
        s.submit(new_task(&format!("type-{n}"))).await;
    }
    let next = s.next(1, claim_next("type-7", 5)).await;
    assert_eq!(next.claimed.len(), 1);
    assert_eq!(s.next(1, claim_next("never-known", 5)).await, Default::default());
    let both = vec![claim_next("type-8", 1), claim_next("type-9", 1)];
    let answers = s.store.claim_next(&s.owner(1), both).await.expect("claim_next");
    assert_eq!(answers.iter().map(|a| a.claimed[0].task_type.as_str()).collect::<Vec<_>>(), ["type-8", "type-9"]);
}
