//! Types, nodes, figures, health, the description; and what only an embedded node adds.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use metrics_exporter_prometheus::PrometheusBuilder;
use reqwest::Method;
use serde_json::{Value, json};
use windlass::gateway::{Admin, Readiness};

use super::support::*;

#[tokio::test]
async fn types_nodes_and_figures_are_shown() {
    let world = World::new().await;
    world.dead_letter().await;
    world.create().await;
    let (_, types) = world.get("/api/v1/task-types").await;
    let hello = &types["task_types"][0];
    assert_eq!((&hello["type"], &hello["available"], &hello["instances"]), (&json!("hello"), &json!(true), &json!(1)));
    assert_eq!((&hello["metadata"]["kind"], &hello["metadata"]["takeover"]), (&json!("python"), &json!("pulse")));
    let (_, nodes) = world.get("/api/v1/nodes").await;
    let node = &nodes["nodes"][0];
    assert_eq!((&node["id"], &node["state"], &node["live"]), (&json!("node-1"), &json!("serving"), &json!(true)));
    assert_eq!((&node["capabilities"], &node["slots"]["hello"]["busy"]), (&json!(["hello"]), &json!(1)));
    let (_, tree) = world.get("/api/v1/nodes/node-1/tree").await;
    assert_eq!(tree["actors"][0]["path"], "node");
    refused(world.get("/api/v1/nodes/node-2/tree").await, 404, "NODE_NOT_FOUND");
    let (_, stats) = world.get("/api/v1/stats").await;
    assert_eq!(stats["tasks"][0]["count"], 1);
    assert_eq!(stats["dead_letters"], json!([{"task_type": "hello", "count": 1}]));
}

#[tokio::test]
async fn a_type_is_paused_and_resumed() {
    let world = World::new().await;
    let (status, paused) = world.post("/api/v1/task-types/hello/pause", json!({})).await;
    assert_eq!((status.as_u16(), &paused["paused"]), (200, &json!(true)));
    assert_eq!(world.get("/api/v1/task-types").await.1["task_types"][0]["paused"], true);
    world.create().await;
    let (_, resumed) = world.post("/api/v1/task-types/hello/resume", Value::Null).await;
    assert_eq!(resumed["paused"], false);
    refused(world.post("/api/v1/task-types/nope/pause", json!({})).await, 404, "TASK_TYPE_NOT_FOUND");
    refused(world.post("/api/v1/task-types/No%20Name/pause", json!({})).await, 404, "TASK_TYPE_NOT_FOUND");
}

#[tokio::test]
async fn readiness_has_its_reasons() {
    let readiness = Readiness { reasons: vec!["the pool of `hello` has no host".into()] };
    let world = World::with(Extras { readiness, ..Extras::default() }).await;
    let (status, body) = world.get("/readyz").await;
    assert_eq!((status.as_u16(), &body["reasons"][0]), (503, &json!("the pool of `hello` has no host")));
    assert_eq!(world.get("/healthz").await.0, 200);
    assert!(world.get("/metrics").await.1.as_str().unwrap().contains("windlass_build_info 1"));
}

#[tokio::test]
async fn a_scrape_has_the_clusters_figures_and_forgets_what_is_gone() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    // The test and its gateway share this thread, and no other test does.
    let _guard = metrics::set_default_local_recorder(&recorder);
    let world = World::with(Extras { metrics: Some(handle), ..Extras::default() }).await;
    let dead = world.dead_letter().await;
    let id = world.create().await;
    let reader = super::streams::open(&world, id, None).await;
    let scrape = || async { world.get("/metrics").await.1.as_str().unwrap().to_owned() };
    let text = scrape().await;
    for line in [
        "windlass_tasks_created_total{task_type=\"hello\"} 2",
        "windlass_tasks{task_type=\"hello\",status=\"queued\"} 1",
        "windlass_dead_letters{task_type=\"hello\"} 1",
        "windlass_sse_clients 1",
    ] {
        assert!(text.contains(line), "{line}:\n{text}");
    }
    assert!(text.contains("windlass_oldest_task_age_seconds{task_type=\"hello\",status=\"queued\"}"));
    assert!(!text.contains(&id.to_string()));
    drop(reader);
    world.post(&format!("/api/v1/tasks/{id}/cancel"), json!({})).await;
    world.post("/api/v1/dead-letters/discard", json!({"ids": [dead]})).await;
    let gone = [
        "windlass_tasks{task_type=\"hello\",status=\"queued\"} 0",
        "windlass_dead_letters{task_type=\"hello\"} 0",
        "windlass_sse_clients 0",
    ];
    patiently(async {
        loop {
            let text = scrape().await;
            if gone.iter().all(|line| text.contains(line)) {
                break;
            }
        }
    })
    .await;
}

struct Lever(AtomicBool);

#[async_trait]
impl Admin for Lever {
    async fn drain(&self) {
        self.0.store(true, Ordering::SeqCst);
    }
    fn has_chaos(&self) -> bool {
        true
    }
    async fn chaos_kill(&self, path: &str, mode: &str) -> Result<(), String> {
        if path == "node/pools/hello" && mode == "panic" { Ok(()) } else { Err(format!("there is no actor `{path}`")) }
    }
}

#[tokio::test]
async fn an_embedded_node_is_drained_and_shown() {
    let lever = Arc::new(Lever(AtomicBool::new(false)));
    let extras = Extras { admin: Some(lever.clone()), tree: Some(json!({"actors": []})), ..Extras::default() };
    let world = World::with(extras).await;
    assert_eq!(world.get("/api/v1/tree").await.1, json!({"actors": []}));
    assert_eq!(world.post("/api/v1/drain", Value::Null).await.0, 202);
    assert!(lever.0.load(Ordering::SeqCst));
    let kill = |path: &str, mode: &str| world.post("/api/v1/chaos/kill", json!({"path": path, "mode": mode}));
    assert_eq!(kill("node/pools/hello", "panic").await.0, 200);
    refused(kill("node/pools/nope", "stop").await, 404, "NOT_FOUND");
    refused(kill("node", "explode").await, 422, "INVALID_REQUEST");
    let bare = World::new().await;
    for path in ["/api/v1/drain", "/api/v1/chaos/kill", "/api/v1/tree"] {
        refused(bare.post(path, json!({})).await, 404, "NOT_FOUND");
    }
}

#[tokio::test]
async fn every_described_call_is_served_and_every_call_of_the_contract_is_described() {
    let lever = Arc::new(Lever(AtomicBool::new(false)));
    let extras = Extras { admin: Some(lever), tree: Some(json!({"actors": []})), ..Extras::default() };
    let world = World::with(extras).await;
    let (_, description) = world.get("/openapi.json").await;
    let mut described = Vec::new();
    for (path, operations) in description["paths"].as_object().unwrap() {
        for method in operations.as_object().unwrap().keys() {
            let address = path.replace("{id}", "nope").replace("{type}", "nope");
            let request = world.request(method.to_uppercase().parse::<Method>().unwrap(), &address);
            let (status, body) = answer(request.send().await.unwrap()).await;
            assert!(status != 405 && status.as_u16() != 500 && body["code"] != "NOT_FOUND", "{method} {path}: {body}");
            described.push(format!("{method} {path}"));
        }
    }
    described.sort();
    let contract = [
        "get /",
        "get /api/v1/dead-letters",
        "get /api/v1/nodes",
        "get /api/v1/nodes/{id}/tree",
        "get /api/v1/stats",
        "get /api/v1/task-types",
        "get /api/v1/tasks",
        "get /api/v1/tasks/{id}",
        "get /api/v1/tasks/{id}/events",
        "get /api/v1/tree",
        "get /healthz",
        "get /metrics",
        "get /openapi.json",
        "get /readyz",
        "post /api/v1/chaos/kill",
        "post /api/v1/dead-letters/discard",
        "post /api/v1/dead-letters/replay",
        "post /api/v1/drain",
        "post /api/v1/task-types/{type}/pause",
        "post /api/v1/task-types/{type}/resume",
        "post /api/v1/tasks",
        "post /api/v1/tasks/cancel",
        "post /api/v1/tasks/{id}/cancel",
        "post /api/v1/tasks/{id}/replay",
    ];
    assert_eq!(described, contract);
    let text = description.to_string();
    for reference in text.split("#/components/schemas/").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(description["components"]["schemas"][reference].is_object(), "`{reference}` is not described");
    }
}
