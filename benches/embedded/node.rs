//! The product: the same tasks through the whole tree.

use std::sync::Arc;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use uuid::Uuid;
use windlass::boot::Chance;
use windlass_actors::decide::retry::RetryPolicy;
use windlass_actors::domain::{Json, Kind, TaskType};
use windlass_actors::ports::clock::TokioClock;
use windlass_actors::ports::observer::{Fact, Observer};
use windlass_actors::ports::{Ledger, SharedStore};
use windlass_actors::testkit::ScriptedRunner;
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
    let reached = count.subscribe();
    let reached = async move { reached.clone().wait_for(|n| *n >= wanted).await.map(|n| *n) };
    tokio::time::timeout(Duration::from_secs(300), reached).await.expect("in time").expect("it lives");
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

async fn start(store: SharedStore, slots: u32) -> (Node, Arc<Counts>) {
    let counts = Arc::new(Counts::default());
    let world = World {
        store: Arc::clone(&store),
        runner: Arc::new(ScriptedRunner::new()),
        intake: Arc::new(TableQueue::new(store)),
        clock: Arc::new(TokioClock::new()),
        dice: Arc::new(Chance),
        observer: Arc::clone(&counts) as Arc<dyn Observer>,
    };
    let noop = TaskType { worker_threads: slots, ..TaskType::new(noop(), Kind::Inline) };
    let node = Node::start(settings(), world, vec![noop]).await.expect("the tree starts");
    (node, counts)
}

/// Tasks a second, from the first claim to the last committed end.
pub async fn throughput(count: u32) -> f64 {
    let Filled { store, folder } = filled(count).await;
    let (node, counts) = start(store, SLOTS).await;
    reached(&counts.ended, count).await;
    let took = counts.first.lock().expect("nobody panics").expect("something was claimed").elapsed();
    node.stop().await;
    drop(folder);
    f64::from(count) / took.as_secs_f64()
}

/// One task after the other, from create to committed end: p50 and p99.
pub async fn latencies(count: u32) -> (f64, f64) {
    let Filled { store, folder } = filled(0).await;
    let (node, counts) = start(store.clone(), SLOTS).await;
    let mut spans = Vec::new();
    for n in 1..=count {
        let start = Instant::now();
        store.create(vec![task(payload())]).await.expect("a task is created");
        reached(&counts.ended, n).await;
        spans.push(start.elapsed());
    }
    node.stop().await;
    drop(folder);
    percentiles(spans)
}

/// Resident memory of a node that idles, and with so many tasks asleep.
pub async fn memory(sleeping: u32) -> [Row; 2] {
    let Filled { store, folder } = filled(0).await;
    let (node, counts) = start(store.clone(), sleeping).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let idle = resident();
    let asleep = || task(Json::trusted(r#"{"do":[{"sleep_ms":600000}]}"#));
    store.create((0..sleeping).map(|_| asleep()).collect()).await.expect("tasks are created");
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
