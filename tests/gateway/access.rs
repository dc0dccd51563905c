//! Who may do what.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use windlass::gateway::{ApiKey, Role, Settings};
use windlass_actors::domain::TaskId;

use super::support::*;

async fn keyed_world() -> World {
    let key = |name: &str, owner: &str, role| ApiKey::new(name, &format!("secret-{name}"), owner, role);
    let mut submit = key("submit", "anna", Role::Submit);
    submit.client_role = Some("vip".into());
    let keys = vec![
        submit,
        key("read", "anna", Role::Read),
        key("foreign", "berta", Role::Submit),
        key("operate", "ops", Role::Operate),
    ];
    World::with_settings(Settings { keys, ..Settings::default() }).await
}

async fn call(world: &World, key: &str, method: Method, path: &str, body: Option<Value>) -> (StatusCode, Value) {
    let mut request = world.request(method, path).header("x-api-key", format!("secret-{key}"));
    if let Some(body) = body {
        request = request.json(&body);
    }
    answer(request.send().await.unwrap()).await
}

async fn created(world: &World, key: &str) -> TaskId {
    let body = json!({"task_type": "hello", "idempotency_key": "same"});
    let (status, body) = call(world, key, Method::POST, "/api/v1/tasks", Some(body)).await;
    assert_eq!(status, 202, "{body}");
    body["task_id"].as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn every_call_but_health_needs_a_key() {
    let world = keyed_world().await;
    for path in ["/api/v1/tasks", "/api/v1/task-types", "/api/v1/nodes", "/api/v1/stats", "/api/v1/dead-letters"] {
        refused(world.get(path).await, 401, "UNAUTHORIZED");
        refused(call(&world, "wrong", Method::GET, path, None).await, 401, "UNAUTHORIZED");
    }
    refused(world.post("/api/v1/tasks", json!({"task_type": "hello"})).await, 401, "UNAUTHORIZED");
    for path in ["/healthz", "/readyz", "/metrics", "/openapi.json", "/"] {
        assert_eq!(world.get(path).await.0, 200, "{path}");
    }
    let bearer = world.request(Method::GET, "/api/v1/tasks").bearer_auth("secret-read").send().await.unwrap();
    assert_eq!(bearer.status(), 200);
}

#[tokio::test]
async fn each_role_may_what_it_may() {
    let world = keyed_world().await;
    let id = created(&world, "submit").await;
    let task = format!("/api/v1/tasks/{id}");
    // 0 is a refusal for want of a role; anything else is what a role that may is answered.
    let matrix = [
        (Method::GET, task.clone(), None, [200, 200, 404, 200]),
        (Method::GET, format!("{task}/events"), None, [200, 200, 404, 200]),
        (Method::GET, "/api/v1/tasks".into(), None, [200; 4]),
        (Method::GET, "/api/v1/tasks?owner=anna".into(), None, [200, 200, 0, 200]),
        (Method::GET, "/api/v1/dead-letters".into(), None, [200; 4]),
        (Method::GET, "/api/v1/task-types".into(), None, [200; 4]),
        (Method::GET, "/api/v1/nodes".into(), None, [200; 4]),
        (Method::GET, "/api/v1/stats".into(), None, [200; 4]),
        (Method::POST, "/api/v1/tasks".into(), Some(json!({"task_type": "hello"})), [202, 0, 202, 202]),
        (Method::POST, "/api/v1/task-types/hello/pause".into(), None, [0, 0, 0, 200]),
        (Method::POST, "/api/v1/task-types/hello/resume".into(), None, [0, 0, 0, 200]),
        (Method::POST, "/api/v1/tasks/cancel".into(), Some(json!({"ids": []})), [200, 0, 200, 200]),
        (Method::POST, "/api/v1/dead-letters/replay".into(), Some(json!({"ids": []})), [200, 0, 200, 200]),
        (Method::POST, "/api/v1/dead-letters/discard".into(), Some(json!({"ids": []})), [200, 0, 200, 200]),
        (Method::POST, format!("{task}/replay"), None, [409, 0, 404, 409]),
        (Method::POST, format!("{task}/cancel"), None, [202, 0, 404, 200]),
    ];
    for (method, path, body, expected) in matrix {
        for (key, expected) in ["submit", "read", "foreign", "operate"].into_iter().zip(expected) {
            let (status, answer) = call(&world, key, method.clone(), &path, body.clone()).await;
            let expected = if expected == 0 { 403 } else { expected };
            assert_eq!(status.as_u16(), expected, "{key} {method} {path}: {answer}");
        }
    }
}

#[tokio::test]
async fn a_key_of_one_owner_is_not_global_and_lists_are_ones_own() {
    let world = keyed_world().await;
    let (mine, theirs) = (created(&world, "submit").await, created(&world, "foreign").await);
    assert_ne!(mine, theirs);
    let ids = |body: &Value| -> Vec<String> {
        body["tasks"].as_array().unwrap().iter().map(|t| t["task_id"].as_str().unwrap().to_owned()).collect()
    };
    let (_, own) = call(&world, "read", Method::GET, "/api/v1/tasks", None).await;
    assert_eq!(ids(&own), [mine.to_string()]);
    let (_, all) = call(&world, "operate", Method::GET, "/api/v1/tasks", None).await;
    assert_eq!(ids(&all).len(), 2);
    let body = json!({"ids": [mine, theirs]});
    let (_, cancelled) = call(&world, "foreign", Method::POST, "/api/v1/tasks/cancel", Some(body)).await;
    assert_eq!(cancelled["ids"], json!([theirs]));
}

#[tokio::test]
async fn the_role_of_a_client_goes_with_its_task() {
    let world = keyed_world().await;
    created(&world, "submit").await;
    use windlass_actors::domain::Suspicion;
    use windlass_actors::ports::ledger::{ClaimNext, Limits};
    let claim = ClaimNext {
        task_type: name("hello"),
        most: 1,
        suspects: Suspicion::None,
        limits: Limits::default(),
        plugin_sha256: None,
        token: uuid::Uuid::now_v7(),
    };
    let claimed = world.store.claim_next(&world.owner, vec![claim]).await.unwrap().remove(0).claimed.remove(0);
    assert_eq!((claimed.client_role.as_deref(), claimed.owner.as_str()), (Some("vip"), "anna"));
}

#[tokio::test]
async fn without_keys_pages_of_other_sites_are_kept_out() {
    let world = World::new().await;
    let from = |origin: &str| {
        world.request(Method::POST, "/api/v1/tasks").header("origin", origin).body("{\"task_type\":\"hello\"}")
    };
    let foreign = from("https://example.com").send().await.unwrap();
    refused(answer(foreign).await, 403, "UNTRUSTED_ORIGIN");
    let own = from(&format!("http://{}", world.address)).send().await.unwrap();
    assert_eq!(own.status(), 202);
    let rebound = world.request(Method::GET, "/api/v1/tasks").header("host", "evil.example.com").send().await.unwrap();
    refused(answer(rebound).await, 403, "UNTRUSTED_ORIGIN");
}
