//! What exits and errors of plugins are taken for.

use serde_json::json;

use crate::rig::{Rig, outcomes};

// S36
#[tokio::test]
async fn each_way_to_die_has_its_own_code_and_none_is_a_success() {
    let rig = Rig::up(&["probe_die"]).await;
    let deaths = [
        (json!({"code": 0}), "HOST_EXITED", "exit status 0"),
        (json!({"code": 137}), "HOST_EXITED", "exit status 137"),
        (json!({"signal": "SIGSEGV"}), "HOST_SIGNALLED", "SIGSEGV"),
        (json!({"signal": "SIGKILL", "progress": 3}), "HOST_SIGNALLED", "SIGKILL"),
        (json!({"signal": "SIGTERM"}), "HOST_SIGNALLED", "SIGTERM"),
    ];
    for (payload, code, detail) in deaths {
        let id = rig.submit("probe_die", payload.clone()).await;
        let task = rig.ended(&id).await;
        assert_eq!(outcomes(&task), ["crashed!", "succeeded!"], "{payload}: {task}");
        let error = &task["attempts"][0]["error"];
        assert_eq!(error["code"], code, "{payload}: {task}");
        assert!(error["detail"].as_str().unwrap().contains(detail), "{payload}: {error}");
    }
    // the plugin's own exit is an error like others; the host lives on
    let id = rig.submit("probe_die", json!({"exit": 3})).await;
    let task = rig.ended(&id).await;
    assert_eq!(outcomes(&task)[1], "succeeded!", "{task}");
    let id = rig.submit("probe_die", json!({"signal": "SIGSEGV", "when": "always"})).await;
    let task = rig.ended(&id).await;
    assert_eq!((&task["error"]["kind"], &task["dead_lettered"]), (&json!("poison"), &json!(true)), "{task}");
    assert_eq!(outcomes(&task), ["crashed!", "crashed!", "crashed!"], "{task}");
    assert!(rig.metric("windlass_worker_exits_total{task_type=\"probe_die\",reason=\"signal\"}").await >= 6.0);
}

// S37
#[tokio::test]
async fn errors_are_classed_by_their_type_and_never_by_their_text() {
    let rig = Rig::up(&["probe_fail"]).await;
    let ledger = rig.text("fail");
    let fail = async |mut payload: serde_json::Value| {
        let _ = std::fs::remove_file(&ledger);
        payload["ledger"] = json!(ledger);
        let id = rig.submit_as(json!({"task_type": "probe_fail", "payload": payload, "max_attempts": 5})).await;
        let task = rig.ended(&id).await;
        (task, rig.ledger("fail").len(), rig.events(&id).await)
    };
    let (task, starts, events) = fail(json!({"kind": "retryable", "times": 2, "text": "try again"})).await;
    assert_eq!((&task["status"], starts), (&json!("succeeded"), 3), "{task}");
    let ends = events.iter().filter(|it| matches!(it["data"]["status"].as_str(), Some("succeeded" | "failed")));
    assert_eq!(ends.count(), 1, "{events:?}");
    let (task, starts, _) = fail(json!({"times": 2, "text": "an unknown error"})).await;
    assert_eq!((&task["status"], starts), (&json!("succeeded"), 3), "{task}");
    for text in ["429 too many requests", "503 timeout: try again later"] {
        let (task, starts, _) = fail(json!({"kind": "permanent", "code": "BAD_MODEL", "text": text})).await;
        assert_eq!((&task["status"], starts), (&json!("failed"), 1), "{task}");
        let error = &task["error"];
        assert_eq!((&error["code"], &error["kind"]), (&json!("BAD_MODEL"), &json!("permanent")), "{task}");
        assert_eq!(error["detail"], text);
    }
    let (task, starts, _) = fail(json!({"text": "broken", "times": 100})).await;
    assert_eq!((&task["error"]["kind"], starts), (&json!("exhausted"), 5), "{task}");
    assert_eq!(task["error"]["code"], "PLUGIN_ERROR");
    assert!(task["error"]["detail"].as_str().unwrap().starts_with("Inference failed:"), "{task}");
    // the plugin's own pause is kept
    let (task, _, events) = fail(json!({"kind": "retryable", "times": 1, "retry_after": 1.5, "text": "busy"})).await;
    assert_eq!(task["status"], "succeeded");
    let retry = events.iter().find(|event| event["data"]["reason"] == "retry").unwrap();
    assert_eq!(retry["data"]["delay_ms"], 1500, "{retry}");
}

// S05
#[tokio::test]
async fn a_task_over_its_memory_limit_is_dead_lettered_after_its_attempts() {
    let rig = Rig::with(&["probe_memory", "probe_sleep"], "[types.probe_memory]\nmemory_mb = 120\n", &[]).await;
    let id = rig.submit("probe_memory", json!({"mb": 300, "seconds": 10})).await;
    let healthy = rig.submit("probe_memory", json!({"mb": 16, "seconds": 0.2})).await;
    let task = rig.ended(&id).await;
    let charged = outcomes(&task).iter().filter(|it| *it == "crashed!").count();
    assert!(charged == 3 && outcomes(&task).len() <= 4, "{task}");
    assert_eq!((&task["error"]["code"], &task["error"]["kind"]), (&json!("OUT_OF_MEMORY"), &json!("poison")), "{task}");
    assert!(task["error"]["detail"].as_str().unwrap().contains("120 MiB"), "{task}");
    assert_eq!(rig.ended(&healthy).await["status"], "succeeded");
}
