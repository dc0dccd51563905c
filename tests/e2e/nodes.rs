//! Nodes that die or are asked to go.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::machine::{children_of, marked, signal};
use crate::rig::{PATIENCE, Rig, is_terminal, outcomes};

#[tokio::test]
async fn node_killed() {
    let mut rig = Rig::up(&["probe_sleep", "probe_checkpoint"]).await;
    let steps = json!({"steps": 6, "seconds": 0.4, "ledger": rig.text("steps")});
    let checkpointed = rig.submit("probe_checkpoint", steps).await;
    let mut ids = Vec::new();
    for _ in 0..4 {
        ids.push(rig.submit("probe_sleep", json!({"seconds": 2})).await);
    }
    for id in &ids {
        rig.running(id).await;
    }
    rig.until("three steps", async || (rig.ledger("steps").len() >= 3).then_some(())).await;
    rig.until("the third checkpoint to be stored", async || {
        let stored = rig.events(&checkpointed).await.iter().filter(|it| it["kind"] == "checkpoint").count();
        (stored >= 3).then_some(())
    })
    .await;
    rig.kill().await;
    let killed = Instant::now();
    rig.until("no orphan", async || rig.left().is_empty().then_some(())).await;
    assert!(killed.elapsed() < Duration::from_secs(2), "orphans lived for {:?}", killed.elapsed());
    rig.start().await;
    // taken back at the start, not when the leases run out
    for id in &ids {
        rig.until(&format!("another start of {id}"), async || (rig.task(id).await["epoch"] == 2).then_some(())).await;
    }
    ids.push(checkpointed.clone());
    for task in rig.all_ended(&ids).await {
        assert_eq!(outcomes(&task), ["lost", "succeeded!"], "{task}");
        assert_eq!(task["attempt"], 1, "{task}");
    }
    let steps = rig.task(&checkpointed).await["result"]["steps"].clone();
    let of = |n: usize| steps[n]["step"].as_u64();
    assert_eq!((0..6).filter_map(of).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5], "{steps}");
    let mut done: Vec<_> = rig.ledger("steps").iter().map(|line| line["step"].as_u64().unwrap()).collect();
    assert!(done.len() <= 7, "steps before the checkpoint were done again: {done:?}");
    done.dedup();
    assert_eq!(done, [0, 1, 2, 3, 4, 5]);
    assert_eq!(rig.metric("windlass_tasks_taken_back_total{reason=\"predecessor\"}").await, 5.0);
}

// S08
#[tokio::test]
async fn the_death_of_a_node_takes_the_trees_of_its_plugins_along() {
    let mut rig = Rig::up(&["probe_tree"]).await;
    let marker = format!("n-{}", rig.mark().unwrap());
    let id = rig.submit("probe_tree", json!({"marker": marker})).await;
    rig.output(&id).await;
    let alive = || marked(&format!("PROBE_MARKER={marker}"));
    assert!(alive().len() >= 4, "{:?}", alive());
    let old = alive();
    rig.kill().await;
    let killed = Instant::now();
    rig.until("the tree to be gone", async || alive().is_empty().then_some(())).await;
    assert!(killed.elapsed() < Duration::from_secs(2), "{:?}", killed.elapsed());
    // what its own shim did not live to kill is swept before the task starts again
    rig.start().await;
    rig.until("the second attempt", async || (alive().len() >= 4).then_some(())).await;
    let shims: Vec<u32> = children_of(rig.pid());
    shims.iter().for_each(|shim| signal(*shim, "STOP"));
    rig.kill().await;
    shims.iter().for_each(|shim| signal(*shim, "KILL"));
    assert!(alive().iter().all(|pid| !old.contains(pid)));
    let older = alive();
    rig.start().await;
    assert!(alive().iter().all(|pid| !older.contains(pid)), "two attempts live side by side");
    let task = rig.task(&id).await;
    assert_eq!(outcomes(&task)[..2], ["lost", "lost"], "{task}");
    assert_eq!(rig.cancel(&id).await.0, 202);
    assert_eq!(rig.ended(&id).await["status"], "cancelled");
}

#[tokio::test]
async fn drain_under_load() {
    let mut rig = Rig::up(&["probe_sleep", "probe_checkpoint", "probe_ledger"]).await;
    let payload = json!({"steps": 1000, "seconds": 0.6, "ledger": rig.text("long")});
    let long = rig.submit("probe_checkpoint", payload).await;
    let mut short = Vec::new();
    for _ in 0..4 {
        short.push(rig.submit("probe_sleep", json!({"seconds": 1})).await);
    }
    for id in &short {
        rig.running(id).await;
    }
    rig.until("a checkpoint", async || rig.ledger("long").first().cloned()).await;
    let queued = rig.submit("probe_sleep", json!({"seconds": 0})).await;
    rig.signal("TERM");
    let asked = Instant::now();
    rig.until("the node to say that it drains", async || rig.said().contains("draining").then_some(())).await;
    let late = rig.submit("probe_ledger", json!({"ledger": rig.text("late")})).await;
    let status = rig.exited(PATIENCE).await;
    assert_eq!(status.code(), Some(0), "{}", rig.said());
    assert!(asked.elapsed() < Duration::from_secs(6), "{:?}", asked.elapsed());
    assert!(rig.said().contains("drained: 5 ran when it began, 1 were cut short"), "{}", rig.said());
    assert!(rig.said().contains(&format!("released {long}")), "{}", rig.said());
    assert!(rig.ledger("late").is_empty(), "an attempt started after the signal");
    assert!(rig.left().is_empty());
    rig.start().await;
    for task in rig.all_ended(&short).await {
        assert_eq!(outcomes(&task), ["succeeded!"], "{task}");
    }
    for task in rig.all_ended(&[queued, late]).await {
        assert_eq!(outcomes(&task), ["succeeded!"], "{task}");
    }
    // resumed from its checkpoint, and not charged for the drain
    let before = rig.ledger("long").len();
    rig.until("the long task to go on", async || (rig.ledger("long").len() > before).then_some(())).await;
    let task = rig.task(&long).await;
    assert_eq!((outcomes(&task)[0].as_str(), &task["attempt"]), ("released", &json!(1)), "{task}");
    let steps: Vec<_> = rig.ledger("long").iter().map(|line| line["step"].as_u64().unwrap()).collect();
    assert!(steps.windows(2).all(|pair| pair[1] == pair[0] + 1 || pair[1] == pair[0]), "{steps:?}");
    // a second signal does not wait for the grace
    rig.signal("TERM");
    rig.until("the node to say that it drains", async || rig.said().contains("draining").then_some(())).await;
    rig.signal("TERM");
    let asked = Instant::now();
    assert_eq!(rig.exited(PATIENCE).await.code(), Some(0), "{}", rig.said());
    assert!(asked.elapsed() < Duration::from_millis(1800), "{:?}", asked.elapsed());
}

// S10
#[tokio::test]
async fn a_signal_during_the_start_ends_it_promptly() {
    let mut rig = Rig::prepared(&["probe_sleep"], "", &[]);
    for wait in [30, 150, 400, 800] {
        rig.launch();
        tokio::time::sleep(Duration::from_millis(wait)).await;
        rig.signal("TERM");
        let asked = Instant::now();
        let status = rig.exited(PATIENCE).await;
        // before the handlers stand, the signal itself ends it
        assert!(matches!(status.code(), Some(0) | None), "{status:?} after {wait} ms: {}", rig.said());
        assert!(asked.elapsed() < Duration::from_secs(4), "{:?} after {wait} ms", asked.elapsed());
        rig.until("nothing to be left", async || rig.left().is_empty().then_some(())).await;
    }
    rig.start().await;
    let id = rig.submit("probe_sleep", json!({"seconds": 0})).await;
    assert_eq!(rig.ended(&id).await["status"], "succeeded");
}

// S05
#[tokio::test]
async fn a_task_that_kills_its_node_ends_in_the_dead_letters() {
    let mut rig = Rig::up(&["probe_kill_node", "probe_ledger"]).await;
    let healthy = rig.submit("probe_ledger", json!({"ledger": rig.text("healthy"), "seconds": 0.2})).await;
    // a payload cannot name the pids of the nodes to come: the test kills each at the first sign of the start
    let killer = json!({"pid": 0, "after": 60, "ledger": rig.text("killer")});
    let id = rig.submit("probe_kill_node", killer).await;
    let mut starts = 0;
    let task = loop {
        let seen = rig.until("a start or the end", async || {
            let lines = rig.ledger("killer");
            if lines.len() > starts {
                return Some(None);
            }
            let task = rig.task(&id).await;
            is_terminal(&task).then_some(Some(task))
        });
        match seen.await {
            Some(task) => break task,
            None => {
                starts += 1;
                assert!(starts <= 6, "it is started without end");
                rig.kill().await;
                rig.start().await;
            }
        }
    };
    // two losses are free, three are charged
    assert_eq!(outcomes(&task), ["lost", "lost", "lost!", "lost!", "lost!"], "{task}");
    assert_eq!((&task["error"]["kind"], &task["dead_lettered"]), (&json!("poison"), &json!(true)), "{task}");
    assert_eq!(rig.ended(&healthy).await["status"], "succeeded");
    let after = rig.submit("probe_ledger", json!({})).await;
    assert_eq!(outcomes(&rig.ended(&after).await), ["succeeded!"]);
}
