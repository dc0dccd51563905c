//! What every handler shares.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;
use windlass_actors::domain::{Task, TaskId};
use windlass_actors::ports::SharedStore;
use windlass_actors::ports::ledger::LedgerError;
use windlass_actors::ports::records::{Filter, Page};

use super::access::Caller;
use super::capabilities::Capabilities;
use super::gauges::Gauges;
use super::hub::Hub;
use super::problem::{Code, Problem};
use super::settings::{Role, Settings};

/// Whether the process can do its job now: it can if there is no reason against it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Readiness {
    pub reasons: Vec<String>,
}

/// What an operator may do to the node that this gateway is embedded in.
#[async_trait]
pub trait Admin: Send + Sync + 'static {
    /// Asks the node to take no new work and to stop once what runs has ended; answers at once.
    async fn drain(&self);
    /// Whether the node was started with `--chaos`; without it there is no call to kill actors.
    fn has_chaos(&self) -> bool;
    /// Ends an actor by its path in the tree; `mode` is `panic`, `kill` or `stop`. The error is for people.
    async fn chaos_kill(&self, path: &str, mode: &str) -> Result<(), String>;
}

/// Everything a gateway is made of.
pub struct GatewayParts {
    pub store: SharedStore,
    pub settings: Settings,
    /// Renders the process's metrics as Prometheus text. Called on scrapes; must not block.
    pub metrics: Arc<dyn Fn() -> String + Send + Sync>,
    /// Answers from what is known already; must not block.
    pub readiness: Arc<dyn Fn() -> Readiness + Send + Sync>,
    /// The live tree of an embedded node, as `{"actors":[…]}`. Must not block.
    pub tree: Option<Arc<dyn Fn() -> serde_json::Value + Send + Sync>>,
    /// Of an embedded node.
    pub admin: Option<Arc<dyn Admin>>,
    /// Streams and waits end when it is cancelled.
    pub shutdown: CancellationToken,
}

/// The handlers' state; cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Inner>);

struct Inner {
    store: SharedStore,
    settings: Settings,
    metrics: Arc<dyn Fn() -> String + Send + Sync>,
    readiness: Arc<dyn Fn() -> Readiness + Send + Sync>,
    tree: Option<Arc<dyn Fn() -> serde_json::Value + Send + Sync>>,
    admin: Option<Arc<dyn Admin>>,
    shutdown: CancellationToken,
    capabilities: Arc<Capabilities>,
    gauges: Gauges,
    hub: Hub,
    streams: Arc<Semaphore>,
    work: TaskTracker,
    _end: DropGuard,
}

impl App {
    /// Starts the hub and the refreshing of what is cached on the runtime that calls; both end with the last clone.
    pub fn start(parts: GatewayParts) -> App {
        let GatewayParts { store, settings, metrics, readiness, tree, admin, shutdown } = parts;
        let capabilities = Arc::new(Capabilities::new(store.clone(), settings.believed, settings.store_timeout));
        let (hub, hub_work) = Hub::new(store.subscribe());
        let (work, end) = (TaskTracker::new(), CancellationToken::new());
        work.spawn(hub_work);
        work.spawn(end.clone().run_until_cancelled_owned(capabilities.clone().keep_fresh()));
        App(Arc::new(Inner {
            streams: Arc::new(Semaphore::new(settings.max_streams)),
            _end: end.drop_guard(),
            gauges: Gauges::default(),
            store,
            settings,
            metrics,
            readiness,
            tree,
            admin,
            shutdown,
            capabilities,
            hub,
            work,
        }))
    }

    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    pub fn store(&self) -> &SharedStore {
        &self.0.store
    }

    pub fn capabilities(&self) -> &Capabilities {
        &self.0.capabilities
    }

    pub fn gauges(&self) -> &Gauges {
        &self.0.gauges
    }

    pub fn hub(&self) -> &Hub {
        &self.0.hub
    }

    pub fn shutdown(&self) -> &CancellationToken {
        &self.0.shutdown
    }

    /// Where work goes on that outlives its request.
    pub fn work(&self) -> &TaskTracker {
        &self.0.work
    }

    pub fn admin(&self) -> Option<&Arc<dyn Admin>> {
        self.0.admin.as_ref()
    }

    pub fn has_tree(&self) -> bool {
        self.0.tree.is_some()
    }

    pub fn tree(&self) -> Option<serde_json::Value> {
        self.0.tree.as_ref().map(|tree| tree())
    }

    pub fn render_metrics(&self) -> String {
        (self.0.metrics)()
    }

    /// The process's own reasons, and the store if it did not answer lately.
    pub fn readiness(&self) -> Readiness {
        let mut readiness = (self.0.readiness)();
        readiness.reasons.extend(self.capabilities().failure());
        readiness
    }

    /// A place among the streams, freed when dropped.
    pub fn stream_slot(&self) -> Result<OwnedSemaphorePermit, Problem> {
        self.0.streams.clone().try_acquire_owned().map_err(|_| {
            let detail = format!("all {} places for event streams are taken", self.settings().max_streams);
            Problem::new(Code::TooManyStreams, detail)
        })
    }

    /// Calls the store, and says that it is unavailable if it does not answer in time. The call may have happened.
    pub async fn ask<T>(&self, call: impl Future<Output = Result<T, LedgerError>>) -> Result<T, Problem> {
        match timeout(self.settings().store_timeout, call).await {
            Ok(answer) => Ok(answer?),
            Err(_) => Err(Problem::new(Code::StoreUnavailable, "the store did not answer in time")),
        }
    }

    /// A task that the caller may see. One that is somebody else's is as unknown as one that there is not.
    pub async fn task(&self, id: TaskId, caller: &Caller) -> Result<Task, Problem> {
        let found = self.ask(self.store().task(id)).await?;
        found.filter(|task| caller.sees(&task.owner)).ok_or_else(|| Problem::no_such_task(&id.to_string()))
    }

    /// Refuses as [`App::task`] does. Whoever may see every task learns from the next call whether there is this one.
    pub async fn may_see(&self, id: TaskId, caller: &Caller) -> Result<(), Problem> {
        if caller.role == Role::Operate {
            return Ok(());
        }
        let filter = Filter { ids: vec![id], owner: Some(caller.owner.clone()), ..Filter::default() };
        let found = self.ask(self.store().tasks(&filter, Page { before: None, limit: 1 })).await?;
        if found.is_empty() { Err(Problem::no_such_task(&id.to_string())) } else { Ok(()) }
    }
}
