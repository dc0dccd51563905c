//! Nothing leaks, whatever way tasks end.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::machine::{descriptors_of, resident_of, zombies_of};
use crate::rig::Rig;

const TYPES: [&str; 6] = ["probe_sleep", "probe_die", "probe_fail", "probe_hang", "probe_print", "probe_slow_stop"];

/// A task that ends in the `n`th way: well, by error, by exit, by signal, by timeout, cancelled while it waits or runs.
async fn end_somehow(rig: &Rig, n: usize) -> String {
    let request = match n % 8 {
        0 => json!({"task_type": "probe_sleep", "payload": {"seconds": 0.05}}),
        1 => json!({"task_type": "probe_fail", "payload": {"times": 1}}),
        2 => json!({"task_type": "probe_die", "payload": {"code": 3}}),
        3 => json!({"task_type": "probe_die", "payload": {"signal": "SIGKILL"}}),
        4 => json!({"task_type": "probe_sleep", "payload": {"seconds": 60}, "timeout_seconds": 0.2, "max_attempts": 1}),
        5 => json!({"task_type": "probe_sleep", "payload": {"seconds": 60}}),
        6 => json!({"task_type": "probe_slow_stop", "payload": {"seconds": 0.1}}),
        _ => json!({"task_type": "probe_print"}),
    };
    let id = rig.submit_as(request).await;
    if matches!(n % 8, 5 | 6) {
        if n % 16 > 8 {
            rig.running(&id).await;
        }
        assert_eq!(rig.cancel(&id).await.0 / 100, 2);
    }
    id
}

async fn assert_all_is_free(rig: &Rig) {
    let busy = async || {
        let mut busy = rig.metric("windlass_leases").await;
        let text = rig.http.get(format!("{}/metrics", rig.url)).send().await.unwrap().text().await.unwrap();
        for line in text.lines().filter(|line| line.starts_with("windlass_pool_slots") && line.contains("busy")) {
            busy += line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap();
        }
        busy
    };
    rig.until("all slots to be free", async || (busy().await == 0.0).then_some(())).await;
    let tree = rig.tree().await;
    let lease = tree.iter().find(|row| row["path"].as_str().unwrap().contains("/lease/"));
    assert_eq!(lease, None);
}

// S13
#[tokio::test]
async fn every_slot_comes_back_whatever_way_tasks_end() {
    let mut rig = Rig::up(&TYPES).await;
    let mut ids = Vec::new();
    for n in 0..48 {
        ids.push(end_somehow(&rig, n).await);
    }
    let hangs = json!({"task_type": "probe_hang", "payload": {}, "timeout_seconds": 0.5, "max_attempts": 1});
    ids.push(rig.submit_as(hangs).await);
    let tasks = rig.all_ended(&ids).await;
    let count = |status: &str| tasks.iter().filter(|task| task["status"] == status).count();
    assert_eq!((count("succeeded"), count("failed"), count("cancelled")), (30, 7, 12), "{:?}", statuses(&tasks));
    assert_all_is_free(&rig).await;
    // and after the death of the node with work under way
    let mut more = Vec::new();
    for n in 0..12 {
        more.push(end_somehow(&rig, n).await);
    }
    rig.kill().await;
    rig.start().await;
    rig.all_ended(&more).await;
    assert_all_is_free(&rig).await;
    // full parallelism: four threads of one host
    let mut last = Vec::new();
    for _ in 0..4 {
        last.push(rig.submit("probe_sleep", json!({"seconds": 1})).await);
    }
    rig.until("four at once", async || {
        (rig.metric("windlass_pool_slots{task_type=\"probe_sleep\",state=\"busy\"}").await == 4.0).then_some(())
    })
    .await;
    rig.all_ended(&last).await;
    assert_all_is_free(&rig).await;
}

fn statuses(tasks: &[Value]) -> Vec<String> {
    tasks.iter().map(|task| format!("{} {}", task["task_type"], task["status"])).collect()
}

// S39, S24
#[tokio::test]
async fn descriptors_memory_and_files_stay_flat_over_hundreds_of_tasks() {
    let rig = Rig::up(&TYPES).await;
    let mut before = None;
    for round in 0..5 {
        let mut ids = Vec::new();
        for n in 0..60 {
            // one in ten ends badly
            ids.push(end_somehow(&rig, if n % 10 == 9 { 1 + round } else { 7 * (n % 2) }).await);
        }
        rig.all_ended(&ids).await;
        assert_all_is_free(&rig).await;
        let now = (descriptors_of(rig.pid()), resident_of(rig.pid()));
        let (descriptors, memory) = *before.get_or_insert(now);
        // a few come and go: connections of this test, hosts that are replaced
        assert!(now.0 <= descriptors + 12, "{descriptors} descriptors, then {} in round {round}", now.0);
        assert!(now.1 <= memory + 60, "{memory} MiB, then {} in round {round}", now.1);
        let at = Instant::now();
        while zombies_of(rig.pid()) > 0 {
            assert!(at.elapsed() < Duration::from_secs(2), "zombies");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    let log = std::fs::metadata(rig.path("data/windlass.db-wal")).map_or(0, |it| it.len());
    assert!(log < 32 << 20, "the write-ahead log has {log} bytes");
}
