//! Event streams: in order, without gap or duplicate, and to the end.

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::future::join_all;
use reqwest::{Method, Response};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use windlass::gateway::Settings;
use windlass_actors::domain::{Json, Outcome, Status, TaskError, TaskId, Verdict};

use super::support::*;

/// Reads frames as (number, kind, data).
pub struct Reader {
    response: Response,
    text: String,
    frames: VecDeque<(i64, String, Value)>,
}

impl Reader {
    pub fn new(response: Response) -> Self {
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["x-accel-buffering"], "no");
        assert_eq!(response.headers()["cache-control"], "no-store");
        Reader { response, text: String::new(), frames: VecDeque::new() }
    }

    pub async fn next(&mut self) -> Option<(i64, String, Value)> {
        while self.frames.is_empty() {
            let chunk = patiently(self.response.chunk()).await.unwrap()?;
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
            let Some(whole) = self.text.rfind("\n\n") else { continue };
            let rest = self.text.split_off(whole + 2);
            let frames = std::mem::replace(&mut self.text, rest);
            let frames = frames.split_terminator("\n\n").filter(|frame| !frame.starts_with(':'));
            self.frames.extend(frames.map(parse));
        }
        self.frames.pop_front()
    }

    /// The numbers until the end.
    pub async fn rest(&mut self) -> Vec<i64> {
        let mut numbers = Vec::new();
        while let Some((number, _, _)) = self.next().await {
            numbers.push(number);
        }
        numbers
    }
}

fn parse(frame: &str) -> (i64, String, Value) {
    let lines: Vec<_> = frame.trim_end().lines().collect();
    let [id, kind, data] = lines[..] else { panic!("a frame has three lines: {frame}") };
    let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
    let (id, kind) = (id.strip_prefix("id: ").unwrap().parse().unwrap(), kind.strip_prefix("event: ").unwrap());
    assert_eq!((data["seq"].as_i64(), data["kind"].as_str()), (Some(id), Some(kind)));
    (id, kind.to_owned(), data)
}

pub async fn open(world: &World, id: TaskId, last: Option<i64>) -> Response {
    let mut request = world.request(Method::GET, &format!("/api/v1/tasks/{id}/events"));
    request = request.header("accept", "text/event-stream");
    if let Some(last) = last {
        request = request.header("last-event-id", last.to_string());
    }
    request.send().await.unwrap()
}

#[tokio::test]
async fn what_is_stored_and_what_comes_follow_without_gap_or_duplicate() {
    let world = World::new().await;
    let id = world.create().await;
    let key = world.claim("hello").await;
    let record = async {
        for n in 0..300u64 {
            world.record(key, n, &[&n.to_string()]).await;
        }
        world.succeed(key).await;
    };
    let read = async {
        let readers = (0..8).map(|_| async { Reader::new(open(&world, id, None).await).rest().await });
        join_all(readers).await
    };
    let ((), all) = tokio::join!(record, read);
    for numbers in all {
        assert_eq!(numbers, (1..=303).collect::<Vec<_>>());
    }
    let (_, page) = world.get(&format!("/api/v1/tasks/{id}/events?after=300&limit=2")).await;
    let numbers: Vec<_> = page["events"].as_array().unwrap().iter().map(|e| e["seq"].as_i64().unwrap()).collect();
    assert_eq!(numbers, [301, 302]);
}

#[tokio::test]
async fn a_reader_resumes_after_every_number_and_after_the_last_there_is_nothing() {
    let world = World::new().await;
    let id = world.create().await;
    let key = world.claim("hello").await;
    world.record(key, 0, &["a", "b", "c"]).await;
    world.succeed(key).await;
    for last in 0..6 {
        let mut reader = Reader::new(open(&world, id, Some(last)).await);
        assert_eq!(reader.rest().await, (last + 1..=6).collect::<Vec<_>>());
    }
    assert_eq!(open(&world, id, Some(6)).await.status(), 204);
    assert_eq!(open(&world, id, Some(60)).await.status(), 204);
    let path = format!("/api/v1/tasks/{id}/events?after=1");
    let request = world.request(Method::GET, &path).header("accept", "text/event-stream").header("last-event-id", "4");
    assert_eq!(Reader::new(request.send().await.unwrap()).rest().await, [5, 6]);
    refused(
        answer(world.request(Method::GET, &path).header("last-event-id", "x").send().await.unwrap()).await,
        400,
        "INVALID_PARAMETER",
    );
    let unknown = TaskId(uuid::Uuid::now_v7());
    refused(answer(open(&world, unknown, None).await).await, 404, "TASK_NOT_FOUND");
}

#[tokio::test]
async fn a_thousand_streams_opened_around_the_end_all_hear_it_and_are_closed() {
    let world = World::new().await;
    let id = world.create().await;
    let key = world.claim("hello").await;
    world.record(key, 0, &["a"]).await;
    let read = |_| async {
        let mut reader = Reader::new(open(&world, id, None).await);
        let mut last = None;
        while let Some(frame) = reader.next().await {
            last = Some(frame);
        }
        last.expect("there are events").2["data"]["status"].clone()
    };
    let early = join_all((0..500).map(read));
    let around = async {
        let (late, ()) = tokio::join!(join_all((0..500).map(read)), world.succeed(key));
        late
    };
    let (early, late) = patiently(async { tokio::join!(early, around) }).await;
    assert!(early.iter().chain(&late).all(|status| status == "succeeded"));
    let after = join_all((0..100).map(read)).await;
    assert!(after.iter().all(|status| status == "succeeded"));
}

#[tokio::test]
async fn every_kind_of_end_is_told() {
    let world = World::new().await;
    let failed = Verdict::Fail {
        outcome: Outcome::Failed,
        error: TaskError::new("NO", "no"),
        kind: windlass_actors::domain::ErrorKind::Permanent,
    };
    let complete = Verdict::Complete { result: Json::trusted("1") };
    for (verdict, status) in
        [(complete, Status::Succeeded), (failed, Status::Failed), (Verdict::Cancel, Status::Cancelled)]
    {
        let id = world.create().await;
        let key = world.claim("hello").await;
        let mut reader = Reader::new(open(&world, id, Some(1)).await);
        assert_eq!(reader.next().await.unwrap().2["data"]["status"], "running");
        world.finish(key, verdict).await;
        let (_, kind, data) = reader.next().await.unwrap();
        assert_eq!((kind.as_str(), &data["data"]["status"]), ("state", &json!(status)));
        assert!(reader.next().await.is_none());
    }
    let queued = world.create().await;
    let mut reader = Reader::new(open(&world, queued, None).await);
    reader.next().await.unwrap();
    world.post(&format!("/api/v1/tasks/{queued}/cancel"), json!({})).await;
    assert_eq!(reader.next().await.unwrap().2["data"]["status"], "cancelled");
    assert!(reader.next().await.is_none());
}

#[tokio::test]
async fn an_end_that_was_replayed_does_not_close_the_stream() {
    let world = World::new().await;
    let id = world.dead_letter().await;
    world.post(&format!("/api/v1/tasks/{id}/replay"), json!({})).await;
    let mut reader = Reader::new(open(&world, id, None).await);
    for status in ["queued", "running", "failed", "queued"] {
        assert_eq!(reader.next().await.unwrap().2["data"]["status"], status);
    }
    let key = world.claim("hello").await;
    world.succeed(key).await;
    assert_eq!(reader.rest().await, [5, 6]);
}

#[tokio::test]
async fn an_idle_stream_is_kept_alive_and_its_place_is_freed_when_the_reader_leaves() {
    let settings = Settings { max_streams: 1, heartbeat: Duration::from_millis(50), ..Settings::default() };
    let world = World::with_settings(settings).await;
    let id = world.create().await;
    let mut first = open(&world, id, None).await;
    let mut heard = String::new();
    while !heard.contains("\n: ") {
        heard.push_str(std::str::from_utf8(&patiently(first.chunk()).await.unwrap().unwrap()).unwrap());
    }
    let full = open(&world, id, None).await;
    assert!(full.headers().contains_key("retry-after"));
    refused(answer(full).await, 503, "TOO_MANY_STREAMS");
    let before = world.get("/api/v1/tasks").await.1;
    let create = world.request(Method::POST, "/api/v1/tasks").header("accept", "text/event-stream");
    let refusal = create.json(&json!({"task_type": "hello"})).send().await.unwrap();
    refused(answer(refusal).await, 503, "TOO_MANY_STREAMS");
    assert_eq!(world.get("/api/v1/tasks").await.1, before);
    drop(first);
    patiently(async { while open(&world, id, None).await.status() != 200 {} }).await;
}

#[tokio::test]
async fn a_submission_can_be_answered_by_its_own_stream() {
    let world = World::new().await;
    let request = world.request(Method::POST, "/api/v1/tasks").header("accept", "text/event-stream");
    let response = request.json(&json!({"task_type": "hello"})).send().await.unwrap();
    let location = response.headers()["location"].to_str().unwrap().to_owned();
    let mut reader = Reader::new(response);
    assert_eq!(reader.next().await.unwrap().2["data"]["status"], "queued");
    let key = world.claim("hello").await;
    assert_eq!(location, format!("/api/v1/tasks/{}", key.task));
    world.succeed(key).await;
    assert_eq!(reader.rest().await, [2, 3]);
}

#[tokio::test]
async fn a_reader_who_leaves_cancels_only_if_it_asked_for_that() {
    let world = World::new().await;
    for (policy, expected) in [("cancel", "cancelled"), ("detach", "queued")] {
        let request = world.request(Method::POST, "/api/v1/tasks").header("accept", "text/event-stream");
        let response = request.json(&json!({"task_type": "hello", "on_disconnect": policy})).send().await.unwrap();
        let location = response.headers()["location"].to_str().unwrap().to_owned();
        let mut reader = Reader::new(response);
        reader.next().await.unwrap();
        drop(reader);
        let wait = if expected == "cancelled" { "20" } else { "0.2" };
        let (_, task) = world.get(&format!("{location}?wait={wait}")).await;
        assert_eq!(task["status"], expected);
    }
}

#[tokio::test]
async fn a_stream_that_came_to_its_end_cancels_nothing() {
    let world = World::new().await;
    let request = world.request(Method::POST, "/api/v1/tasks").header("accept", "text/event-stream");
    let response = request.json(&json!({"task_type": "hello", "on_disconnect": "cancel"})).send().await.unwrap();
    let mut reader = Reader::new(response);
    let key = world.claim("hello").await;
    world.succeed(key).await;
    assert_eq!(reader.rest().await, [1, 2, 3]);
    assert_eq!(world.get(&format!("/api/v1/tasks/{}", key.task)).await.1["status"], "succeeded");
}

#[tokio::test]
async fn a_reader_that_is_stuck_is_dropped_and_holds_up_nobody() {
    let settings = Settings { max_streams: 2, write_timeout: Duration::from_secs(1), ..Settings::default() };
    let world = World::with_settings(settings).await;
    let id = world.create().await;
    let key = world.claim("hello").await;
    let mut stuck = TcpStream::connect(&world.address).await.unwrap();
    let request =
        format!("GET /api/v1/tasks/{id}/events HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\r\n");
    stuck.write_all(request.as_bytes()).await.unwrap();
    let large = "x".repeat(50_000);
    let record = async {
        for n in 0..400u64 {
            world.record(key, n, &[&large]).await;
            // A store in memory never waits; the others here have a turn all the same.
            tokio::task::yield_now().await;
        }
        world.succeed(key).await;
    };
    let mut quick = Reader::new(open(&world, id, None).await);
    let (numbers, ()) = tokio::join!(quick.rest(), record);
    assert_eq!(numbers, (1..=403).collect::<Vec<_>>());
    // Its place becomes free, although it never closed.
    let other = open(&world, id, None).await;
    patiently(async { while open(&world, id, None).await.status() != 200 {} }).await;
    drop(other);
    // It was cut, not ended; what it missed it can still have.
    let mut seen = Vec::new();
    let _ = patiently(stuck.read_to_end(&mut seen)).await;
    assert!(seen.len() < 400 * 50_000);
    assert_eq!(Reader::new(open(&world, id, Some(400)).await).rest().await, [401, 402, 403]);
}
