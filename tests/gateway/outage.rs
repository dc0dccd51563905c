//! The store goes away, hangs or panics; the runtime is wedged; the gateway stops.

use std::io::{Read, Write};
use std::time::Duration;

use serde_json::json;
use tokio_util::sync::CancellationToken;
use windlass::gateway::{Settings, spawn_on_own_thread};

use super::flaky::Mood;
use super::streams::{Reader, open};
use super::support::*;

#[tokio::test]
async fn a_store_that_is_away_is_503_and_the_gateway_comes_back_with_it() {
    let world = World::new().await;
    let id = world.create().await;
    world.flaky.be(Mood::Away);
    for path in [
        "/api/v1/tasks".to_owned(),
        format!("/api/v1/tasks/{id}"),
        format!("/api/v1/tasks/{id}/events"),
        "/api/v1/stats".into(),
    ] {
        let response = world.request(reqwest::Method::GET, &path).send().await.unwrap();
        assert_eq!(response.headers()["retry-after"], "5");
        refused(answer(response).await, 503, "STORE_UNAVAILABLE");
    }
    refused(world.post("/api/v1/tasks", json!({"task_type": "hello"})).await, 503, "STORE_UNAVAILABLE");
    refused(world.get("/api/v1/task-types").await, 503, "STORE_UNAVAILABLE");
    assert_eq!(world.get("/healthz").await.0, 200);
    assert_eq!(world.get("/metrics").await.0, 200);
    let (status, ready) = world.get("/readyz").await;
    assert_eq!(status, 503);
    assert!(ready["reasons"][0].as_str().unwrap().contains("gone fishing"), "{ready}");
    world.flaky.be(Mood::Well);
    assert_eq!(world.get("/api/v1/task-types").await.0, 200);
    assert_eq!(world.get("/readyz").await.0, 200);
    world.create().await;
}

#[tokio::test]
async fn a_store_that_does_not_answer_is_503_in_time() {
    let world =
        World::with_settings(Settings { store_timeout: Duration::from_millis(100), ..Settings::default() }).await;
    let id = world.create().await;
    world.flaky.be(Mood::Silent);
    refused(world.get(&format!("/api/v1/tasks/{id}")).await, 503, "STORE_UNAVAILABLE");
    refused(world.post(&format!("/api/v1/tasks/{id}/cancel"), json!({})).await, 503, "STORE_UNAVAILABLE");
    assert_eq!(world.get("/healthz").await.0, 200);
}

#[tokio::test]
async fn a_panic_is_a_problem_and_the_next_request_is_served() {
    let world = World::new().await;
    let id = world.create().await;
    world.flaky.be(Mood::Mad);
    refused(world.get(&format!("/api/v1/tasks/{id}")).await, 500, "INTERNAL");
    world.flaky.be(Mood::Well);
    assert_eq!(world.get(&format!("/api/v1/tasks/{id}")).await.0, 200);
}

#[tokio::test]
async fn a_stream_rides_out_an_outage() {
    let world = World::new().await;
    let id = world.create().await;
    let key = world.claim("hello").await;
    let mut reader = Reader::new(open(&world, id, None).await);
    assert_eq!(reader.next().await.unwrap().0, 1);
    assert_eq!(reader.next().await.unwrap().0, 2);
    world.flaky.be(Mood::Away);
    world.record(key, 0, &["x"]).await;
    world.succeed(key).await;
    world.flaky.be(Mood::Well);
    assert_eq!(reader.rest().await, [3, 4]);
}

#[tokio::test]
async fn it_answers_while_the_executors_runtime_is_wedged() {
    let world = World::new().await;
    let shutdown = CancellationToken::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let parts = parts(world.flaky.clone(), Extras::default(), shutdown.clone());
    let gateway = spawn_on_own_thread(listener, parts).unwrap();
    // The test's runtime has this one thread: from here on nothing else runs on it.
    for path in ["/healthz", "/readyz", "/openapi.json"] {
        let mut socket = std::net::TcpStream::connect(gateway.address()).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(socket, "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200") || path == "/readyz", "{path}: {answer}");
        assert!(answer.starts_with("HTTP/1.1 "), "{path}: {answer}");
    }
    shutdown.cancel();
    gateway.join().unwrap();
}

#[tokio::test]
async fn a_stop_ends_streams_and_waits() {
    let world = World::new().await;
    let id = world.create().await;
    let mut reader = Reader::new(open(&world, id, None).await);
    assert_eq!(reader.next().await.unwrap().0, 1);
    let path = format!("/api/v1/tasks/{id}?wait=60");
    let waiting = world.flaky.asked_standing.notified();
    let stop = async {
        waiting.await;
        world.shutdown.cancel();
        assert!(reader.next().await.is_none());
    };
    let ((status, task), ()) = tokio::join!(world.get(&path), stop);
    assert_eq!((status.as_u16(), &task["status"]), (200, &json!("queued")));
    world.stop().await;
}
