//! The store itself in trouble: full, locked by others, failing at random.

use std::sync::Arc;
use std::time::Duration;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Executor, SqliteConnection};
use windlass::adapters::sqlite::Options;
use windlass_actors::domain::{Json, NewTask, Status, TaskId};
use windlass_actors::ports::ledger::LedgerError;
use windlass_actors::ports::observer::Fact;
use windlass_actors::testkit::SeededDice;
use windlass_actors::testkit::tasks::new_task;

use super::support::{Rig, scripted};

fn began(id: TaskId) -> impl Fn(&Fact) -> bool {
    move |fact| matches!(fact, Fact::RunBegan { key, .. } if key.task == id)
}

impl Rig {
    /// A connection of another process.
    async fn other_hand(&self) -> SqliteConnection {
        let options = SqliteConnectOptions::new().filename(self.path()).busy_timeout(Duration::from_secs(10));
        options.disable_statement_logging().connect().await.unwrap()
    }

    /// Fills the store to the brim with tasks that nobody serves.
    async fn fill(&self) {
        for bytes in [100_000, 10_000, 100] {
            let payload = Json::trusted(format!("\"{}\"", "x".repeat(bytes)));
            loop {
                let task = NewTask { payload: payload.clone(), ..new_task("filler") };
                match self.store.create(vec![task]).await {
                    Ok(_) => {}
                    Err(LedgerError::Unavailable(_)) => break,
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn store_full_or_readonly() {
    let options = Options { max_pages: Some(400), ..Options::default() };
    let mut rig = Rig::with(vec![scripted("t", 2)], options).await;
    rig.begin().await;
    let large = "y".repeat(40_000);
    let payload = format!(r#"{{"do":[{{"stage":"a"}},{{"gate":true}},{{"output":"{large}"}}]}}"#);
    let ids = [rig.submit("t", &payload).await, rig.submit("t", &payload).await];
    for id in ids {
        rig.facts.until("the run begins", 1, began(id)).await;
        rig.until(id, |task| task.stage.is_some()).await;
    }
    rig.ready().await;
    rig.fill().await;
    rig.runner.open_gate(true);
    rig.patient("the runs are over", || rig.runner.alive().is_empty()).await;
    let full = || rig.node().readiness().reasons.iter().any(|reason| reason.contains("full"));
    rig.patient("the node says that its store is full", full).await;
    // it stays so: what can still be written (a renewal, in place) does not make it ready
    for _ in 0..3 {
        rig.called_again("renew", 1).await;
        rig.called_again("probe", 1).await;
        assert!(full(), "{:?}", rig.node().readiness());
    }
    for id in ids {
        assert_eq!(rig.task(id).await.status, Status::Running, "nothing pretends success");
    }
    let mut other = rig.other_hand().await;
    other
        .execute(
            "BEGIN IMMEDIATE;
             DELETE FROM task_body WHERE id IN (SELECT id FROM task WHERE task_type = 'filler');
             DELETE FROM task_event WHERE task_id IN (SELECT id FROM task WHERE task_type = 'filler');
             DELETE FROM task WHERE task_type = 'filler';
             COMMIT",
        )
        .await
        .unwrap();
    for id in ids {
        let task = rig.ended(id).await;
        assert_eq!((task.status, task.attempts.len()), (Status::Succeeded, 1), "its end was kept and written");
        assert_eq!(task.partial.unwrap().as_str(), format!("[\"{large}\"]"));
    }
    rig.ready().await;
    rig.unharmed().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_that_stays_makes_the_node_not_ready_with_the_reason_until_it_is_let_go() {
    let options = Options { busy_for: Duration::from_millis(300), ..Options::default() };
    let mut rig = Rig::with(vec![scripted("t", 2)], options).await;
    rig.begin().await;
    let id = rig.submit("t", r#"{"do":[{"output":1},{"gate":true},{"output":2}]}"#).await;
    rig.facts.until("the run begins", 1, began(id)).await;
    rig.ready().await;
    let mut other = rig.other_hand().await;
    other.execute("BEGIN IMMEDIATE").await.unwrap();
    rig.runner.open_gate(true);
    let locked = || rig.node().readiness().reasons.iter().any(|reason| reason.contains("write lock"));
    rig.patient("the node says that its store is locked", locked).await;
    rig.lease_over(id, Duration::ZERO).await;
    other.execute("COMMIT").await.unwrap();
    let task = rig.ended(id).await;
    assert_eq!((task.status, task.attempts.len()), (Status::Succeeded, 1));
    assert_eq!(task.partial.unwrap().as_str(), "[1,2]");
    rig.ready().await;
    rig.unharmed().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_of_another_process_for_a_second_under_load_fails_no_task() {
    let rig = Rig::start(vec![scripted("t", 8)]).await;
    let mut other = rig.other_hand().await;
    let mut ids = Vec::new();
    for round in 0..2 {
        for _ in 0..40 {
            ids.push(rig.submit("t", r#"{"do":[{"stage":"a"},{"output":1},{"sleep_ms":20}]}"#).await);
        }
        if round == 0 {
            other.execute("BEGIN IMMEDIATE").await.unwrap();
            // the lock's own time: nothing is waited for
            tokio::time::sleep(Duration::from_secs(1)).await;
            other.execute("COMMIT").await.unwrap();
        }
    }
    for id in ids {
        let task = rig.ended(id).await;
        assert_eq!((task.status, task.attempts.len()), (Status::Succeeded, 1));
        assert_eq!(rig.runner.starts(|key| key.task == id), 1);
    }
    assert_eq!(rig.facts.count(|fact| matches!(fact, Fact::AttemptLost { .. })), 0);
    rig.unharmed().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_fails_at_random_makes_no_actor_exit_and_loses_nothing() {
    for seed in [1, 2, 3] {
        let rig = Rig::start(vec![scripted("t", 8)]).await;
        rig.toxic.seeded(0.2, Arc::new(SeededDice::new(seed)));
        let mut ids = Vec::new();
        for n in 0..60 {
            let payload = match n % 3 {
                0 => r#"{"do":[{"stage":"a"},{"output":1},{"output":2},{"sleep_ms":5},{"output":3}]}"#,
                1 => r#"{"do":[{"output":1},{"checkpoint":{"at":1}},{"output":2},{"output":3}]}"#,
                _ => r#"{"do":[{"until_attempt":1,"then":{"fail":{}}},{"output":1},{"output":2},{"output":3}]}"#,
            };
            ids.push(rig.submit("t", payload).await);
        }
        for id in ids {
            let task = rig.ended(id).await;
            assert_eq!(task.status, Status::Succeeded, "seed {seed}: {task:#?}");
            assert_eq!(task.partial.as_ref().unwrap().as_str(), "[1,2,3]", "seed {seed}");
            let starts = rig.runner.starts(|key| key.task == id);
            assert_eq!(starts, task.attempts.len(), "seed {seed}: attempts = real starts {task:#?}");
        }
        rig.toxic.clear();
        rig.ready().await;
        rig.unharmed().await;
    }
}
