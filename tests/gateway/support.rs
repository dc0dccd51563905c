//! A gateway on a socket of its own over a store in a folder of its own, and a node's part played by hand.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use metrics_exporter_prometheus::PrometheusHandle;
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;
use windlass::gateway::{Admin, GatewayParts, Readiness, Settings, router, serve};
use windlass_actors::domain::*;
use windlass_actors::ports::SharedStore;
use windlass_actors::ports::ledger::*;
use windlass_actors::ports::registry::{NodeReport, NodeState};

use super::flaky::Flaky;

/// Nothing here may take longer.
pub const PATIENCE: Duration = Duration::from_secs(20);

pub async fn patiently<F: Future>(future: F) -> F::Output {
    timeout(PATIENCE, future).await.expect("it took too long")
}

pub fn name(text: &str) -> TypeName {
    TypeName::new(text).unwrap()
}

pub fn task_type(text: &str) -> TaskType {
    TaskType::new(name(text), Kind::Python)
}

pub struct World {
    pub store: SharedStore,
    pub flaky: Arc<Flaky>,
    pub client: reqwest::Client,
    pub address: String,
    pub shutdown: CancellationToken,
    pub owner: Owner,
    pub server: JoinSet<()>,
    _folder: TempDir,
}

#[derive(Default)]
pub struct Extras {
    pub settings: Settings,
    pub readiness: Readiness,
    pub tree: Option<Value>,
    pub admin: Option<Arc<dyn Admin>>,
    pub metrics: Option<PrometheusHandle>,
}

impl World {
    /// With a node that serves `hello`.
    pub async fn new() -> World {
        World::with(Extras::default()).await
    }

    pub async fn with_settings(settings: Settings) -> World {
        World::with(Extras { settings, ..Extras::default() }).await
    }

    pub async fn with(extras: Extras) -> World {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let folder = TempDir::new().unwrap();
        let store = super::open_store(folder.path()).await;
        let flaky = Arc::new(Flaky::new(store.clone()));
        let shutdown = CancellationToken::new();
        let parts = parts(flaky.clone(), extras, shutdown.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (settings, stop) = (parts.settings.clone(), shutdown.clone());
        let mut server = JoinSet::new();
        server.spawn(async move { serve(listener, router(parts), &settings, stop).await });
        let owner = Owner {
            node: NodeId("node-1".into()),
            incarnation: Incarnation(Uuid::now_v7()),
            lease: Duration::from_secs(30),
        };
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let world = World { store, flaky, client, address, shutdown, owner, server, _folder: folder };
        world.serves(vec![task_type("hello")]).await;
        world
    }

    pub async fn serves(&self, types: Vec<TaskType>) {
        self.posts(types, NodeState::Serving).await;
    }

    pub async fn posts(&self, types: Vec<TaskType>, state: NodeState) {
        let report = NodeReport {
            node: self.owner.node.clone(),
            incarnation: self.owner.incarnation,
            data_uuid: Uuid::nil(),
            lease: self.owner.lease,
            state,
            types,
            slots: Json::trusted(r#"{"hello":{"slots":2,"busy":1}}"#),
            tree: Json::trusted(r#"[{"path":"node","state":"running","restarts":0}]"#),
        };
        self.store.post(report).await.unwrap();
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, self.url(path)).timeout(PATIENCE)
    }

    pub async fn get(&self, path: &str) -> (StatusCode, Value) {
        answer(self.request(Method::GET, path).send().await.unwrap()).await
    }

    pub async fn post(&self, path: &str, body: Value) -> (StatusCode, Value) {
        answer(self.request(Method::POST, path).json(&body).send().await.unwrap()).await
    }

    /// A task of type `hello`, over HTTP.
    pub async fn create(&self) -> TaskId {
        let (status, body) = self.post("/api/v1/tasks", json!({"task_type": "hello"})).await;
        assert_eq!(status, 202, "{body}");
        body["task_id"].as_str().unwrap().parse().unwrap()
    }

    pub async fn claim(&self, of: &str) -> LeaseKey {
        let claim = ClaimNext {
            task_type: name(of),
            most: 1,
            suspects: Suspicion::None,
            limits: Limits::default(),
            plugin_sha256: None,
            token: Uuid::now_v7(),
        };
        let answers = self.store.claim_next(&self.owner, vec![claim]).await.unwrap();
        answers[0].claimed.first().expect("there is a task to claim").key
    }

    pub async fn record(&self, key: LeaseKey, from: u64, texts: &[&str]) {
        let event = |text: &&str| NewEvent {
            kind: EventKind::Output,
            data: Json::trusted(json!({"values": [text]}).to_string()),
        };
        let events = texts.iter().map(event).collect();
        let record = Record { key, from, events, stage: None, progress: Some(0.5), checkpoint: None };
        let answers = self.store.record(&self.owner, vec![record]).await.unwrap();
        assert!(matches!(answers[0], RecordAnswer::Recorded { .. }), "{answers:?}");
    }

    pub async fn finish(&self, key: LeaseKey, verdict: Verdict) {
        let finish =
            Finish { key, verdict, from: 0, events: vec![], stage: None, progress: None, token: Uuid::now_v7() };
        let answers = self.store.finish(&self.owner, vec![finish]).await.unwrap();
        assert!(matches!(answers[0], FinishAnswer::Done { .. }), "{answers:?}");
    }

    pub async fn succeed(&self, key: LeaseKey) {
        self.finish(key, Verdict::Complete { result: Json::trusted(r#"{"ok":true}"#) }).await;
    }

    /// A task that failed into the waiting room.
    pub async fn dead_letter(&self) -> TaskId {
        let id = self.create().await;
        let key = self.claim("hello").await;
        assert_eq!(key.task, id);
        let verdict = Verdict::DeadLetter {
            outcome: Outcome::Failed,
            error: TaskError::new("PLUGIN_ERROR", "Inference failed: x"),
            kind: ErrorKind::Exhausted,
        };
        self.finish(key, verdict).await;
        id
    }

    /// Sends bytes as they are and reads until the other side closes.
    pub async fn raw(&self, bytes: &[u8]) -> String {
        patiently(async {
            let mut socket = TcpStream::connect(&self.address).await.unwrap();
            socket.write_all(bytes).await.unwrap();
            let mut answer = Vec::new();
            socket.read_to_end(&mut answer).await.unwrap();
            String::from_utf8_lossy(&answer).into_owned()
        })
        .await
    }

    pub async fn stop(mut self) {
        self.shutdown.cancel();
        patiently(self.server.join_next()).await.unwrap().unwrap();
    }
}

pub fn parts(store: SharedStore, extras: Extras, shutdown: CancellationToken) -> GatewayParts {
    let Extras { settings, readiness, tree, admin, metrics } = extras;
    GatewayParts {
        store,
        settings,
        metrics: Arc::new(move || {
            metrics.as_ref().map_or_else(|| "windlass_build_info 1\n".to_owned(), PrometheusHandle::render)
        }),
        readiness: Arc::new(move || readiness.clone()),
        tree: tree.map(|tree| Arc::new(move || tree.clone()) as Arc<dyn Fn() -> Value + Send + Sync>),
        admin,
        shutdown,
    }
}

pub async fn answer(response: Response) -> (StatusCode, Value) {
    let status = response.status();
    let is_problem = response.headers().get("content-type").is_some_and(|v| v == "application/problem+json");
    let text = response.text().await.unwrap();
    let body: Value = serde_json::from_str(&text).unwrap_or(Value::String(text));
    assert_eq!(status.as_u16() >= 400 && body.get("ready").is_none(), is_problem, "{status} {body}");
    (status, body)
}

/// Asserts an answer's status and code.
pub fn refused((status, body): (StatusCode, Value), expected: u16, code: &str) -> Value {
    assert_eq!((status.as_u16(), body["code"].as_str()), (expected, Some(code)), "{body}");
    body
}
