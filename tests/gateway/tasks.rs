//! One task: reading, waiting, cancelling, replaying; and lists of them.

use serde_json::{Value, json};
use windlass_actors::domain::TaskId;

use super::support::*;

fn ids(body: &Value) -> Vec<String> {
    body["tasks"].as_array().unwrap().iter().map(|t| t["task_id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_finished_task_shows_its_result_its_output_and_its_attempts() {
    let world = World::new().await;
    let id = world.create().await;
    let key = world.claim("hello").await;
    world.record(key, 0, &["a", "b"]).await;
    world.succeed(key).await;
    let (_, task) = world.get(&format!("/api/v1/tasks/{id}")).await;
    assert_eq!((&task["status"], &task["result"]), (&json!("succeeded"), &json!({"ok": true})));
    assert_eq!(task["partial"], json!(["a", "b"]));
    assert_eq!(task["attempts"][0]["outcome"], "succeeded");
    assert_eq!(task["attempts"][0]["charged"], true);
    let (_, list) = world.get("/api/v1/tasks?status=succeeded").await;
    assert_eq!(ids(&list), [id.to_string()]);
    let item = list["tasks"][0].as_object().unwrap();
    assert!(!item.contains_key("attempts") && !item.contains_key("partial"));
}

#[tokio::test]
async fn pages_are_stable_while_tasks_arrive() {
    let world = World::new().await;
    let mut created = Vec::new();
    for _ in 0..25 {
        created.push(world.create().await.to_string());
    }
    created.reverse();
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let (_, page) = world.get(&format!("/api/v1/tasks?limit=10{cursor}")).await;
        seen.extend(ids(&page));
        world.create().await;
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen, created);
    let (_, exact) = world.get("/api/v1/tasks?limit=28").await;
    assert_eq!((ids(&exact).len(), &exact["next_cursor"]), (28, &Value::Null));
}

#[tokio::test]
async fn a_wait_ends_with_the_task_or_with_its_time() {
    let world = World::new().await;
    let id = world.create().await;
    let (_, task) = world.get(&format!("/api/v1/tasks/{id}?wait=0.05")).await;
    assert_eq!(task["status"], "queued");
    let path = format!("/api/v1/tasks/{id}?wait=60");
    let started = tokio::time::Instant::now();
    let end = async {
        let key = world.claim("hello").await;
        world.succeed(key).await;
    };
    let ((_, task), ()) = tokio::join!(world.get(&path), end);
    assert_eq!(task["status"], "succeeded");
    assert!(started.elapsed() < std::time::Duration::from_secs(10));
    assert_eq!(world.get(&path).await.1["status"], "succeeded");
}

#[tokio::test]
async fn cancelling_says_what_the_record_says() {
    let world = World::new().await;
    let cancel = |id: TaskId| format!("/api/v1/tasks/{id}/cancel");
    let queued = world.create().await;
    let (status, task) = world.post(&cancel(queued), json!({"reason": "not needed"})).await;
    assert_eq!((status.as_u16(), &task["status"]), (202, &json!("cancelled")));
    let (status, task) = world.post(&cancel(queued), json!({})).await;
    assert_eq!((status.as_u16(), &task["status"]), (200, &json!("cancelled")));
    let running = world.create().await;
    let key = world.claim("hello").await;
    let (status, task) = world.post(&cancel(running), json!({})).await;
    assert_eq!((status.as_u16(), &task["status"]), (202, &json!("running")));
    assert!(task["cancel_requested_at"].is_string());
    assert_eq!(world.post(&cancel(running), json!({})).await.0, 202, "it is still on its way");
    world.succeed(key).await;
    let problem = refused(world.post(&cancel(running), json!({})).await, 409, "ALREADY_FINISHED");
    assert_eq!(problem["task_id"], running.to_string());
    let unknown = TaskId(uuid::Uuid::now_v7());
    refused(world.post(&cancel(unknown), json!({})).await, 404, "TASK_NOT_FOUND");
}

#[tokio::test]
async fn only_what_failed_is_replayed() {
    let world = World::new().await;
    let id = world.dead_letter().await;
    let path = format!("/api/v1/tasks/{id}/replay");
    refused(world.post(&path, json!({"payload": [1]})).await, 422, "INVALID_REQUEST");
    refused(world.post(&path, json!({"fresh": "yes"})).await, 422, "INVALID_REQUEST");
    let (status, task) = world.post(&path, json!({"payload": {"new": 1}, "fresh": true})).await;
    assert_eq!((status.as_u16(), &task["status"], &task["attempt"]), (202, &json!("queued"), &json!(0)));
    assert_eq!(world.store.task(id).await.unwrap().unwrap().payload.as_str(), r#"{"new":1}"#);
    refused(world.post(&path, json!({})).await, 409, "NOT_FAILED");
}
