//! Who reads event streams.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::machine::descriptors_of;
use crate::rig::{PATIENCE, Rig};

/// Reads a stream to its end: the events.
async fn read(http: reqwest::Client, url: String, id: String, after: u64) -> Vec<Value> {
    let request = http.get(format!("{url}/api/v1/tasks/{id}/events")).header("accept", "text/event-stream");
    let request = if after > 0 { request.header("last-event-id", after.to_string()) } else { request };
    let answer = tokio::time::timeout(PATIENCE, async { request.send().await.unwrap().text().await.unwrap() });
    events(&answer.await.expect("the server closes the stream"))
}

fn events(text: &str) -> Vec<Value> {
    text.lines().filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok()).collect()
}

fn assert_whole(seen: &[Value], status: &str) {
    let numbers: Vec<_> = seen.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=seen.len() as u64).collect::<Vec<_>>());
    assert_eq!(seen.last().unwrap()["data"]["status"], status, "{seen:?}");
}

// S28
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_watcher_around_the_end_gets_the_end() {
    let rig = Rig::up(&["probe_sleep", "probe_fail", "probe_die"]).await;
    let done = json!({"task_type": "probe_sleep", "payload": {"seconds": 0.6}});
    let failed = json!({"task_type": "probe_fail", "payload": {"kind": "permanent", "seconds": 0.6}});
    let dead = json!({"task_type": "probe_die", "payload": {"when": "always", "after": 0.2}});
    let late =
        json!({"task_type": "probe_sleep", "payload": {"seconds": 9}, "timeout_seconds": 0.6, "max_attempts": 1});
    let cancelled = json!({"task_type": "probe_sleep", "payload": {"seconds": 9}});
    let mut tasks = Vec::new();
    for (request, status) in
        [(done, "succeeded"), (failed, "failed"), (dead, "failed"), (late, "failed"), (cancelled, "cancelled")]
    {
        tasks.push((rig.submit_as(request).await, status));
    }
    let mut readers = JoinSet::new();
    for n in 0..300u64 {
        let (id, status) = tasks[n as usize % tasks.len()].clone();
        let (http, url) = (rig.http.clone(), rig.url.clone());
        readers.spawn(async move {
            tokio::time::sleep(Duration::from_millis(300 + n * 2)).await;
            assert_whole(&read(http, url, id, 0).await, status);
        });
    }
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert_eq!(rig.cancel(&tasks[4].0).await.0, 202);
    while let Some(reader) = readers.join_next().await {
        reader.unwrap();
    }
    // long after it
    let at = Instant::now();
    for (id, status) in &tasks {
        assert_whole(&read(rig.http.clone(), rig.url.clone(), id.clone(), 0).await, status);
    }
    assert!(at.elapsed() < Duration::from_secs(5), "{:?}", at.elapsed());
    let unknown = format!("{}/api/v1/tasks/{}/events", rig.url, uuid::Uuid::now_v7());
    let answer = rig.http.get(unknown).header("accept", "text/event-stream").send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 404);
    rig.until("no reader to be counted", async || (rig.metric("windlass_sse_clients").await == 0.0).then_some(()))
        .await;
}

// S29
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_reader_loses_nothing_and_holds_up_nobody() {
    let rig = Rig::up(&["probe_stream", "probe_sleep"]).await;
    let id = rig.submit("probe_stream", json!({"n": 3000, "pad": 1000, "delay": 0.0002})).await;
    let stream = || rig.http.get(format!("{}/api/v1/tasks/{id}/events", rig.url)).header("accept", "text/event-stream");
    // one that reads a little and stops, one at full speed
    let mut slow = stream().send().await.unwrap();
    let mut text = Vec::new();
    while !String::from_utf8_lossy(&text).contains("event: output") {
        text.extend(slow.chunk().await.unwrap().unwrap());
    }
    let all = read(rig.http.clone(), rig.url.clone(), id.clone(), 0).await;
    assert_whole(&all, "succeeded");
    let other = rig.submit("probe_sleep", json!({"seconds": 0})).await;
    assert_eq!(rig.ended(&other).await["status"], "succeeded");
    let values: Vec<_> = all.iter().filter(|it| it["kind"] == "output").flat_map(values).collect();
    assert_eq!(values.len(), 3000);
    assert!(values.iter().enumerate().all(|(n, value)| value["number"] == n), "out of order");
    // the slow one comes back with its last number
    let mut seen = events(&String::from_utf8_lossy(&text));
    drop(slow);
    let last = seen.last().unwrap()["seq"].as_u64().unwrap();
    seen.extend(read(rig.http.clone(), rig.url.clone(), id.clone(), last).await);
    assert_eq!(seen, all);
}

fn values(event: &Value) -> Vec<Value> {
    event["data"]["values"].as_array().unwrap().clone()
}

// S30
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_that_vanish_are_noticed_and_too_many_are_refused() {
    let rig = Rig::with(&["probe_sleep"], "[gateway]\nmax_streams = 40\n", &[]).await;
    let id = rig.submit("probe_sleep", json!({"seconds": 60})).await;
    let url = format!("{}/api/v1/tasks/{id}/events", rig.url);
    let mut before = None;
    for _ in 0..4 {
        let mut open = Vec::new();
        for _ in 0..40 {
            let mut answer = rig.http.get(&url).header("accept", "text/event-stream").send().await.unwrap();
            assert_eq!(answer.status().as_u16(), 200);
            answer.chunk().await.unwrap();
            open.push(answer);
        }
        let refused = rig.http.get(&url).header("accept", "text/event-stream").send().await.unwrap();
        assert_eq!(refused.status().as_u16(), 503);
        assert_eq!(refused.json::<Value>().await.unwrap()["code"], "TOO_MANY_STREAMS");
        drop(open);
        rig.until("the readers to be gone", async || (rig.metric("windlass_sse_clients").await == 0.0).then_some(()))
            .await;
        // the first round opens the store's connections
        let most = before.get_or_insert(descriptors_of(rig.pid()) + 8);
        rig.until("the descriptors to be closed", async || (descriptors_of(rig.pid()) <= *most).then_some(())).await;
    }
    assert_eq!(rig.cancel(&id).await.0, 202);
}
