//! The embedded default: store, node and gateway in one process.
//!
//! The order of a start: the data folder's lock, the listener (both refuse early), the processes that the predecessor
//! left, the store and the plugins, its tasks taken back, the tree, the gateway. The gateway has a thread and a
//! runtime of its own: it answers while the executor's is busy.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use windlass_actors::domain::Kind;
use windlass_actors::ports::clock::TokioClock;
use windlass_actors::ports::ledger::Backoff;
use windlass_actors::ports::{Runner, SharedStore};
use windlass_actors::supervise::{Exit, KillMode, Roster};
use windlass_actors::tree::{DrainReport, Node, Shared, TableQueue, World, take_back_predecessors};

use super::chance::Chance;
use super::data_folder::DataFolder;
use super::error::BootError;
use super::meter::{Meter, label};
use super::plugins::Plugins;
use super::settings;
use crate::adapters::runner::{Runners, Swept, sweep};
use crate::adapters::sqlite::SqliteStore;
use crate::config::Config;
use crate::gateway::{self, Admin, GatewayHandle, GatewayParts, Readiness};
use crate::telemetry::{self, Metrics, record};

/// Between two foldings of what the histograms observed.
const FOLDING: Duration = Duration::from_secs(5);

/// The kind of queue that the embedded default has.
const QUEUE: &str = "table";

/// A running node with its gateway.
pub struct Embedded {
    node: Node,
    gateway: GatewayHandle,
    shutdown: CancellationToken,
    drain_asked: Arc<Notify>,
    background: TaskTracker,
    /// Released last.
    folder: DataFolder,
}

/// How it ended.
#[derive(Debug)]
pub enum Ended {
    Drained(DrainReport),
    /// The tree spent its restart budget.
    Broke(Exit),
}

impl Embedded {
    /// Starts everything. `chaos` lets actors be killed over the API.
    pub async fn start(config: &Config, chaos: bool) -> Result<Embedded, BootError> {
        let folder = DataFolder::claim(&config.node.data)?;
        let address = config.gateway.listen;
        let listener = TcpListener::bind(address).map_err(|error| BootError::Listen { address, error })?;
        let metrics = telemetry::install_metrics().map_err(|error| BootError::Metrics(error.to_string()))?;
        let mark = folder.uuid().to_string();
        // before the plugins are described: the processes that do it bear the same mark
        clear(mark.clone()).await?;
        let opened = SqliteStore::open(&config.database.path, settings::store(config));
        let plugins = Plugins::find(config, folder.path(), mark);
        let (store, plugins) = tokio::join!(opened, plugins);
        let (store, plugins): (SharedStore, Plugins) = (store?, plugins?);
        check_queue(&*store).await?;
        plugins.judge(config)?;
        let settings = settings::tree(config, folder.uuid());
        take_back(&store, config, &settings).await?;
        let node = start_node(config, store.clone(), plugins, settings).await?;
        let shutdown = CancellationToken::new();
        let drain_asked = Arc::new(Notify::new());
        let admin = Arc::new(EmbeddedAdmin { roster: node.shared().roster.clone(), drain: drain_asked.clone(), chaos });
        let parts = parts(config, store, metrics.clone(), node.shared(), admin, shutdown.clone());
        let gateway = gateway::spawn_on_own_thread(listener, parts)?;
        let background = TaskTracker::new();
        background.spawn(shutdown.clone().run_until_cancelled_owned(fold(metrics)));
        background.spawn(shutdown.clone().run_until_cancelled_owned(announce(node.shared().clone())));
        Ok(Embedded { node, gateway, shutdown, drain_asked, background, folder })
    }

    /// Where the gateway listens.
    pub fn address(&self) -> SocketAddr {
        self.gateway.address()
    }

    pub fn node(&self) -> &Node {
        &self.node
    }

    /// Serves until `stop` is cancelled, a drain is asked for over the API, or the tree breaks; then ends in order.
    /// `hurry` cuts the drain's grace short.
    pub async fn run(self, stop: CancellationToken, hurry: CancellationToken) -> Ended {
        let broke = tokio::select! {
            () = stop.cancelled() => None,
            () = self.drain_asked.notified() => None,
            exit = self.node.ended() => Some(exit),
        };
        let Embedded { node, gateway, shutdown, background, folder, .. } = self;
        let ended = match broke {
            None => Ended::Drained(node.drain(hurry).await),
            Some(exit) => {
                node.stop().await;
                Ended::Broke(exit)
            }
        };
        shutdown.cancel();
        background.close();
        background.wait().await;
        let joined = tokio::task::spawn_blocking(move || gateway.join()).await;
        if !matches!(joined, Ok(Ok(()))) {
            tracing::error!("the gateway's thread did not end in order");
        }
        drop(folder);
        ended
    }
}

/// What a killed predecessor left must be gone before its tasks are taken back: an attempt must not run twice at once.
async fn clear(mark: String) -> Result<(), BootError> {
    let swept = tokio::task::spawn_blocking(move || sweep(&mark)).await;
    let Swept { killed, left } = swept.map_err(|error| BootError::Sweep(error.to_string()))?;
    if killed > 0 {
        tracing::warn!(count = killed, "killed processes that a predecessor had left");
    }
    if left.is_empty() { Ok(()) } else { Err(BootError::Leftovers { left: left.join(", ") }) }
}

/// No gateway may send wake-ups where nobody listens: the database remembers which queue it was set up with.
async fn check_queue(store: &dyn windlass_actors::ports::Store) -> Result<(), BootError> {
    let found = store.setting("queue", QUEUE).await?;
    if found == QUEUE { Ok(()) } else { Err(BootError::OtherQueue { found }) }
}

async fn take_back(
    store: &SharedStore,
    config: &Config,
    settings: &windlass_actors::tree::Settings,
) -> Result<(), BootError> {
    let backoff = Backoff { base: config.retry.base, cap: config.retry.cap, dice: rand::random() };
    let ours = settings.owner.incarnation;
    let taken = take_back_predecessors(store, settings.data_uuid, ours, backoff).await?;
    for one in &taken {
        tracing::info!(task = %one.key.task, epoch = one.key.epoch.0, status = %one.status, "took a task back from our predecessor");
        record::attempt_ended(one.task_type.as_str(), "lost");
    }
    record::taken_back("predecessor", taken.len() as u64);
    Ok(())
}

async fn start_node(
    config: &Config,
    store: SharedStore,
    plugins: Plugins,
    settings: windlass_actors::tree::Settings,
) -> Result<Node, BootError> {
    let Plugins { runner, found } = plugins;
    let types = found.types;
    if types.is_empty() {
        tracing::warn!("this node serves no task type: name a folder of plugins with `--plugins DIR` (`node.plugins`)");
    }
    tracing::info!(node = config.node.id, incarnation = %settings.owner.incarnation, "Registered task types: {:?}", Plugins::names(&types));
    let world = World {
        intake: Arc::new(TableQueue::new(store.clone())),
        store,
        runner: Arc::new(Runners::new(vec![(Kind::Python, Arc::new(runner) as Arc<dyn Runner>)])),
        clock: Arc::new(TokioClock::new()),
        dice: Arc::new(Chance),
        observer: Meter::new(&types),
    };
    let node = Node::start(settings, world, types).await?;
    node.shared().roster.on_restart(Box::new(restarted));
    Ok(node)
}

fn restarted(path: &str, exit: &Exit) {
    record::actor_restarted(&label(path));
    tracing::warn!(actor = path, ?exit, "an actor was restarted");
}

fn parts(
    config: &Config,
    store: SharedStore,
    metrics: Metrics,
    shared: &Arc<Shared>,
    admin: Arc<EmbeddedAdmin>,
    shutdown: CancellationToken,
) -> GatewayParts {
    let (health, roster) = (Arc::clone(shared), shared.roster.clone());
    GatewayParts {
        store,
        settings: settings::gateway(config),
        metrics: Arc::new(move || metrics.render()),
        readiness: Arc::new(move || Readiness { reasons: health.health.readiness().reasons }),
        tree: Some(Arc::new(move || serde_json::json!({ "actors": roster.snapshot() }))),
        admin: Some(admin),
        shutdown,
    }
}

async fn fold(metrics: Metrics) {
    loop {
        tokio::time::sleep(FOLDING).await;
        metrics.upkeep();
    }
}

/// Says which workers run, once the first ones are ready.
async fn announce(shared: Arc<Shared>) {
    while !shared.health.readiness().ready {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let rows = shared.roster.snapshot();
    let pids: Vec<_> = rows.iter().filter_map(|row| row.details.get("pid")?.as_u64()).collect();
    tracing::info!(pids = %format!("{pids:?}"), "Started {} workers", pids.len());
}

/// What operators may do to this node.
struct EmbeddedAdmin {
    roster: Roster,
    drain: Arc<Notify>,
    chaos: bool,
}

#[async_trait]
impl Admin for EmbeddedAdmin {
    async fn drain(&self) {
        self.drain.notify_one();
    }

    fn has_chaos(&self) -> bool {
        self.chaos
    }

    async fn chaos_kill(&self, path: &str, mode: &str) -> Result<(), String> {
        let mode = match mode {
            "panic" => KillMode::Panic,
            "kill" => KillMode::Kill,
            "stop" => KillMode::Stop,
            other => return Err(format!("`{other}` is no mode: allowed are `panic`, `kill`, `stop`")),
        };
        tracing::warn!(actor = path, ?mode, "chaos: ending an actor on order");
        self.roster.kill(path, mode).map_err(|error| error.to_string())
    }
}
