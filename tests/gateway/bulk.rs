//! Many tasks at once, and the waiting room.

use serde_json::json;

use super::support::*;

#[tokio::test]
async fn a_bulk_cancel_takes_all_that_match_over_many_pages() {
    let world = World::new().await;
    world.serves(vec![task_type("hello"), task_type("other")]).await;
    let (_, spared) = world.post("/api/v1/tasks", json!({"task_type": "other"})).await;
    for _ in 0..450 {
        world.create().await;
    }
    let running = world.claim("hello").await;
    let filter = json!({"filter": {"task_type": "hello"}, "dry_run": true, "reason": "spring cleaning"});
    let (_, dry) = world.post("/api/v1/tasks/cancel", filter.clone()).await;
    assert_eq!((&dry["matched"], &dry["dry_run"]), (&json!(450), &json!(true)));
    assert_eq!(world.get("/api/v1/tasks?status=cancelled").await.1["tasks"], json!([]));
    let mut wet = filter;
    wet["dry_run"] = json!(false);
    let (_, done) = world.post("/api/v1/tasks/cancel", wet.clone()).await;
    assert_eq!((&done["matched"], done["ids"].as_array().unwrap().len()), (&json!(450), 450));
    // What runs is asked to stop, and matches until it has.
    let (_, again) = world.post("/api/v1/tasks/cancel", wet).await;
    assert_eq!(again["ids"], json!([running.task]));
    let (_, left) = world.get("/api/v1/tasks?status=queued").await;
    assert_eq!(left["tasks"][0]["task_id"], spared["task_id"]);
}

#[tokio::test]
async fn what_is_vague_or_misspelt_selects_nothing() {
    let world = World::new().await;
    let id = world.create().await;
    for bad in [
        json!({}),
        json!({"filter": {}}),
        json!({"filter": {"typ": "hello"}}),
        json!({"ids": ["x"]}),
        json!({"filter": {"task_type": 5}}),
        json!({"filter": {"task_type": "A"}}),
        json!({"idss": []}),
    ] {
        refused(world.post("/api/v1/tasks/cancel", bad).await, 422, "INVALID_REQUEST");
    }
    let (_, none) = world.post("/api/v1/tasks/cancel", json!({"ids": []})).await;
    assert_eq!(none["matched"], 0);
    assert_eq!(world.get(&format!("/api/v1/tasks/{id}")).await.1["status"], "queued");
}

#[tokio::test]
async fn dead_letters_are_listed_replayed_and_discarded_once() {
    let world = World::new().await;
    let mut letters = Vec::new();
    for _ in 0..4 {
        letters.push(world.dead_letter().await.to_string());
    }
    let (_, list) = world.get("/api/v1/dead-letters?limit=3").await;
    assert_eq!(list["tasks"].as_array().unwrap().len(), 3);
    assert_eq!(list["tasks"][0]["error"]["kind"], "exhausted");
    assert!(list["next_cursor"].is_string());
    let one = json!({"ids": [letters[0]]});
    let (_, dry) = world.post("/api/v1/dead-letters/replay", json!({"ids": [letters[0]], "dry_run": true})).await;
    assert_eq!(dry["matched"], 1);
    let (_, first) = world.post("/api/v1/dead-letters/replay", one.clone()).await;
    assert_eq!(first["ids"], json!([letters[0]]));
    let (_, second) = world.post("/api/v1/dead-letters/replay", one).await;
    assert_eq!(second["matched"], 0);
    let two = json!({"ids": [letters[0], letters[1]]});
    let (_, discarded) = world.post("/api/v1/dead-letters/discard", two.clone()).await;
    assert_eq!(discarded["ids"], json!([letters[1]]));
    assert_eq!(world.post("/api/v1/dead-letters/discard", two).await.1["matched"], 0);
    assert_eq!(world.get(&format!("/api/v1/tasks/{}", letters[1])).await.1["status"], "failed");
    refused(world.post("/api/v1/dead-letters/replay", json!({})).await, 422, "INVALID_REQUEST");
    let (_, rest) = world.post("/api/v1/dead-letters/replay", json!({"filter": {"task_type": "hello"}})).await;
    assert_eq!(rest["matched"], 2);
    assert_eq!(world.get("/api/v1/dead-letters").await.1["tasks"], json!([]));
}
