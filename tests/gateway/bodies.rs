//! What strangers send: nothing of it takes the gateway down, and all of it is answered.

use reqwest::Method;
use serde_json::json;
use windlass::gateway::Settings;

use super::support::*;

#[tokio::test]
async fn malformed_bodies_are_refused_one_by_one_between_valid_tasks() {
    let world = World::new().await;
    let deep = format!("{{\"task_type\":\"hello\",\"payload\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let only_deep = "[".repeat(100_000);
    let bodies: [&[u8]; 12] = [
        b"",
        b"  ",
        b"nope",
        b"[]",
        b"\"text\"",
        b"{\"task_type\":\"hello\"",
        b"{\"task_type\":\"hello\",\"task_type\":\"hello\"}",
        b"{\"task_type\":\"hello\",\"priority\":NaN}",
        b"{\"task_type\":\"hello\",\"payload\":{\"a\":1e999}}",
        b"{\"task_type\":\"\xff\xfe\"}",
        deep.as_bytes(),
        only_deep.as_bytes(),
    ];
    for body in bodies {
        let request = world.request(Method::POST, "/api/v1/tasks").body(body.to_vec());
        refused(answer(request.send().await.unwrap()).await, 400, "INVALID_JSON");
        world.create().await;
    }
    let packed = world.request(Method::POST, "/api/v1/tasks").header("content-encoding", "gzip").body("x");
    refused(answer(packed.send().await.unwrap()).await, 415, "UNSUPPORTED_MEDIA_TYPE");
    let keyed = world.request(Method::POST, "/api/v1/tasks").header("idempotency-key", "a").json(&json!({
        "task_type": "hello", "idempotency_key": "b"
    }));
    refused(answer(keyed.send().await.unwrap()).await, 400, "INVALID_PARAMETER");
}

#[tokio::test]
async fn a_payload_is_taken_up_to_its_limit_and_refused_above() {
    let world = World::with_settings(Settings { max_payload: 1 << 20, ..Settings::default() }).await;
    // `{"x":"…"}` has 8 bytes around the text.
    let body = |len: usize| json!({"task_type": "hello", "payload": {"x": "y".repeat(len - 8)}});
    assert_eq!(world.post("/api/v1/tasks", body(1 << 20)).await.0, 202);
    refused(world.post("/api/v1/tasks", body((1 << 20) + 1)).await, 413, "TOO_LARGE");
    refused(world.post("/api/v1/tasks", body(6 << 20)).await, 413, "TOO_LARGE");
    world.create().await;
}

#[tokio::test]
async fn a_body_that_never_comes_is_given_up() {
    let settings = Settings { read_timeout: std::time::Duration::from_millis(200), ..Settings::default() };
    let world = World::with_settings(settings).await;
    let head = "POST /api/v1/tasks HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 100\r\n\r\n{";
    let answer = world.raw(head.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("REQUEST_TIMEOUT"), "{answer}");
    // A head that never comes is not even answered; the connection is closed.
    world.raw(b"GET /healthz HTT").await;
}

#[tokio::test]
async fn addresses_and_methods_that_there_are_not_are_problems_too() {
    let world = World::new().await;
    refused(world.get("/nope").await, 404, "NOT_FOUND");
    refused(world.get("/api/v1/tasks/%FF/events").await, 404, "NOT_FOUND");
    refused(world.get("/api/v1/tasks/no-id").await, 404, "TASK_NOT_FOUND");
    refused(world.get("/api/v1/tasks/0198c5a0-7a3e-7c3a-9a55-0d5a3c1f2b4e").await, 404, "TASK_NOT_FOUND");
    let put = world.request(Method::PUT, "/api/v1/tasks").send().await.unwrap();
    assert_eq!(put.headers()["allow"], "POST,GET,HEAD");
    refused(answer(put).await, 405, "METHOD_NOT_ALLOWED");
    for bad in ["?limit=0", "?limit=201", "?status=done", "?state=failed", "?cursor=x", "?task_type=A", "?status=%FF"] {
        refused(world.get(&format!("/api/v1/tasks{bad}")).await, 400, "INVALID_PARAMETER");
    }
    let id = world.create().await;
    for bad in ["?wait=61", "?wait=-1", "?wait=NaN", "?wiat=1"] {
        refused(world.get(&format!("/api/v1/tasks/{id}{bad}")).await, 400, "INVALID_PARAMETER");
    }
    let body = json!({"reason": 5, "resaon": "x"});
    let problem = refused(world.post(&format!("/api/v1/tasks/{id}/cancel"), body).await, 422, "INVALID_REQUEST");
    assert_eq!(problem["errors"].as_array().unwrap().len(), 2);
}
