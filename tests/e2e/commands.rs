//! Each command once, against a real node.

use serde_json::json;

use crate::rig::{Rig, said, windlass};

#[tokio::test]
async fn submit_waits_follows_and_exits_as_the_task_ended() {
    let rig = Rig::up(&["probe_stream", "probe_fail", "probe_sleep"]).await;
    let ended = rig.cli(&["submit", "probe_stream", "--payload", "{\"n\":2}", "--wait"]).await;
    assert_eq!(ended.code, 0, "{ended:?}");
    let lines: Vec<_> = ended.out.lines().collect();
    let task: serde_json::Value = serde_json::from_str(lines[1]).unwrap();
    assert_eq!(
        (lines.len(), &task["task_id"], &task["result"]),
        (2, &json!(lines[0]), &json!({"sent": 2})),
        "{ended:?}"
    );
    let failing = ["submit", "probe_fail", "--payload", "{\"kind\":\"permanent\",\"code\":\"NO\"}", "--follow"];
    let ended = rig.cli(&failing).await;
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(ended.out.contains("failed  NO: as told"), "{ended:?}");
    std::fs::write(rig.path("long.json"), "{\"seconds\":60}").unwrap();
    let follow = rig.cli(&["submit", "probe_sleep", "--payload", "@long.json", "--follow", "--json"]);
    let cancel = async {
        let id = rig
            .until("the task", async || {
                let page = rig.get("/api/v1/tasks?task_type=probe_sleep").await;
                page["tasks"][0]["task_id"].as_str().map(str::to_owned)
            })
            .await;
        rig.running(&id).await;
        rig.cli(&["task", "cancel", &id, "--reason", "enough"]).await
    };
    let (ended, cancelled) = tokio::join!(follow, cancel);
    assert_eq!((ended.code, cancelled.code), (2, 0), "{ended:?} {cancelled:?}");
    assert!(ended.out.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()), "{ended:?}");
    let ended = rig.cli(&["submit", "no_such_type"]).await;
    assert!(ended.code == 1 && ended.err.contains("UNSUPPORTED_TASK_TYPE"), "{ended:?}");
    let ended = rig.cli(&["submit", "probe_sleep", "--payload", "{"]).await;
    assert_eq!(ended.code, 64, "{ended:?}");
}

#[tokio::test]
async fn tasks_and_dead_letters_are_shown_listed_cancelled_and_replayed() {
    let rig = Rig::up(&["probe_fail", "probe_sleep"]).await;
    let id = rig.submit("probe_fail", json!({"times": 3, "text": "for now"})).await;
    assert_eq!(rig.ended(&id).await["dead_lettered"], true);
    let ended = rig.cli(&["task", "show", &id]).await;
    assert!(ended.code == 0 && ended.out.contains("PLUGIN_ERROR") && ended.out.contains("OUTCOME"), "{ended:?}");
    assert_eq!(rig.cli(&["task", "show", &id, "--json"]).await.json()["attempts"].as_array().map(Vec::len), Some(3));
    let ended = rig.cli(&["task", "list", "--status", "failed"]).await;
    assert!(ended.code == 0 && ended.out.lines().count() == 2 && ended.out.contains(&id), "{ended:?}");
    assert_eq!(rig.cli(&["task", "list", "--json"]).await.json()["tasks"][0]["task_id"], id);
    let ended = rig.cli(&["task", "events", &id]).await;
    assert!(ended.code == 0 && ended.out.contains("running  attempt 3 on e2e"), "{ended:?}");
    let ended = rig.cli(&["dlq", "list", "--json"]).await;
    assert_eq!(ended.json()["tasks"][0]["task_id"], id, "{ended:?}");
    let ended = rig.cli(&["dlq", "replay", "--all", "--dry-run", "--json"]).await;
    assert_eq!((&ended.json()["matched"], &ended.json()["dry_run"]), (&json!(1), &json!(true)), "{ended:?}");
    // its budget is fresh: three more attempts, which fail, then a payload with which it works
    let ended = rig.cli(&["dlq", "replay", &id]).await;
    assert!(ended.code == 0 && ended.out.contains(&id), "{ended:?}");
    let task = rig.ended(&id).await;
    assert_eq!((&task["attempts"].as_array().map(Vec::len), &task["attempt"]), (&Some(6), &json!(3)), "{task}");
    let ended = rig.cli(&["task", "replay", &id, "--payload", "{\"times\":0}", "--fresh"]).await;
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(rig.ended(&id).await["status"], "succeeded");
    let ended = rig.cli(&["task", "replay", &id]).await;
    assert!(ended.code == 1 && ended.err.contains("NOT_FAILED"), "{ended:?}");
    let ended = rig.cli(&["task", "cancel", &id]).await;
    assert!(ended.code == 1 && ended.err.contains("ALREADY_FINISHED"), "{ended:?}");
    let long = rig.submit("probe_sleep", json!({"seconds": 60})).await;
    let ended = rig.cli(&["task", "cancel", "--type", "probe_sleep", "--json"]).await;
    assert_eq!(ended.json()["ids"], json!([long]), "{ended:?}");
    assert_eq!(rig.ended(&long).await["status"], "cancelled");
    let ended = rig.cli(&["dlq", "list"]).await;
    assert!(ended.code == 0 && ended.out.lines().count() == 1, "{ended:?}");
    let ended = rig.cli(&["task", "show", "nonsense"]).await;
    assert!(matches!(ended.code, 1 | 64), "{ended:?}");
}

#[tokio::test]
async fn types_nodes_and_the_tree_are_shown_and_a_type_is_paused() {
    let rig = Rig::up(&["probe_sleep"]).await;
    let ended = rig.cli(&["types"]).await;
    assert!(ended.code == 0 && ended.out.lines().any(|line| line.starts_with("probe_sleep  yes")), "{ended:?}");
    assert_eq!(rig.cli(&["types", "--json"]).await.json()["task_types"][0]["type"], "probe_sleep");
    let ended = rig.cli(&["nodes"]).await;
    assert!(ended.out.lines().any(|line| line.starts_with("e2e ") && line.contains("serving")), "{ended:?}");
    assert!(ended.out.contains("probe_sleep"), "{ended:?}");
    assert_eq!(rig.cli(&["nodes", "--json"]).await.json()["nodes"][0]["id"], "e2e");
    let ended = rig.cli(&["tree"]).await;
    assert!(ended.code == 0 && ended.out.contains("renewal") && ended.out.contains("probe_sleep"), "{ended:?}");
    assert!(rig.cli(&["tree", "--json"]).await.json()["actors"].as_array().is_some_and(|rows| rows.len() > 8));
    assert_eq!(rig.cli(&["type", "pause", "probe_sleep"]).await.code, 0);
    let waiting = rig.submit("probe_sleep", json!({"seconds": 0})).await;
    assert!(rig.cli(&["types", "--json"]).await.json()["task_types"][0]["paused"] == true);
    let task = rig.get(&format!("/api/v1/tasks/{waiting}?wait=1")).await;
    assert_eq!(task["status"], "queued", "a paused type was claimed: {task}");
    let ended = rig.cli(&["type", "resume", "probe_sleep", "--json"]).await;
    assert_eq!(ended.json()["paused"], false, "{ended:?}");
    assert_eq!(rig.ended(&waiting).await["status"], "succeeded");
    let ended = rig.cli(&["type", "pause", "no_such_type"]).await;
    assert!(ended.code == 1 && ended.err.contains("TASK_TYPE_NOT_FOUND"), "{ended:?}");
}

#[tokio::test]
async fn a_deployment_is_checked_beside_a_running_node() {
    let rig = Rig::up(&["probe_sleep"]).await;
    let id = rig.submit("probe_sleep", json!({"seconds": 0})).await;
    rig.ended(&id).await;
    let ended = rig.cli(&["audit", "--data", "data", "--json"]).await;
    assert_eq!(ended.code, 0, "{ended:?}");
    ended.json();
    let ended = rig.cli(&["doctor", "--data", "data"]).await;
    assert!(ended.code == 0 && ended.out.contains("in use by a running node"), "{ended:?}");
    assert!(rig.cli(&["doctor", "--data", "data", "--json"]).await.json().is_array());
    let ended = rig.cli(&["migrate", "--check", "--data", "data"]).await;
    assert!(ended.code == 0 && ended.out.contains("up to date"), "{ended:?}");
    let ended = rig.cli(&["doctor", "--data", "nothing"]).await;
    assert!(ended.code == 0 && ended.out.contains("is made at the first start"), "{ended:?}");
    assert!(!rig.path("nothing").exists(), "the doctor made a data folder");
    let ended = rig.cli(&["migrate", "--check", "--data", "nothing"]).await;
    assert!(ended.code == 1 && ended.err.contains("no schema yet"), "{ended:?}");
    let ended = rig.cli(&["config", "show", "--config", "windlass.toml"]).await;
    let lease = ended.out.lines().find(|line| line.contains("node.lease")).unwrap_or_default();
    assert!(ended.code == 0 && lease.contains("3s") && lease.contains("windlass.toml"), "{ended:?}");
    rig.cli(&["config", "show", "--json"]).await.json();
    let ended = rig.cli(&["plugins", "check", "plugins"]).await;
    assert!(ended.code == 0 && ended.out.contains("probe_sleep"), "{ended:?}");
    let ended = rig.cli(&["plugins", "check", "plugins", "--json"]).await;
    assert_eq!(ended.json()["types"][0]["name"], "probe_sleep", "{ended:?}");
    let broken = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/plugins_broken");
    let ended = rig.cli(&["plugins", "check", broken]).await;
    assert_eq!(ended.code, 1, "{ended:?}");
    for name in ["syntax_error.py", "import_error.py", "exits.py", "duplicate_b.py", "bad_name.py"] {
        assert!(ended.out.contains(name), "{name}: {ended:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    let mut alone = windlass(folder.path(), &["types"]);
    alone.env("WINDLASS_URL", "http://127.0.0.1:9");
    let ended = said(alone).await;
    assert!(ended.code == 69 && ended.err.contains("hint"), "{ended:?}");
}
