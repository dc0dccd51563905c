//! Actors that die at any moment: nothing is lost, doubled or leaked.

use std::time::Duration;

use windlass_actors::domain::{Outcome, Status, TaskId, TaskType};
use windlass_actors::ports::observer::Fact;
use windlass_actors::supervise::KillMode;

use super::support::{Rig, scripted, type_name};

const LONG: &str = r#"{"do":[{"stage":"work"},{"sleep_ms":60000}]}"#;
const ONCE_LONG: &str = r#"{"do":[{"until_attempt":1,"then":{"sleep_ms":60000}}]}"#;

fn lease_path(rig: &Rig, id: TaskId) -> String {
    let wanted = id.to_string();
    let rows = rig.node().tree();
    rows.iter().map(|row| row.path.clone()).find(|path| path.contains(&wanted)).expect("a lease actor of the task")
}

fn began(id: TaskId) -> impl Fn(&Fact) -> bool {
    move |fact| matches!(fact, Fact::RunBegan { key, .. } if key.task == id)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn actor_dies_before_run() {
    // a suspect is claimed, but the host of its own that it needs does not come up: its lease waits for a seat
    let mut rig = Rig::new(vec![TaskType { processes: 2, ..scripted("t", 3) }]).await;
    rig.begin().await;
    rig.facts.until("both hosts are ready", 1, |fact| matches!(fact, Fact::Hosts { ready: 2, .. })).await;
    // the first and the third share a host, the second has the other
    let fatal = r#"{"do":[{"sleep_ms":200},{"until_attempt":1,"then":{"die":true}}]}"#;
    let ids = [rig.submit("t", fatal).await, rig.submit("t", LONG).await, rig.submit("t", ONCE_LONG).await];
    for id in ids {
        rig.facts.until("each run begins", 1, began(id)).await;
    }
    rig.runner.hold_starts(true);
    let waiting = async {
        loop {
            let rows = rig.node().tree();
            let lease = rows.iter().find(|row| ids.iter().any(|id| row.path.ends_with(&format!("{id}@2"))));
            if let Some(row) = lease {
                return row.path.clone();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let path = tokio::time::timeout(super::support::PATIENCE, waiting).await.expect("a suspect waits for its host");
    let id = *ids.iter().find(|id| path.contains(&id.to_string())).unwrap();
    let before = rig.runner.starts(|key| key.task == id);
    rig.node().kill(&path, KillMode::Kill).unwrap();
    let task = rig.until(id, |task| task.attempts.len() >= 2 && task.attempts[1].ended_at.is_some()).await;
    assert_eq!((task.attempts[1].outcome, task.attempts[1].charged), (Some(Outcome::Released), Some(false)));
    assert_eq!(rig.runner.starts(|key| key.task == id), before, "it had not begun");
    let error = task.attempts[1].error.as_ref().map(|error| error.code.as_str());
    assert_eq!(error, Some("NOT_BEGUN"), "and so does not count towards the tenth release");
    rig.runner.hold_starts(false);
    assert_eq!(rig.ended(ids[0]).await.status, Status::Succeeded);
    for id in &ids[1..] {
        rig.store.cancel(*id, None).await.unwrap();
        assert_eq!(rig.ended(*id).await.status, Status::Cancelled);
    }
    rig.quiet().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn actor_dies_mid_run() {
    let rig = Rig::start(vec![scripted("t", 2)]).await;
    for mode in [KillMode::Kill, KillMode::Panic, KillMode::Stop] {
        let id = rig.submit("t", LONG).await;
        rig.facts.until("the run begins", 1, began(id)).await;
        rig.node().kill(&lease_path(&rig, id), mode).unwrap();
        let task = rig.until(id, |task| task.epoch.0 >= 2).await;
        let first = &task.attempts[0];
        assert_eq!((first.outcome, first.charged), (Some(Outcome::Released), Some(false)), "{mode:?}");
        assert!(!rig.runner.overlapped(), "the first run was over before the second began");
        assert_eq!(task.attempt, 1, "the first start was given back");
        rig.store.cancel(id, None).await.unwrap();
        assert_eq!(rig.ended(id).await.status, Status::Cancelled);
    }
    rig.quiet().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_will_not_stop_is_killed_when_its_lease_actor_died() {
    let rig = Rig::start(vec![scripted("t", 1)]).await;
    let id = rig.submit("t", r#"{"do":[{"until_attempt":1,"then":{"stubborn_ms":60000}}]}"#).await;
    rig.facts.until("the run begins", 1, began(id)).await;
    rig.node().kill(&lease_path(&rig, id), KillMode::Kill).unwrap();
    let again = rig.until(id, |task| task.epoch.0 >= 2).await;
    assert_eq!(again.attempt, 1);
    assert!(!rig.runner.overlapped());
    rig.store.cancel(id, None).await.unwrap();
    rig.ended(id).await;
    rig.quiet().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pool_dies() {
    let rig = Rig::start(vec![scripted("a", 4), scripted("b", 2)]).await;
    for mode in [KillMode::Kill, KillMode::Panic] {
        let mut ids = Vec::new();
        for _ in 0..4 {
            ids.push(rig.submit("a", ONCE_LONG).await);
        }
        let other = rig.submit("b", r#"{"do":[{"sleep_ms":1500}]}"#).await;
        for id in ids.iter().chain([&other]) {
            rig.facts.until("each run begins", 1, began(*id)).await;
        }
        rig.node().kill("pools/pool/a", mode).unwrap();
        for id in &ids {
            let task = rig.until(*id, |task| task.epoch.0 >= 2).await;
            assert_eq!((task.attempts[0].outcome, task.attempts[0].charged), (Some(Outcome::Released), Some(false)));
        }
        let task = rig.ended(other).await;
        assert_eq!((task.status, task.attempts.len()), (Status::Succeeded, 1), "the other pool never noticed");
        for id in &ids {
            // charged 0 times so far, so it is the first attempt again: it has to be asked to stop
            rig.store.cancel(*id, None).await.unwrap();
            assert_eq!(rig.ended(*id).await.status, Status::Cancelled);
        }
    }
    assert!(!rig.runner.overlapped());
    rig.quiet().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ledger_dies() {
    let rig = Rig::start(vec![scripted("t", 16)]).await;
    let mut ids = Vec::new();
    for n in 0..400 {
        ids.push(rig.submit("t", r#"{"do":[{"stage":"a"},{"output":1},{"sleep_ms":2}]}"#).await);
        if n % 40 == 20 {
            let mode = if n % 80 == 20 { KillMode::Kill } else { KillMode::Panic };
            // one that restarts just now can't be killed
            let _ = rig.node().kill("ledger", mode);
        }
    }
    for id in ids {
        let task = rig.ended(id).await;
        assert_eq!(task.status, Status::Succeeded);
        assert_eq!(task.attempts.len(), 1, "no run was cancelled");
        assert_eq!(task.partial.unwrap().as_str(), "[1]");
    }
    rig.quiet().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_other_actor_may_die_under_load() {
    let rig = Rig::start(vec![scripted("t", 4)]).await;
    let mut ids = Vec::new();
    let paths = [
        "upkeep/renewal",
        "upkeep/control",
        "upkeep/reaper",
        "upkeep/heartbeat",
        "upkeep/pruner",
        "intake/consumer/t",
        "hosts/group/t",
        "pools/pool",
        "hosts",
        "intake",
    ];
    for path in paths {
        for _ in 0..10 {
            ids.push(rig.submit("t", r#"{"do":[{"stage":"a"},{"sleep_ms":20}]}"#).await);
        }
        let _ = rig.node().kill(path, KillMode::Panic);
    }
    for id in ids {
        assert_eq!(rig.ended(id).await.status, Status::Succeeded);
    }
    assert!(!rig.runner.overlapped());
    rig.quiet().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worker_killed_mid_run_while_it_ran_alone_is_charged_and_retried() {
    let rig = Rig::start(vec![scripted("t", 1)]).await;
    let id = rig.submit("t", r#"{"do":[{"until_attempt":1,"then":{"die":true}}]}"#).await;
    let task = rig.ended(id).await;
    assert_eq!(task.status, Status::Succeeded);
    let first = &task.attempts[0];
    assert_eq!((first.outcome, first.charged), (Some(Outcome::Crashed), Some(true)));
    assert_eq!(first.error.as_ref().unwrap().code, "HOST_SIGNALLED");
    rig.quiet().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn neighbours_die_with_host() {
    let rig = Rig::start(vec![scripted("t", 10)]).await;
    let mut neighbours = Vec::new();
    for _ in 0..9 {
        neighbours.push(rig.submit("t", r#"{"do":[{"sleep_ms":400}]}"#).await);
    }
    for id in &neighbours {
        rig.facts.until("each neighbour begins", 1, began(*id)).await;
    }
    let culprit = rig.submit("t", r#"{"do":[{"die":true}]}"#).await;
    let task = rig.ended(culprit).await;
    assert_eq!((task.status, task.dead_lettered), (Status::Failed, true));
    assert_eq!(task.error.unwrap().kind.unwrap().as_str(), "poison");
    assert_eq!(task.attempts[0].charged, Some(false), "nobody is charged at first");
    assert_eq!(task.attempts.iter().filter(|a| a.charged == Some(true)).count(), 3);
    for id in neighbours {
        let task = rig.ended(id).await;
        assert_eq!(task.status, Status::Succeeded);
        assert_eq!(task.attempt, 1, "no neighbour is charged for the culprit");
    }
    rig.quiet().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hosts_that_cannot_start_cost_no_attempt_and_come_back() {
    let mut rig = Rig::new(vec![scripted("t", 2)]).await;
    rig.runner.fail_starts(4);
    rig.begin().await;
    let id = rig.submit("t", "{}").await;
    let task = rig.ended(id).await;
    assert_eq!((task.status, task.attempts.len()), (Status::Succeeded, 1));
    rig.quiet().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_type_whose_hosts_cannot_live_is_parked_and_the_others_go_on() {
    let mut rig = Rig::new(vec![scripted("bad", 1)]).await;
    rig.runner.fail_starts(u32::MAX);
    rig.begin().await;
    let mut reasons = Vec::new();
    for _ in 0..200 {
        reasons = rig.node().readiness().reasons;
        if reasons.iter().any(|reason| reason.contains("SETUP_FAILED")) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(reasons.iter().any(|reason| reason.contains("SETUP_FAILED")), "{reasons:?}");
    let id = rig.submit("bad", "{}").await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let task = rig.task(id).await;
    assert_eq!((task.status, task.epoch.0), (Status::Queued, 0), "no attempt is burnt");
    assert_eq!(rig.node().shared().types[0].name, type_name("bad"));
}
