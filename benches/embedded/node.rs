//! The product: the same tasks through the whole tree.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use uuid::Uuid;
use windlass::adapters::runner::{InlineRunner, ProcessOptions, ProcessRunner};
use windlass::boot::Chance;
use windlass_actors::decide::retry::RetryPolicy;
use windlass_actors::domain::{Json, Kind, TaskType, TypeName};
use windlass_actors::ports::clock::TokioClock;
use windlass_actors::ports::observer::{Fact, Observer};
use windlass_actors::ports::{Ledger, Runner, SharedStore};
use windlass_actors::tree::{Node, Settings, TableQueue, World};

use crate::report::{Row, Unit};
use crate::rig::{Filled, SLOTS, filled, noop, owner, payload, percentiles, task};

/// Counts what began and what ended, and wakes who waits for a count.
struct Counts {
    began: watch::Sender<u32>,
    ended: watch::Sender<u32>,
    first: Mutex<Option<Instant>>,
}

impl Default for Counts {
    fn default() -> Self {
        Counts { began: watch::channel(0).0, ended: watch::channel(0).0, first: Mutex::default() }
    }
}

impl Observer for Counts {
    fn saw(&self, fact: &Fact) {
        match fact {
            Fact::Claimed { .. } => {
                self.first.lock().expect("nobody panics").get_or_insert_with(Instant::now);
            }
            Fact::RunBegan { .. } => self.began.send_modify(|n| *n += 1),
            Fact::AttemptEnded { .. } => self.ended.send_modify(|n| *n += 1),
            _ => {}
        }
    }
}

async fn reached(count: &watch::Sender<u32>, wanted: u32) {
    let mut seen = count.subscribe();
    let reached = seen.wait_for(|n| *n >= wanted);
    drop(tokio::time::timeout(Duration::from_secs(300), reached).await.expect("in time").expect("it lives"));
}

fn settings() -> Settings {
    let second = Duration::from_secs(1);
    Settings {
        owner: owner(),
        data_uuid: Uuid::now_v7(),
        renew: 10 * second,
        reap: 5 * second,
        reap_grace: 5 * second,
        cancel_grace: 5 * second,
        neighbour_grace: 10 * second,
        drain_grace: 20 * second,
        idle_claim: 5 * second,
        heartbeat: 10 * second,
        keep: 7 * 24 * 3600 * second,
        retry: RetryPolicy { base: 2 * second, cap: 300 * second },
    }
}

/// Answers at once, or never while it has to sleep.
fn inline(asleep: bool) -> Arc<dyn Runner> {
    let mut runner = InlineRunner::new();
    runner.register(noop(), move |_| async move {
        if asleep {
            std::future::pending::<()>().await;
        }
        Ok(Json::trusted(r#"{"epoch":1}"#))
    });
    Arc::new(runner)
}

fn noops(slots: u32) -> TaskType {
    TaskType { worker_threads: slots, ..TaskType::new(noop(), Kind::Inline) }
}

async fn start(store: SharedStore, runner: Arc<dyn Runner>, served: TaskType) -> (Node, Arc<Counts>) {
    let counts = Arc::new(Counts::default());
    let world = World {
        store: Arc::clone(&store),
        runner,
        intake: Arc::new(TableQueue::new(store)),
        clock: Arc::new(TokioClock::new()),
        dice: Arc::new(Chance),
        observer: Arc::clone(&counts) as Arc<dyn Observer>,
    };
    let node = Node::start(settings(), world, vec![served]).await.expect("the tree starts");
    (node, counts)
}

/// Tasks a second, from the first claim to the last committed end.
pub async fn throughput(count: u32) -> f64 {
    through(filled(noop(), count).await, inline(false), noops(SLOTS), count).await
}

/// The example `hello` in one worker process with 8 threads: tasks a second.
pub async fn hello(count: u32) -> f64 {
    let name = TypeName::new("hello").expect("it is a name");
    let filled = filled(name.clone(), count).await;
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (sdk, data) = (here.join("sdk/python"), filled.folder.path().to_path_buf());
    let options = ProcessOptions::new("python3".into(), sdk, "bench".to_owned(), data);
    let runner = Arc::new(ProcessRunner::new(options).expect("a thread starts"));
    let plugin = Some(here.join("plugins/hello.py").display().to_string());
    let served = TaskType { worker_threads: 8, plugin, ..TaskType::new(name, Kind::Python) };
    through(filled, runner, served, count).await
}

async fn through(filled: Filled, runner: Arc<dyn Runner>, served: TaskType, count: u32) -> f64 {
    let Filled { store, folder } = filled;
    let (node, counts) = start(store, runner, served).await;
    reached(&counts.ended, count).await;
    let took = counts.first.lock().expect("nobody panics").expect("something was claimed").elapsed();
    node.stop().await;
    drop(folder);
    f64::from(count) / took.as_secs_f64()
}

/// One task after the other, from create to committed end: p50 and p99.
pub async fn latencies(count: u32) -> (f64, f64) {
    let Filled { store, folder } = filled(noop(), 0).await;
    let (node, counts) = start(store.clone(), inline(false), noops(SLOTS)).await;
    let mut spans = Vec::new();
    for n in 1..=count {
        let start = Instant::now();
        store.create(vec![task(noop(), payload())]).await.expect("a task is created");
        reached(&counts.ended, n).await;
        spans.push(start.elapsed());
    }
    node.stop().await;
    drop(folder);
    percentiles(spans)
}

/// Resident memory of a node that idles, and with so many tasks asleep.
pub async fn memory(sleeping: u32) -> [Row; 2] {
    let Filled { store, folder } = filled(noop(), 0).await;
    let (node, counts) = start(store.clone(), inline(true), noops(sleeping)).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let idle = resident();
    store.create((0..sleeping).map(|_| task(noop(), payload())).collect()).await.expect("tasks are created");
    reached(&counts.began, sleeping).await;
    let full = resident();
    node.stop().await;
    drop(folder);
    let row = |what, figure| {
        let mut row = Row::new(what, Unit::Mebibytes);
        row.add(figure);
        row
    };
    [row("memory, idle", idle), row("memory, 1,000 tasks asleep", full)]
}

/// Resident set of this process, in MiB.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells");
    let line = status.lines().find(|line| line.starts_with("VmRSS")).expect("there is such a line");
    let kib: f64 = line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).expect("a number");
    kib / 1024.0
}
