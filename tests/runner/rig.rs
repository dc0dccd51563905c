//! A runner over real processes and the real SDK (or a worker written by a test), and what its hosts tell.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::sync::mpsc;
use uuid::Uuid;
use windlass::adapters::runner::{ProcessOptions, ProcessRunner};
use windlass_actors::domain::{Epoch, Json, Kind, LeaseKey, TaskId, TaskType, TypeName};
use windlass_actors::ports::runner::{
    Host, HostCommand, HostEvent, HostExit, HostSink, HostSpec, RunEvent, RunRequest, Runner,
};

/// What a test waits at most for a fact.
pub const PATIENCE: Duration = Duration::from_secs(30);

pub struct Rig {
    pub folder: TempDir,
    pub mark: String,
    pub runner: ProcessRunner,
}

pub fn sdk() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("sdk/python")
}

pub fn options(folder: &Path, mark: &str, sdk: PathBuf) -> ProcessOptions {
    let mut options = ProcessOptions::new("python3".into(), sdk, mark.to_owned(), folder.join("data"));
    options.shim = env!("CARGO_BIN_EXE_windlass").into();
    options
}

impl Rig {
    /// With the real SDK.
    pub fn new() -> Rig {
        Rig::with(|_| {})
    }

    pub fn with(change: impl FnOnce(&mut ProcessOptions)) -> Rig {
        let (folder, mark) = (tempfile::tempdir().unwrap(), Uuid::new_v4().to_string());
        let mut options = options(folder.path(), &mark, sdk());
        change(&mut options);
        let runner = ProcessRunner::new(options).unwrap();
        Rig { folder, mark, runner }
    }

    /// With that program as the worker instead of the SDK; `send(header, body)` and `read()` are there for it.
    pub fn with_worker(source: &str) -> (Rig, Hosted) {
        let folder = tempfile::tempdir().unwrap();
        let package = folder.path().join("raw/windlass");
        std::fs::create_dir_all(&package).unwrap();
        std::fs::write(package.join("__init__.py"), "").unwrap();
        std::fs::write(package.join("worker.py"), format!("{RAW_WORKER}\n{source}\n")).unwrap();
        let mark = Uuid::new_v4().to_string();
        let runner = ProcessRunner::new(options(folder.path(), &mark, folder.path().join("raw"))).unwrap();
        let rig = Rig { folder, mark, runner };
        let hosted = rig.launch(&[TaskType::new(TypeName::new("raw").unwrap(), Kind::Python)]);
        (rig, hosted)
    }

    /// A type `name` whose plugin is that source.
    pub fn plugin(&self, name: &str, source: &str) -> TaskType {
        let file = self.folder.path().join(format!("{name}.py"));
        std::fs::write(&file, format!("{PLUGIN}\n{source}\n")).unwrap();
        let mut task_type = TaskType::new(TypeName::new(name).unwrap(), Kind::Python);
        task_type.plugin = Some(file.to_str().unwrap().to_owned());
        task_type
    }

    pub fn launch(&self, types: &[TaskType]) -> Hosted {
        launch(&self.runner, types)
    }

    /// A ready host of one type with that plugin.
    pub async fn ready(&self, name: &str, source: &str) -> Hosted {
        let mut hosted = self.launch(&[self.plugin(name, source)]);
        hosted.ready().await;
        hosted
    }

    /// How many processes bear this rig's mark: everything that its hosts started, whatever it did since.
    pub fn marked(&self) -> Vec<u32> {
        marked(&self.mark)
    }

    pub async fn nothing_is_left(&self, within: Duration) {
        let started = Instant::now();
        while !self.marked().is_empty() {
            assert!(started.elapsed() < within, "left: {:?}", describe(&self.marked()));
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        windlass::adapters::runner::sweep(&self.mark);
    }
}

pub fn launch(runner: &dyn Runner, types: &[TaskType]) -> Hosted {
    let (sender, events) = mpsc::unbounded_channel();
    let sink: HostSink = Arc::new(move |event| {
        let _ = sender.send(event);
    });
    let spec = HostSpec { group: types[0].host_group.clone(), types: types.to_vec() };
    Hosted { host: runner.launch(&spec, sink), events, seen: Vec::new() }
}

pub fn describe(pids: &[u32]) -> Vec<String> {
    let line =
        |pid: &u32| std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default().replace('\0', " ");
    pids.iter().map(line).collect()
}

pub fn marked(mark: &str) -> Vec<u32> {
    let wanted = format!("WINDLASS_NODE_MARK={mark}");
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid| {
            std::fs::read(format!("/proc/{pid}/environ"))
                .is_ok_and(|block| block.split(|b| *b == 0).any(|entry| entry == wanted.as_bytes()))
        })
        .collect()
}

pub struct Hosted {
    pub host: Box<dyn Host>,
    events: mpsc::UnboundedReceiver<HostEvent>,
    pub seen: Vec<HostEvent>,
}

impl Hosted {
    /// The next event that is one of those; what comes before is kept in `seen`.
    pub async fn until<T>(&mut self, pick: impl Fn(&HostEvent) -> Option<T>) -> T {
        loop {
            let event = tokio::time::timeout(PATIENCE, self.events.recv()).await;
            let event = event.unwrap_or_else(|_| panic!("nothing more came after {:?}", last(&self.seen)));
            let event = event.unwrap_or_else(|| panic!("the host ended with {:?}", last(&self.seen)));
            let picked = pick(&event);
            self.seen.push(event);
            if let Some(picked) = picked {
                return picked;
            }
        }
    }

    pub async fn ready(&mut self) -> u32 {
        self.until(|event| match event {
            HostEvent::Ready { pid } => *pid,
            _ => None,
        })
        .await
    }

    /// The host's end; asserts that it is the last event.
    pub async fn exit(&mut self) -> HostExit {
        let exit = self
            .until(|event| match event {
                HostEvent::Exited(exit) => Some(exit.clone()),
                _ => None,
            })
            .await;
        assert!(self.host.gone().is_cancelled());
        tokio::task::yield_now().await;
        assert!(self.events.try_recv().is_err(), "told after its end");
        exit
    }

    pub fn run(&self, run: u64, name: &str, payload: &str) {
        self.host.send(HostCommand::Run(Box::new(request(run, name, payload))));
    }

    /// How that run ended: `Ok` is its result.
    pub async fn ended(&mut self, run: u64) -> Result<String, RunEvent> {
        self.until(|event| match event {
            HostEvent::Run { run: of, event: RunEvent::Done { result } } if *of == run => {
                Some(Ok(result.as_str().to_owned()))
            }
            HostEvent::Run { run: of, event: event @ RunEvent::Failed { .. } } if *of == run => {
                Some(Err(event.clone()))
            }
            _ => None,
        })
        .await
    }

    /// A line of output whose text contains that.
    pub async fn said(&mut self, part: &str) -> String {
        self.until(|event| match event {
            HostEvent::Log { text, .. } | HostEvent::Run { event: RunEvent::Log { text, .. }, .. } => {
                text.contains(part).then(|| text.clone())
            }
            _ => None,
        })
        .await
    }

    pub fn lines(&self, of: &str) -> Vec<&str> {
        let line = |event: &'_ HostEvent| match event {
            HostEvent::Log { stream, .. } if stream == of => true,
            HostEvent::Run { event: RunEvent::Log { stream, .. }, .. } if stream == of => true,
            _ => false,
        };
        self.seen
            .iter()
            .filter(|event| line(event))
            .map(|event| match event {
                HostEvent::Log { text, .. } | HostEvent::Run { event: RunEvent::Log { text, .. }, .. } => text.as_str(),
                _ => "",
            })
            .collect()
    }
}

fn last(seen: &[HostEvent]) -> &[HostEvent] {
    &seen[seen.len().saturating_sub(5)..]
}

pub fn request(run: u64, name: &str, payload: &str) -> RunRequest {
    RunRequest {
        run,
        key: LeaseKey { task: TaskId(Uuid::now_v7()), epoch: Epoch(3) },
        task_type: TypeName::new(name).unwrap(),
        attempt: 1,
        max_attempts: 3,
        timeout: None,
        client_role: None,
        payload: Json::trusted(payload),
        model_spec: Json::empty_object(),
        inference_params: Json::empty_object(),
        checkpoint: None,
    }
}

const PLUGIN: &str = "
import os, signal, subprocess, sys, time
from windlass import register, context, RetryableError, PermanentError
";

const RAW_WORKER: &str = r#"
import json, os, signal, socket, struct, sys, time
sock = socket.socket(fileno=3)
def send(header, body=b""):
    head = json.dumps(header).encode()
    sock.sendall(struct.pack(">II", len(head), len(body)) + head + body)
def exactly(count):
    data = b""
    while len(data) < count:
        piece = sock.recv(count - len(data))
        if not piece: os._exit(0)
        data += piece
    return data
def read():
    head, body = struct.unpack(">II", exactly(8))
    return json.loads(exactly(head)), exactly(body)
def ready():
    send({"t": "ready", "protocol": 1, "pid": os.getpid(), "sdk": "raw/0", "types": ["raw"]})
"#;
