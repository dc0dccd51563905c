//! Hosts that die, stop or leave something behind.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::machine::{marked, signal, zombies_of};
use crate::rig::{Rig, is_terminal, outcomes};

// S07
#[tokio::test]
async fn a_cancel_and_a_timeout_take_the_whole_tree_of_processes() {
    let rig = Rig::up(&["probe_tree"]).await;
    let (cancelled, late) = (format!("c-{}", rig.mark().unwrap()), format!("t-{}", rig.mark().unwrap()));
    let one = rig.submit("probe_tree", json!({"marker": cancelled})).await;
    let request =
        json!({"task_type": "probe_tree", "payload": {"marker": late}, "timeout_seconds": 2, "max_attempts": 1});
    let two = rig.submit_as(request).await;
    rig.output(&one).await;
    rig.output(&two).await;
    let alive = |marker: &str| marked(&format!("PROBE_MARKER={marker}")).len();
    assert!(alive(&cancelled) >= 4 && alive(&late) >= 4);
    assert_eq!(rig.cancel(&one).await.0, 202);
    assert_eq!(rig.ended(&one).await["status"], "cancelled");
    assert_eq!(outcomes(&rig.ended(&two).await), ["timed_out!"]);
    rig.until("the processes to be gone", async || (alive(&cancelled) + alive(&late) == 0).then_some(())).await;
    // alone in its host, it is told as ended only when nothing is left
    let three = rig.submit("probe_tree", json!({"marker": cancelled})).await;
    rig.output(&three).await;
    assert_eq!(rig.cancel(&three).await.0, 202);
    let task = rig.ended(&three).await;
    assert_eq!((&task["status"], alive(&cancelled)), (&json!("cancelled"), 0), "{task}");
}

// S23
#[tokio::test]
async fn a_host_that_is_killed_is_noticed_and_replaced_idle_or_busy() {
    let rig = Rig::up(&["probe_sleep"]).await;
    let idle = rig.host("probe_sleep").await;
    signal(idle, "KILL");
    let at = Instant::now();
    let next =
        rig.until("another host", async || rig.hosts("probe_sleep").await.into_iter().find(|pid| *pid != idle)).await;
    assert!(at.elapsed() < Duration::from_secs(4), "{:?}", at.elapsed());
    let id = rig.submit("probe_sleep", json!({"seconds": 0.5})).await;
    rig.running(&id).await;
    signal(next, "KILL");
    let task = rig.ended(&id).await;
    assert_eq!(task["status"], "succeeded", "{task}");
    assert_eq!(zombies_of(rig.pid()), 0);
}

// S23
#[tokio::test]
async fn a_host_that_is_stopped_is_killed_at_the_timeout_and_the_task_retried() {
    let rig = Rig::up(&["probe_ledger"]).await;
    let payload = json!({"ledger": rig.text("stopped"), "seconds": 0.3});
    let id = rig.submit_as(json!({"task_type": "probe_ledger", "payload": payload, "timeout_seconds": 1.5})).await;
    rig.until("the start", async || rig.ledger("stopped").first().cloned()).await;
    let host = rig.host("probe_ledger").await;
    signal(host, "STOP");
    let task = rig.ended(&id).await;
    assert_eq!(outcomes(&task), ["timed_out!", "succeeded!"], "{task}");
    assert!(rig.hosts("probe_ledger").await.iter().all(|pid| *pid != host));
}

// S25
#[tokio::test]
async fn actors_killed_at_random_lose_no_task() {
    let rig = Rig::with(&["probe_ledger", "probe_stream"], "", &["--chaos"]).await;
    let mut ids = Vec::new();
    for n in 0..30 {
        let payload = json!({"ledger": rig.text("chaos"), "seconds": 0.3, "n": 10, "delay": 0.03});
        ids.push(rig.submit(["probe_ledger", "probe_stream"][n % 2], payload).await);
    }
    let paths = [
        "upkeep/renewal",
        "ledger",
        "pools/pool/probe_ledger",
        "hosts/group/probe_stream",
        "upkeep/reaper",
        "upkeep/heartbeat",
    ];
    for (n, path) in paths.iter().enumerate() {
        let mode = ["panic", "kill"][n % 2];
        let (status, answer) = rig.post("/api/v1/chaos/kill", &json!({"path": path, "mode": mode})).await;
        assert_eq!(status, 200, "{path}: {answer}");
        rig.until(&format!("{path} to be back"), async || {
            let tree = rig.tree().await;
            tree.iter().find(|row| row["path"] == *path && row["restarts"].as_u64() > Some(0)).map(|_| ())
        })
        .await;
    }
    // a lease and a host, whatever they are called now
    for part in ["/lease/", "hosts/group/probe_ledger/host/"] {
        let tree = rig.tree().await;
        let found = tree.iter().filter_map(|row| row["path"].as_str()).find(|path| path.contains(part));
        if let Some(path) = found {
            // it may have ended by itself
            rig.post("/api/v1/chaos/kill", &json!({"path": path, "mode": "panic"})).await;
        }
    }
    for task in rig.all_ended(&ids).await {
        assert_eq!(task["status"], "succeeded", "{task}\n{}", rig.said());
    }
    assert!(rig.metric("windlass_actor_restarts_total").await >= 6.0);
    rig.until("all leases to be over", async || (rig.metric("windlass_leases").await == 0.0).then_some(())).await;
}

// S25
#[tokio::test]
async fn an_actor_that_dies_again_and_again_ends_the_node_loudly() {
    let mut rig = Rig::with(&["probe_sleep"], "", &["--chaos"]).await;
    let id = rig.submit("probe_sleep", json!({"seconds": 60})).await;
    rig.running(&id).await;
    let kill = json!({"path": "ledger", "mode": "panic"});
    let url = format!("{}/api/v1/chaos/kill", rig.url);
    let over = Instant::now();
    loop {
        if rig.http.post(&url).json(&kill).send().await.is_err() {
            break;
        }
        assert!(over.elapsed() < Duration::from_secs(20), "the node bears everything:\n{}", rig.said());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let status = rig.exited(Duration::from_secs(15)).await;
    assert_eq!(status.code(), Some(1), "{}", rig.said());
    assert!(rig.said().contains("the supervision tree ended"), "{}", rig.said());
    assert!(rig.left().is_empty());
    rig.start().await;
    assert!(!is_terminal(&rig.task(&id).await));
    assert_eq!(rig.cancel(&id).await.0, 202);
    assert_eq!(rig.ended(&id).await["status"], "cancelled");
}
