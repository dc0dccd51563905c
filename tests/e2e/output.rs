//! Plugins that talk too much, forge messages, or return too much.

use serde_json::json;

use crate::machine::resident_of;
use crate::rig::{Rig, outcomes};

// S11
#[tokio::test]
async fn chatty_plugins_neither_hang_nor_fill_the_node() {
    let rig = Rig::up(&["probe_chatty", "probe_sleep"]).await;
    let before = resident_of(rig.pid());
    let modes = ["stderr5m", "stdout5m", "longline", "nonewline", "native5m", "shortlines"];
    let mut ids = Vec::new();
    for mode in modes {
        let payload = json!({"mode": mode, "bytes": if mode.ends_with("line") { 10_000_000 } else { 5_000_000 }});
        ids.push(rig.submit_as(json!({"task_type": "probe_chatty", "payload": payload, "max_attempts": 1})).await);
    }
    for _ in 0..8 {
        ids.push(rig.submit("probe_sleep", json!({"seconds": 0.2})).await);
    }
    for task in rig.all_ended(&ids).await {
        assert_eq!(outcomes(&task), ["succeeded!"], "{task}");
        assert!(task["last_seq"].as_u64().unwrap() < 5_000, "all of it became events: {}", task["last_seq"]);
    }
    let grown = resident_of(rig.pid()).saturating_sub(before);
    assert!(grown < 150, "the node grew by {grown} MiB");
}

// S12
#[tokio::test]
async fn prints_are_logs_and_never_messages() {
    let rig = Rig::up(&["probe_print"]).await;
    let mut ids = Vec::new();
    for _ in 0..20 {
        ids.push(rig.submit("probe_print", json!({})).await);
    }
    for task in rig.all_ended(&ids).await {
        assert_eq!((&task["result"], outcomes(&task)), (&json!({"exact": true}), vec!["succeeded!".to_owned()]));
        assert_eq!((&task["stage"], &task["partial"]), (&json!("one"), &json!(["between"])), "{task}");
        assert_eq!(task["progress"], 0.5);
        let id = task["task_id"].as_str().unwrap();
        let kinds: Vec<_> = rig.events(id).await.iter().map(|it| it["kind"].as_str().unwrap().to_owned()).collect();
        assert_eq!(kinds.iter().filter(|kind| *kind == "output").count(), 1, "{kinds:?}");
        assert_eq!(kinds.iter().filter(|kind| *kind == "state").count(), 3, "{kinds:?}");
    }
    assert_eq!(rig.metric("windlass_worker_exits_total").await, 0.0, "a host broke");
}

// S27
#[tokio::test]
async fn what_is_too_large_ends_clearly_and_is_not_tried_again() {
    let rig = Rig::up(&["probe_big", "probe_sleep"]).await;
    let mut ids = Vec::new();
    for payload in [
        json!({"result": 1 << 20}),
        json!({"result": 5 << 20}),
        json!({"result": 17 << 20}),
        json!({"event": 20_000}),
        json!({"event": 1 << 20}),
        json!({"message": 1 << 20}),
    ] {
        ids.push(rig.submit("probe_big", payload).await);
    }
    let error =
        rig.submit_as(json!({"task_type": "probe_big", "payload": {"error": 5 << 20}, "max_attempts": 1})).await;
    let normal = rig.submit("probe_sleep", json!({"seconds": 0})).await;
    let tasks = rig.all_ended(&ids).await;
    assert_eq!(tasks[0]["result"].as_str().map(str::len), Some(1 << 20));
    for task in &tasks[1..3] {
        assert_eq!(
            (&task["status"], &task["error"]["kind"]),
            (&json!("failed"), &json!("permanent")),
            "{}",
            task["error"]
        );
        assert_eq!(task["error"]["code"], "RESULT_TOO_LARGE");
        assert_eq!(outcomes(task).len(), 1, "tried again: {:?}", outcomes(task));
    }
    for task in &tasks[3..] {
        assert_eq!(outcomes(task), ["succeeded!"], "{}", task["error"]);
    }
    let task = rig.ended(&error).await;
    let detail = task["error"]["detail"].as_str().unwrap().len();
    assert!(detail < 70_000, "{detail} bytes of error are kept");
    assert_eq!(rig.ended(&normal).await["status"], "succeeded");
    let request = json!({"task_type": "probe_sleep", "payload": {"pad": "x".repeat(17 << 20)}});
    let answer = rig.http.post(format!("{}/api/v1/tasks", rig.url)).json(&request).send().await;
    // refused by its size, or the connection is closed on who goes on sending
    assert!(answer.is_err() || answer.is_ok_and(|answer| answer.status().as_u16() == 413));
    let cli = rig.cli(&["types"]).await;
    assert_eq!(cli.code, 0, "{cli:?}");
}
