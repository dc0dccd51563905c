//! The cuts: each test has the name that the table of cuts gives it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

use crate::machine::{lives, marked, signal};
use crate::rig::{Rig, outcomes};

#[tokio::test]
async fn worker_killed_mid_run() {
    let rig = Rig::up(&["probe_ledger"]).await;
    // alone in its host: it is the culprit
    let alone = rig.submit("probe_ledger", json!({"ledger": rig.text("alone"), "seconds": 0.5})).await;
    rig.until("the first start", async || rig.ledger("alone").first().cloned()).await;
    signal(rig.host("probe_ledger").await, "KILL");
    let task = rig.ended(&alone).await;
    assert_eq!(outcomes(&task), ["crashed!", "succeeded!"], "{task}");
    assert_eq!(task["attempts"][0]["error"]["code"], "HOST_SIGNALLED", "{task}");
    let events = rig.events(&alone).await;
    assert!(events.iter().any(|event| event["data"]["reason"] == "retry"), "{events:?}");
    // among neighbours nobody is
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(rig.submit("probe_ledger", json!({"ledger": rig.text("three"), "seconds": 1})).await);
    }
    rig.until("three starts", async || (rig.ledger("three").len() == 3).then_some(())).await;
    signal(rig.host("probe_ledger").await, "KILL");
    for task in rig.all_ended(&ids).await {
        assert_eq!(outcomes(&task), ["released", "succeeded!"], "{task}");
        assert_eq!(task["attempt"], 1);
    }
}

#[tokio::test]
async fn worker_hangs() {
    let rig = Rig::up(&["probe_hang"]).await;
    let marker = format!("hang-{}", rig.mark().unwrap());
    let payload = json!({"native": true, "child": true, "marker": marker, "ledger": rig.text("hang")});
    let request = json!({"task_type": "probe_hang", "payload": payload, "timeout_seconds": 1, "max_attempts": 2});
    let id = rig.submit_as(request).await;
    let first = rig.until("the first start", async || rig.ledger("hang").first().cloned()).await;
    let second = rig.until("the retry", async || rig.ledger("hang").get(1).cloned()).await;
    let old = u32::try_from(first["pid"].as_u64().unwrap()).unwrap();
    assert!(!lives(old), "the retry runs beside the attempt before it");
    assert!(second["pid"] != first["pid"] && second["attempt"] == 2, "{second}");
    assert!(marked(&format!("PROBE_MARKER={marker}")).len() <= 1, "a child of the first attempt lives");
    let task = rig.ended(&id).await;
    assert_eq!(outcomes(&task), ["timed_out!", "timed_out!"], "{task}");
    assert_eq!(task["error"]["kind"], "exhausted", "{task}");
    assert!(marked(&format!("PROBE_MARKER={marker}")).is_empty());
    // cancelled, it is killed as well, and the slot comes back
    let id = rig.submit("probe_hang", json!({"ledger": rig.text("cancel"), "child": true, "marker": marker})).await;
    rig.until("the start", async || rig.ledger("cancel").first().cloned()).await;
    assert_eq!(rig.cancel(&id).await.0, 202);
    assert_eq!(rig.ended(&id).await["status"], "cancelled");
    assert!(marked(&format!("PROBE_MARKER={marker}")).is_empty(), "told as ended while its child lives");
    let ended = rig.submit("probe_hang", json!({"seconds": 0})).await;
    assert_eq!(rig.ended(&ended).await["result"], json!({"hung": true}));
}

#[tokio::test]
async fn first_chunk_then_close() {
    let rig = Rig::up(&["probe_stream"]).await;
    let payload = json!({"n": 200, "delay": 0.05, "cleanup": 0.3, "ledger": rig.text("closed")});
    let request = json!({"task_type": "probe_stream", "payload": payload, "on_disconnect": "cancel"});
    let post = rig.http.post(format!("{}/api/v1/tasks", rig.url)).header("accept", "text/event-stream");
    let mut answer = post.json(&request).send().await.unwrap();
    let location = answer.headers()["location"].to_str().unwrap().to_owned();
    let mut read = String::new();
    while !read.contains("event: output") {
        read.push_str(std::str::from_utf8(&answer.chunk().await.unwrap().expect("output")).unwrap());
    }
    drop(answer);
    let id = location.rsplit('/').next().unwrap();
    let task = rig.ended(id).await;
    let closed = rig.ledger("closed");
    assert_eq!(closed.len(), 1, "ended before the generator's finally: {task}");
    assert!(closed[0]["sent"].as_u64().unwrap() < 200, "{closed:?}");
    assert_eq!((&task["status"], outcomes(&task)), (&json!("cancelled"), vec!["cancelled!".to_owned()]), "{task}");
    let ended_at = chrono::DateTime::parse_from_rfc3339(task["attempts"][0]["ended_at"].as_str().unwrap()).unwrap();
    assert!(closed[0]["time"].as_f64().unwrap() <= ended_at.timestamp_millis() as f64 / 1000.0 + 0.005, "{task}");
    assert_eq!(task["partial"][0], 0, "{task}");
}

#[tokio::test]
async fn cancel_while_waiting_upstream() {
    let rig = Rig::up(&["probe_astream"]).await;
    let upstream = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = upstream.local_addr().unwrap().to_string();
    let id = rig.submit("probe_astream", json!({"url": url, "ledger": rig.text("closed")})).await;
    let (mut socket, _) = upstream.accept().await.unwrap();
    let mut asked = [0; 4];
    socket.read_exact(&mut asked).await.unwrap();
    assert_eq!(rig.output(&id).await, "asking");
    let at = Instant::now();
    assert_eq!(rig.cancel(&id).await.0, 202);
    let mut rest = Vec::new();
    socket.read_to_end(&mut rest).await.unwrap();
    assert!(at.elapsed() < Duration::from_millis(500), "upstream was left after {:?}", at.elapsed());
    let task = rig.ended(&id).await;
    assert_eq!((&task["status"], &task["partial"]), (&json!("cancelled"), &json!(["asking"])), "{task}");
    let closed = rig.ledger("closed");
    assert!(closed.len() == 1 && closed[0]["cancelled"] == true, "{closed:?}");
}

#[tokio::test]
async fn success_then_response_dropped() {
    let rig = Rig::up(&["probe_stream"]).await;
    let request =
        json!({"task_type": "probe_stream", "payload": {"n": 2}, "on_disconnect": "cancel", "timeout_seconds": 5});
    for _ in 0..10 {
        let post = rig.http.post(format!("{}/api/v1/tasks", rig.url)).header("accept", "text/event-stream");
        let mut answer = post.json(&request).send().await.unwrap();
        let id = answer.headers()["location"].to_str().unwrap().rsplit('/').next().unwrap().to_owned();
        let task = rig.ended(&id).await;
        // the client has read nothing and goes
        let _ = answer.chunk().await;
        drop(answer);
        assert_eq!(task["status"], "succeeded", "{task}");
        assert_eq!(rig.cancel(&id).await.0, 409);
        let again = rig.task(&id).await;
        assert_eq!((&again["status"], &again["last_seq"]), (&task["status"], &task["last_seq"]), "{again}");
    }
}

#[tokio::test]
async fn neighbours_die_with_host() {
    let rig = Rig::up(&["probe_neighbour"]).await;
    let ledger = rig.text("ten");
    let mut ids = Vec::new();
    for n in 0..10 {
        let payload = json!({"ledger": ledger, "kill": n == 4, "seconds": 1, "after": 0.5});
        ids.push(rig.submit("probe_neighbour", payload).await);
    }
    let tasks = rig.all_ended(&ids).await;
    let (culprit, neighbours): (Vec<_>, Vec<_>) = tasks.iter().partition(|task| task["task_id"] == ids[4]);
    assert_eq!(culprit[0]["error"]["kind"], "poison", "{}", culprit[0]);
    assert_eq!(outcomes(culprit[0]), ["released", "crashed!", "crashed!", "crashed!"], "{}", culprit[0]);
    for task in &neighbours {
        assert_eq!(task["status"], "succeeded", "{task}");
        assert_eq!(outcomes(task), ["released", "succeeded!"], "{task}");
    }
    // suspects ran alone: never two of them in one process
    let starts: Vec<Value> = rig.ledger("ten").into_iter().filter(|line| line["event"] == "start").collect();
    let first = &starts[0]["pid"];
    let mut solo: Vec<_> = starts.iter().filter(|line| line["pid"] != *first).map(|line| &line["pid"]).collect();
    let all = solo.len();
    solo.sort_by_key(|pid| pid.as_u64());
    solo.dedup();
    assert_eq!((all, solo.len()), (12, 12), "{starts:?}");
    assert_eq!(rig.get("/api/v1/dead-letters").await["tasks"].as_array().map(Vec::len), Some(1));
}
