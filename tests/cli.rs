//! The command line as a process, against a gateway that plays its part: exit codes, streams that break, pipes that
//! close.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::Command;

struct Ended {
    code: i32,
    stdout: String,
    stderr: String,
}

fn windlass(url: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command
        .args(arguments)
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .env_clear()
        .env("WINDLASS_URL", url)
        .kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

async fn ended(mut command: Command) -> Ended {
    let output = command.output().await.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ended { code: output.status.code().unwrap(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

async fn run(url: &str, arguments: &[&str]) -> Ended {
    ended(windlass(url, arguments)).await
}

/// Serves `router` until the runtime of the test ends.
async fn gateway(router: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let listener = listener.into_std().unwrap();
        runtime.block_on(async { serve(tokio::net::TcpListener::from_std(listener).unwrap(), router).await });
    });
    format!("http://{address}")
}

async fn serve(listener: tokio::net::TcpListener, router: Router) {
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let (socket, _) = listener.accept().await.unwrap();
        let service = hyper_util::service::TowerToHyperService::new(router.clone());
        let socket = hyper_util::rt::TokioIo::new(socket);
        connections.spawn(hyper::server::conn::http1::Builder::new().serve_connection(socket, service));
    }
}

fn frame(seq: u64, kind: &str, data: &Value) -> String {
    let body = json!({"seq": seq, "epoch": 1, "kind": kind, "at": "2026-01-01T00:00:00Z", "data": data});
    format!("id: {seq}\nevent: {kind}\ndata: {body}\n\n")
}

/// A task whose stream breaks after each event; `status` is how it ends.
fn breaking(status: &'static str) -> Router {
    let events = move |headers: HeaderMap| async move {
        let last = headers.get("last-event-id").map_or("0", |it| it.to_str().unwrap()).to_owned();
        let body = match last.as_str() {
            "0" => frame(1, "stage", &json!({"name": "parse"})),
            // what was sent already, and half a frame that a resume must not trust
            "1" => {
                frame(1, "stage", &json!({"name": "parse"}))
                    + &frame(2, "progress", &json!({"fraction": 0.5}))
                    + "id: 3\n"
            }
            "2" => frame(3, "state", &json!({"status": status})),
            _ => return StatusCode::NO_CONTENT.into_response(),
        };
        ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
    };
    let task = move || async move { axum::Json(json!({"task_id": "t-1", "status": status, "result": {"n": 1}})) };
    let create = |body: axum::Json<Value>| async move {
        assert_eq!(body.0, json!({"task_type": "hello", "payload": {"name": "Ann"}}));
        (StatusCode::ACCEPTED, axum::Json(json!({"task_id": "t-1", "status": "queued", "created": true})))
    };
    Router::new()
        .route("/api/v1/tasks", post(create))
        .route("/api/v1/tasks/t-1", get(task))
        .route("/api/v1/tasks/t-1/events", get(events))
}

const SUBMIT: [&str; 4] = ["submit", "hello", "--payload", r#"{"name":"Ann"}"#];

#[tokio::test]
async fn following_survives_broken_streams_and_shows_each_event_once() {
    let url = gateway(breaking("succeeded")).await;
    let it = run(&url, &[&SUBMIT[..], &["--follow"]].concat()).await;
    assert_eq!(it.code, 0, "{}", it.stderr);
    assert_eq!(it.stdout, "t-1\n   1  stage       parse\n   2  progress    50%\n   3  state       succeeded\n");
}

#[tokio::test]
async fn the_end_of_the_task_is_the_exit_code() {
    for (status, code) in [("succeeded", 0), ("failed", 1), ("cancelled", 2)] {
        let url = gateway(breaking(status)).await;
        for how in ["--follow", "--wait"] {
            let it = run(&url, &[&SUBMIT[..], &[how]].concat()).await;
            assert_eq!(it.code, code, "{status} {how}: {}", it.stderr);
            assert!(it.stdout.starts_with("t-1\n"), "{}", it.stdout);
        }
    }
}

#[tokio::test]
async fn with_json_standard_output_is_json_alone() {
    let url = gateway(breaking("succeeded")).await;
    let it = run(&url, &[&SUBMIT[..], &["--wait", "--json"]].concat()).await;
    assert_eq!(serde_json::from_str::<Value>(&it.stdout).unwrap()["result"], json!({"n": 1}));
    let it = run(&url, &[&SUBMIT[..], &["--follow", "--json"]].concat()).await;
    let kinds: Vec<_> =
        it.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["kind"].clone()).collect();
    assert_eq!(kinds, ["stage", "progress", "state"]);
}

#[tokio::test]
async fn a_refusal_is_told_with_code_and_hint_and_exits_1() {
    async fn refuse() -> Response {
        let problem = json!({"code": "UNSUPPORTED_TASK_TYPE", "detail": "`hello` was never served"});
        (StatusCode::UNPROCESSABLE_ENTITY, [(header::CONTENT_TYPE, "application/problem+json")], problem.to_string())
            .into_response()
    }
    let url = gateway(Router::new().route("/api/v1/tasks", post(refuse))).await;
    let it = run(&url, &["submit", "hello"]).await;
    assert_eq!((it.code, it.stdout.as_str()), (1, ""));
    assert_eq!(it.stderr.lines().next(), Some("windlass: UNSUPPORTED_TASK_TYPE: `hello` was never served"));
    assert!(it.stderr.contains("hint: `windlass types`"), "{}", it.stderr);
}

#[tokio::test]
async fn a_gateway_that_is_not_there_exits_69_with_the_remedy() {
    let it = run("http://127.0.0.1:1", &["types"]).await;
    assert_eq!(it.code, 69);
    assert!(it.stderr.contains("cannot reach the gateway at `http://127.0.0.1:1`"), "{}", it.stderr);
    assert!(it.stderr.contains("windlass up"), "{}", it.stderr);
}

#[tokio::test]
async fn wrong_usage_exits_64_and_bad_configuration_78() {
    assert_eq!(run("http://127.0.0.1:1", &["sumbit"]).await.code, 64);
    assert_eq!(run("http://127.0.0.1:1", &["submit", "hello", "--payload", "{oops"]).await.code, 64);
    assert_eq!(run("http://127.0.0.1:1", &["--help"]).await.code, 0);
    let mut command = windlass("http://127.0.0.1:1", &["config", "show"]);
    command.env("WINDLASS_BROKER_URL", "amqp://ann:marker@mq").env("WINDLASS_NODE__LAESE", "1s");
    let it = ended(command).await;
    assert_eq!(it.code, 78);
    assert!(it.stderr.contains("WINDLASS_BROKER_URL") && it.stderr.contains("`WINDLASS_NODE__LEASE`"), "{}", it.stderr);
    assert!(!it.stderr.contains("marker"), "{}", it.stderr);
}

#[tokio::test]
async fn config_show_prints_key_value_and_source() {
    let mut command = windlass("http://127.0.0.1:1", &["config", "show", "--json", "--data", "/tmp/d"]);
    command.env("WINDLASS_API_KEY", "marker");
    let it = ended(command).await;
    let entries: Vec<Value> = serde_json::from_str(&it.stdout).unwrap();
    assert!(entries.contains(&json!({"key": "node.data", "value": "/tmp/d", "source": "flag --data"})));
    assert!(
        entries.contains(&json!({"key": "database.url", "value": "sqlite:///tmp/d/windlass.db", "source": "default"}))
    );
    assert!(
        entries
            .contains(&json!({"key": "client.api_key", "value": "********", "source": "environment WINDLASS_API_KEY"}))
    );
}

/// Pages without end, counted.
fn endless(pages: Arc<AtomicUsize>) -> Router {
    async fn page(State(pages): State<Arc<AtomicUsize>>) -> axum::Json<Value> {
        pages.fetch_add(1, Ordering::SeqCst);
        let event = |seq: usize| json!({"seq": seq, "epoch": 1, "kind": "log", "data": {"text": "x".repeat(1000)}});
        let first = pages.load(Ordering::SeqCst) * 100;
        axum::Json(json!({"events": (first..first + 100).map(event).collect::<Vec<_>>()}))
    }
    Router::new().route("/api/v1/tasks/{id}/events", get(page)).with_state(pages)
}

#[tokio::test]
async fn a_reader_that_has_seen_enough_ends_the_command_quietly() {
    let url = gateway(endless(Arc::default())).await;
    let mut child = windlass(&url, &["task", "events", "t-1"]).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next_line().await.unwrap().is_some());
    drop(lines);
    let status = child.wait().await.unwrap();
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).await.unwrap();
    assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));
}

#[tokio::test]
async fn one_task_that_cannot_be_cancelled_does_not_keep_the_others() {
    async fn cancel(Path(id): Path<String>) -> Response {
        match id.as_str() {
            "done" => (StatusCode::CONFLICT, json!({"code": "ALREADY_FINISHED", "detail": "it succeeded"}).to_string())
                .into_response(),
            id => (StatusCode::ACCEPTED, axum::Json(json!({"task_id": id, "status": "cancelled"}))).into_response(),
        }
    }
    let url = gateway(Router::new().route("/api/v1/tasks/{id}/cancel", post(cancel))).await;
    let it = run(&url, &["task", "cancel", "done", "other"]).await;
    assert_eq!((it.code, it.stdout.as_str()), (1, "other  cancelled\n"));
    assert!(it.stderr.contains("done: ALREADY_FINISHED"), "{}", it.stderr);
}
