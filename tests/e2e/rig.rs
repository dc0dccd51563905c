//! A node as a process, and a client of it. At its end nothing of the node may be left, and `windlass audit` must agree.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::machine::{command_line, marked, signal};

/// What a test waits at most for a fact.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Between two looks.
const LOOK: Duration = Duration::from_millis(10);

const SETTINGS: &str = r#"
[node]
id = "e2e"
lease = "3s"
renew = "1s"
reap = "200ms"
reap_grace = "200ms"
cancel_grace = "1s"
neighbour_grace = "1s"
drain_grace = "2s"
idle_claim = "300ms"
[retry]
base = "50ms"
cap = "200ms"
[log]
format = "text"
"#;

pub struct Rig {
    pub folder: TempDir,
    arguments: Vec<String>,
    node: Option<Child>,
    said: Arc<Mutex<String>>,
    pub url: String,
    pub http: reqwest::Client,
}

impl Rig {
    /// A ready node that serves those of the probes.
    pub async fn up(types: &[&str]) -> Rig {
        Rig::with(types, "", &[]).await
    }

    /// As `up`, with more configuration and arguments.
    pub async fn with(types: &[&str], configuration: &str, arguments: &[&str]) -> Rig {
        let mut rig = Rig::prepared(types, configuration, arguments);
        rig.start().await;
        rig
    }

    pub fn prepared(types: &[&str], configuration: &str, arguments: &[&str]) -> Rig {
        // fails only where a provider is installed already
        let _ = rustls::crypto::ring::default_provider().install_default();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("windlass.toml"), format!("{SETTINGS}{configuration}")).unwrap();
        write_probes(&folder.path().join("plugins"), types);
        let arguments = arguments.iter().map(ToString::to_string).collect();
        let http = reqwest::Client::builder().no_proxy().timeout(PATIENCE * 2).build().unwrap();
        Rig { folder, arguments, node: None, said: Arc::default(), url: String::new(), http }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// Starts the node without waiting for anything.
    pub fn launch(&mut self) {
        let mut command = windlass(self.folder.path(), &["up", "--config", "windlass.toml", "--data", "data"]);
        command.args(["--listen", "127.0.0.1:0", "--plugins", "plugins"]).args(&self.arguments);
        let mut node = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        self.said = Arc::default();
        let (said, lines) = (self.said.clone(), BufReader::new(node.stderr.take().unwrap()));
        std::thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                let mut said = said.lock().unwrap();
                said.push_str(&line);
                said.push('\n');
            }
        });
        self.node = Some(node);
    }

    /// Starts the node and waits until it is ready.
    pub async fn start(&mut self) {
        self.launch();
        self.url = self
            .until("the node to say where it listens", async || {
                let said = self.said();
                let from = said.find("windlass: listening on ")? + "windlass: listening on ".len();
                Some(said[from..].split_whitespace().next()?.to_owned())
            })
            .await;
        self.until("the node to be ready", async || {
            let answer = self.http.get(format!("{}/readyz", self.url)).send().await.ok()?;
            answer.status().is_success().then_some(())
        })
        .await;
    }

    /// All that the node has said on standard error.
    pub fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    pub fn pid(&self) -> u32 {
        self.node.as_ref().expect("the node runs").id()
    }

    /// Sends the node a signal, such as `TERM`.
    pub fn signal(&self, name: &str) {
        signal(self.pid(), name);
    }

    /// Waits until the node has ended.
    pub async fn exited(&mut self, within: Duration) -> ExitStatus {
        let mut node = self.node.take().expect("the node runs");
        let started = Instant::now();
        loop {
            if let Some(status) = node.try_wait().unwrap() {
                return status;
            }
            if started.elapsed() > within {
                self.node = Some(node);
                panic!("the node did not end within {within:?}; it said:\n{}", self.said());
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    pub async fn kill(&mut self) {
        self.signal("KILL");
        self.exited(PATIENCE).await;
    }

    /// Looks until there is something.
    pub async fn until<T>(&self, what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
        let started = Instant::now();
        loop {
            if let Some(found) = look().await {
                return found;
            }
            assert!(started.elapsed() < PATIENCE, "waited in vain for {what}; the node said:\n{}", self.said());
            tokio::time::sleep(LOOK).await;
        }
    }

    pub async fn get(&self, path: &str) -> Value {
        let answer = self.http.get(format!("{}{path}", self.url)).send().await;
        answer.unwrap_or_else(|e| panic!("GET {path}: {e}; the node said:\n{}", self.said())).json().await.unwrap()
    }

    pub async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let answer = self.http.post(format!("{}{path}", self.url)).json(body).send().await;
        let answer = answer.unwrap_or_else(|e| panic!("POST {path}: {e}; the node said:\n{}", self.said()));
        (answer.status().as_u16(), answer.json().await.unwrap_or(Value::Null))
    }

    pub async fn submit(&self, task_type: &str, payload: Value) -> String {
        self.submit_as(json!({"task_type": task_type, "payload": payload})).await
    }

    /// A whole create request.
    pub async fn submit_as(&self, request: Value) -> String {
        let (status, answer) = self.post("/api/v1/tasks", &request).await;
        assert_eq!(status, 202, "{request}: {answer}");
        answer["task_id"].as_str().unwrap().to_owned()
    }

    pub async fn cancel(&self, id: &str) -> (u16, Value) {
        self.post(&format!("/api/v1/tasks/{id}/cancel"), &json!({})).await
    }

    pub async fn task(&self, id: &str) -> Value {
        self.get(&format!("/api/v1/tasks/{id}")).await
    }

    /// The task once it has ended.
    pub async fn ended(&self, id: &str) -> Value {
        let started = Instant::now();
        loop {
            let task = self.get(&format!("/api/v1/tasks/{id}?wait=10")).await;
            if is_terminal(&task) {
                return task;
            }
            assert!(started.elapsed() < PATIENCE * 2, "did not end: {task}; the node said:\n{}", self.said());
        }
    }

    pub async fn all_ended(&self, ids: &[String]) -> Vec<Value> {
        let mut tasks = Vec::new();
        for id in ids {
            tasks.push(self.ended(id).await);
        }
        tasks
    }

    /// Waits until the task runs in a host.
    pub async fn running(&self, id: &str) {
        self.until(&format!("task {id} to run"), async || (self.task(id).await["status"] == "running").then_some(()))
            .await;
    }

    pub async fn events(&self, id: &str) -> Vec<Value> {
        let page = self.get(&format!("/api/v1/tasks/{id}/events")).await;
        page["events"].as_array().unwrap_or_else(|| panic!("{page}")).clone()
    }

    /// The first value that the task has emitted.
    pub async fn output(&self, id: &str) -> Value {
        self.until(&format!("output of task {id}"), async || {
            let events = self.events(id).await;
            Some(events.iter().find(|event| event["kind"] == "output")?["data"]["values"][0].clone())
        })
        .await
    }

    pub async fn tree(&self) -> Vec<Value> {
        self.get("/api/v1/tree").await["actors"].as_array().unwrap().clone()
    }

    /// Process ids of the hosts that serve the type, by the tree.
    pub async fn hosts(&self, group: &str) -> Vec<u32> {
        let prefix = format!("hosts/group/{group}/host/");
        let of = |row: &Value| {
            let path = row["path"].as_str()?;
            if row["state"] != "ready" || !path.starts_with(&prefix) {
                return None;
            }
            u32::try_from(row["details"]["pid"].as_u64()?).ok()
        };
        self.tree().await.iter().filter_map(of).collect()
    }

    pub async fn host(&self, group: &str) -> u32 {
        self.until(&format!("a host of {group}"), async || self.hosts(group).await.first().copied()).await
    }

    /// A sample of `/metrics`: the sum over all series that start so.
    pub async fn metric(&self, series: &str) -> f64 {
        let text = self.http.get(format!("{}/metrics", self.url)).send().await.unwrap().text().await.unwrap();
        let sample = |line: &str| line.rsplit_once(' ').and_then(|(_, value)| value.parse::<f64>().ok());
        text.lines().filter(|line| line.starts_with(series)).filter_map(sample).sum()
    }

    /// What the probes wrote into the file, a line a fact.
    pub fn ledger(&self, name: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.path(name)).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Runs a command against this node, in its folder.
    pub async fn cli(&self, arguments: &[&str]) -> Said {
        let mut command = windlass(self.folder.path(), arguments);
        command.env("WINDLASS_URL", &self.url);
        said(command).await
    }

    pub fn mark(&self) -> Option<String> {
        Some(std::fs::read_to_string(self.path("data/lock")).ok()?.split_whitespace().next()?.to_owned())
    }

    /// Everything that the node's hosts started and that lives.
    pub fn left(&self) -> Vec<u32> {
        self.mark().map(|mark| marked(&format!("WINDLASS_NODE_MARK={mark}"))).unwrap_or_default()
    }

    fn nothing_is_left(&self) {
        let started = Instant::now();
        while !self.left().is_empty() {
            let left: Vec<_> = self.left().iter().map(|pid| command_line(*pid)).collect();
            assert!(started.elapsed() < Duration::from_secs(2), "the node left {left:?}");
            std::thread::sleep(LOOK);
        }
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        if let Some(mut node) = self.node.take() {
            let _ = node.kill();
            let _ = node.wait();
        }
        if std::thread::panicking() {
            return;
        }
        self.nothing_is_left();
        if self.path("data/windlass.db").exists() {
            let audit = windlass(self.folder.path(), &["audit", "--data", "data"]).output().unwrap();
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            assert!(audit.status.success(), "audit: {}{}", text(&audit.stdout), text(&audit.stderr));
        }
    }
}

/// A plugin that registers only those of the probes: a host for each takes time to start.
fn write_probes(folder: &Path, types: &[&str]) {
    std::fs::create_dir_all(folder).unwrap();
    let probes = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plugins/probe.py");
    let source = format!(
        "import windlass\n\
         _wanted, _register = {types:?}, windlass.register\n\
         windlass.register = lambda name, **more: _register(name, **more) if name in _wanted else lambda f: f\n\
         try:\n    exec(compile(open({probes:?}).read(), {probes:?}, 'exec'))\n\
         finally:\n    windlass.register = _register\n"
    );
    std::fs::write(folder.join("probes.py"), source).unwrap();
}

pub fn windlass(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    command
}

/// How a command ended.
#[derive(Debug)]
pub struct Said {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Said {
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

pub async fn said(mut command: Command) -> Said {
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    let output = tokio::time::timeout(PATIENCE * 2, output).await.expect("the command ends").unwrap();
    let Output { status, stdout, stderr } = output;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Said { code: status.code().unwrap_or(-1), out: text(stdout), err: text(stderr) }
}

pub fn is_terminal(task: &Value) -> bool {
    matches!(task["status"].as_str(), Some("succeeded" | "failed" | "cancelled"))
}

/// The outcomes of a task's attempts, with a `!` behind those that were charged.
pub fn outcomes(task: &Value) -> Vec<String> {
    let attempts = task["attempts"].as_array().unwrap_or_else(|| panic!("{task}"));
    let one = |it: &Value| {
        let charged = if it["charged"] == true { "!" } else { "" };
        format!("{}{charged}", it["outcome"].as_str().unwrap_or("-"))
    };
    attempts.iter().map(one).collect()
}
