//! `POST /api/v1/tasks`.

use reqwest::Method;
use serde_json::json;
use windlass::gateway::{Offline, Settings};
use windlass_actors::domain::{CredentialMode, Json, TaskId};
use windlass_actors::ports::registry::NodeState;

use super::support::*;

#[tokio::test]
async fn a_task_is_created_and_told_where_it_is() {
    let world = World::new().await;
    let request = world.request(Method::POST, "/api/v1/tasks").json(&json!({
        "task_type": "hello", "payload": {"a": 1}, "model_spec": {"m": 1}, "inference_params": {"t": 0.5},
        "credential": {"api_key": "s3cret"}, "priority": 7, "max_attempts": 5, "timeout_seconds": 1.5,
        "deadline_seconds": 600, "not_before": "2020-01-01T00:00:00+02:00", "metadata": {"mine": true},
        "on_disconnect": "cancel",
    }));
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 202);
    let location = response.headers()["location"].to_str().unwrap().to_owned();
    let body: serde_json::Value = response.json().await.unwrap();
    assert_eq!((&body["status"], &body["created"]), (&json!("queued"), &json!(true)));
    assert_eq!(location, format!("/api/v1/tasks/{}", body["task_id"].as_str().unwrap()));
    let (status, task) = world.get(&location).await;
    assert_eq!(status, 200);
    let expected = [
        "attempt",
        "attempts",
        "cancel_requested_at",
        "created_at",
        "dead_lettered",
        "deadline_at",
        "epoch",
        "error",
        "finished_at",
        "last_seq",
        "lease_until",
        "max_attempts",
        "metadata",
        "node_id",
        "not_before",
        "owner",
        "partial",
        "priority",
        "progress",
        "result",
        "stage",
        "started_at",
        "status",
        "task_id",
        "task_type",
    ];
    let mut names: Vec<_> = task.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, expected);
    assert_eq!((&task["priority"], &task["max_attempts"], &task["owner"]), (&json!(7), &json!(5), &json!("default")));
    assert_eq!(task["metadata"], json!({"mine": true}));
    assert!(task["created_at"].as_str().unwrap().ends_with('Z'));
    let id: TaskId = body["task_id"].as_str().unwrap().parse().unwrap();
    let stored = world.store.task(id).await.unwrap().unwrap();
    assert_eq!((stored.payload.as_str(), stored.model_spec.as_str()), (r#"{"a":1}"#, r#"{"m":1}"#));
    assert!(!format!("{stored:?}").contains("s3cret"));
}

#[tokio::test]
async fn a_payload_reaches_the_store_byte_by_byte() {
    let world = World::new().await;
    let payload = "{\"z\": 1.50,\"a\":\"\\u0000\",  \"n\":12345678901234567890123}";
    let body = format!("{{\"task_type\":\"hello\",\"payload\":{payload}}}");
    let response = world.request(Method::POST, "/api/v1/tasks").body(body).send().await.unwrap();
    let (status, body) = answer(response).await;
    assert_eq!(status, 202, "{body}");
    let id: TaskId = body["task_id"].as_str().unwrap().parse().unwrap();
    assert_eq!(world.store.task(id).await.unwrap().unwrap().payload.as_str(), payload);
}

#[tokio::test]
async fn fifty_at_once_under_one_key_are_one_task() {
    let world = World::new().await;
    let submit = |n: usize| {
        // The same meaning, not the same bytes.
        let body = if n.is_multiple_of(2) {
            r#"{"task_type":"hello","payload":{"a":1,"b":2}}"#
        } else {
            r#"{ "payload": {"b":2, "a":1}, "task_type":"hello", "idempotency_key":"k" }"#
        };
        let request = world.request(Method::POST, "/api/v1/tasks").header("idempotency-key", "k").body(body);
        async move { answer(request.send().await.unwrap()).await }
    };
    let answers = futures_util::future::join_all((0..50).map(submit)).await;
    let created = answers.iter().filter(|(status, body)| *status == 202 && body["created"] == true).count();
    let same = answers.iter().filter(|(status, body)| *status == 200 && body["created"] == false).count();
    assert_eq!((created, same), (1, 49));
    let ids: std::collections::HashSet<_> = answers.iter().map(|(_, body)| body["task_id"].to_string()).collect();
    assert_eq!(ids.len(), 1);
    let other = json!({"task_type": "hello", "payload": {"a": 2}, "idempotency_key": "k"});
    let problem = refused(world.post("/api/v1/tasks", other).await, 409, "IDEMPOTENCY_CONFLICT");
    assert!(ids.contains(&problem["task_id"].to_string()));
}

#[tokio::test]
async fn a_type_that_was_never_known_is_refused_and_a_new_one_is_found_at_once() {
    let world = World::new().await;
    world.create().await;
    let late = json!({"task_type": "late"});
    refused(world.post("/api/v1/tasks", late.clone()).await, 422, "UNSUPPORTED_TASK_TYPE");
    refused(world.post("/api/v1/tasks", json!({"task_type": "No Name"})).await, 422, "UNSUPPORTED_TASK_TYPE");
    world.serves(vec![task_type("hello"), task_type("late")]).await;
    assert_eq!(world.post("/api/v1/tasks", late).await.0, 202);
}

#[tokio::test]
async fn a_type_that_nobody_serves_now_is_offline_or_waits() {
    for offline in [Offline::Reject, Offline::Accept] {
        let world = World::with_settings(Settings { offline, ..Settings::default() }).await;
        world.posts(vec![], NodeState::Gone).await;
        world.store.withdraw(&world.owner.node, world.owner.incarnation).await.unwrap();
        // What is cached may be a second old; this answer never is, and renews it.
        assert_eq!(world.get("/api/v1/task-types").await.1["task_types"][0]["available"], false);
        let answer = world.post("/api/v1/tasks", json!({"task_type": "hello"})).await;
        match offline {
            Offline::Reject => drop(refused(answer, 503, "TASK_TYPE_OFFLINE")),
            Offline::Accept => assert_eq!(answer.0, 202),
        }
        world.serves(vec![task_type("hello")]).await;
        world.create().await;
    }
}

#[tokio::test]
async fn a_payload_is_held_against_its_types_schema() {
    let world = World::new().await;
    let mut strict = task_type("strict");
    strict.payload_schema = Some(Json::trusted(
        r#"{"type":"object","required":["a"],"properties":{"a":{"type":"array","items":{"type":"integer"}}}}"#,
    ));
    let mut broken = task_type("broken");
    broken.payload_schema = Some(Json::trusted(r#"{"type":"nonsense"}"#));
    world.serves(vec![strict, broken]).await;
    let bad = json!({"task_type": "strict", "payload": {"a": [1, "two-hunter2"]}});
    let problem = refused(world.post("/api/v1/tasks", bad).await, 422, "PAYLOAD_INVALID");
    assert_eq!(problem["errors"][0]["pointer"], "/a/1");
    assert!(!problem.to_string().contains("hunter2"));
    refused(world.post("/api/v1/tasks", json!({"task_type": "strict"})).await, 422, "PAYLOAD_INVALID");
    let good = json!({"task_type": "strict", "payload": {"a": [1, 2]}});
    assert_eq!(world.post("/api/v1/tasks", good).await.0, 202);
    assert_eq!(world.post("/api/v1/tasks", json!({"task_type": "broken"})).await.0, 202);
}

#[tokio::test]
async fn a_type_with_a_credential_is_refused_by_name() {
    let world = World::new().await;
    for mode in [CredentialMode::CallerOrPool, CredentialMode::CallerRequired] {
        let mut paid = task_type("paid");
        paid.credential_mode = mode;
        paid.metadata_version = 1 + mode as i64;
        world.serves(vec![paid]).await;
        let body = refused(world.post("/api/v1/tasks", json!({"task_type": "paid"})).await, 422, "CREDENTIAL_REQUIRED");
        assert!(body["detail"].as_str().unwrap().contains("`paid`"));
    }
}

#[tokio::test]
async fn faults_are_named_all_at_once() {
    let world = World::new().await;
    let body = json!({"task_type": "hello", "priority": 10, "prioritty": 1, "timeout_seconds": 0, "payload": "x"});
    let problem = refused(world.post("/api/v1/tasks", body).await, 422, "INVALID_REQUEST");
    let pointers: Vec<_> =
        problem["errors"].as_array().unwrap().iter().map(|e| e["pointer"].as_str().unwrap()).collect();
    assert_eq!(pointers, ["/prioritty", "/payload", "/priority", "/timeout_seconds"]);
}
