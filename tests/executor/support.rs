//! A node on a store in a folder of its own.

use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;

use tokio::sync::watch;
use uuid::Uuid;
use windlass::adapters::sqlite::{Options, SqliteStore};
use windlass_actors::decide::retry::RetryPolicy;
use windlass_actors::domain::{
    Incarnation, Json, Kind, NewTask, NodeId, Owner, Status, Task, TaskId, TaskType, TypeName,
};
use windlass_actors::invariants::{CATALOGUE, Context};
use windlass_actors::ports::clock::TokioClock;
use windlass_actors::ports::ledger::Created;
use windlass_actors::ports::ledger::{Backoff, Taken};
use windlass_actors::ports::observer::{Fact, Observer};
use windlass_actors::ports::{Dice, SharedStore};
use windlass_actors::testkit::{MemoryStore, ScriptedRunner, ToxicStore};
use windlass_actors::tree::{Node, Settings, TableQueue, World, take_back_predecessors};

/// Nothing here may take longer.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// The store's file in its folder.
const FILE: &str = "windlass.db";

pub struct RealDice;

impl Dice for RealDice {
    fn unit(&self) -> f64 {
        0.5
    }

    fn token(&self) -> Uuid {
        Uuid::now_v7()
    }
}

/// Keeps every fact, and wakes who waits for one.
pub struct Facts {
    seen: Mutex<Vec<Fact>>,
    bell: watch::Sender<usize>,
}

impl Default for Facts {
    fn default() -> Self {
        Facts { seen: Mutex::default(), bell: watch::channel(0).0 }
    }
}

impl Observer for Facts {
    fn saw(&self, fact: &Fact) {
        let mut seen = self.seen.lock().unwrap();
        seen.push(fact.clone());
        self.bell.send_replace(seen.len());
    }
}

impl Facts {
    pub fn count(&self, which: impl Fn(&Fact) -> bool) -> usize {
        self.seen.lock().unwrap().iter().filter(|fact| which(fact)).count()
    }

    /// Waits until so many facts of a kind were seen.
    pub async fn until(&self, what: &str, times: usize, which: impl Fn(&Fact) -> bool) {
        let mut bell = self.bell.subscribe();
        let seen = async {
            while self.count(&which) < times {
                bell.changed().await.unwrap();
            }
        };
        tokio::time::timeout(PATIENCE, seen)
            .await
            .unwrap_or_else(|_| panic!("not seen {times} times: {what}; seen: {:#?}", self.seen.lock().unwrap()));
    }
}

pub struct Rig {
    /// The store itself, for the test's own look at it.
    pub store: SharedStore,
    /// The same store as the node has it: its calls can be poisoned.
    pub toxic: Arc<ToxicStore>,
    pub runner: ScriptedRunner,
    pub facts: Arc<Facts>,
    pub node: Option<Node>,
    pub settings: Settings,
    pub types: Vec<TaskType>,
    folder: tempfile::TempDir,
}

pub fn type_name(name: &str) -> TypeName {
    TypeName::new(name).unwrap()
}

pub fn scripted(name: &str, threads: u32) -> TaskType {
    TaskType { worker_threads: threads, ..TaskType::new(type_name(name), Kind::Inline) }
}

pub fn settings() -> Settings {
    let owner = Owner {
        node: NodeId("n1".to_owned()),
        incarnation: Incarnation(Uuid::now_v7()),
        lease: Duration::from_secs(3),
    };
    Settings {
        owner,
        data_uuid: Uuid::now_v7(),
        renew: Duration::from_millis(500),
        reap: Duration::from_millis(200),
        reap_grace: Duration::from_millis(200),
        cancel_grace: Duration::from_millis(200),
        neighbour_grace: Duration::from_millis(300),
        drain_grace: Duration::from_millis(500),
        idle_claim: Duration::from_millis(500),
        heartbeat: Duration::from_secs(1),
        keep: Duration::from_secs(3600),
        retry: RetryPolicy { base: Duration::from_millis(20), cap: Duration::from_millis(100) },
    }
}

impl Rig {
    /// A node that runs.
    pub async fn start(types: Vec<TaskType>) -> Rig {
        let mut rig = Rig::new(types).await;
        rig.begin().await;
        rig
    }

    /// A store, and all that a node needs.
    pub async fn new(types: Vec<TaskType>) -> Rig {
        Rig::with(types, Options::default()).await
    }

    pub async fn with(types: Vec<TaskType>, options: Options) -> Rig {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path().join(FILE), options).await.unwrap();
        Rig::on(store, types, folder)
    }

    /// On the store in memory, whose clock flows with tokio's: for tests that pause it.
    pub fn in_memory(types: Vec<TaskType>) -> Rig {
        Rig::on(Arc::new(MemoryStore::new()), types, tempfile::tempdir().unwrap())
    }

    fn on(store: SharedStore, types: Vec<TaskType>, folder: tempfile::TempDir) -> Rig {
        let toxic = ToxicStore::new(Arc::clone(&store));
        let (runner, facts) = (ScriptedRunner::new(), Arc::new(Facts::default()));
        Rig { store, toxic, runner, facts, node: None, settings: settings(), types, folder }
    }

    /// Starts the node (again, after it was taken).
    pub async fn begin(&mut self) {
        let store: SharedStore = Arc::clone(&self.toxic) as SharedStore;
        let world = World {
            store: Arc::clone(&store),
            runner: Arc::new(self.runner.clone()),
            intake: Arc::new(TableQueue::new(store)),
            clock: Arc::new(TokioClock::new()),
            dice: Arc::new(RealDice),
            observer: Arc::clone(&self.facts) as Arc<dyn Observer>,
        };
        self.node = Some(Node::start(self.settings.clone(), world, self.types.clone()).await.unwrap());
    }

    /// What the next start of the program does, once the node has gone: sweep, take back, begin.
    pub async fn begin_anew(&mut self) -> Vec<Taken> {
        assert!(self.node.is_none(), "its predecessor still lives");
        self.patient("the leftovers are swept", || self.runner.alive().is_empty()).await;
        self.settings.owner.incarnation = Incarnation(Uuid::now_v7());
        let (uuid, ours) = (self.settings.data_uuid, self.settings.owner.incarnation);
        let RetryPolicy { base, cap } = self.settings.retry;
        let taken = take_back_predecessors(&self.store, uuid, ours, Backoff { base, cap, dice: 0.5 }).await.unwrap();
        self.begin().await;
        taken
    }

    /// Another process on the same file, as far as SQLite can tell: its signals are not heard here.
    pub async fn second(&self) -> SharedStore {
        SqliteStore::open(self.path(), Options::default()).await.unwrap()
    }

    pub fn path(&self) -> std::path::PathBuf {
        self.folder.path().join(FILE)
    }

    /// Waits until something is so that tells nobody of itself.
    pub async fn patient(&self, what: &str, so: impl Fn() -> bool) {
        let seen = async {
            while !so() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, seen).await.unwrap_or_else(|_| panic!("not so: {what}"));
    }

    /// Waits until so many calls of a name were poisoned.
    pub async fn hit(&self, call: &str, times: usize) {
        let hit = tokio::time::timeout(PATIENCE, self.toxic.hit(call, times));
        hit.await.unwrap_or_else(|_| panic!("`{call}` was not poisoned {times} times"));
    }

    /// Waits for so many more calls of a name.
    pub async fn called_again(&self, call: &str, times: usize) {
        let called = tokio::time::timeout(PATIENCE, self.toxic.called_again(call, times));
        called.await.unwrap_or_else(|_| panic!("`{call}` was not called {times} times"));
    }

    pub async fn ready(&self) {
        self.patient("the node is ready", || self.node().readiness().ready).await;
    }

    /// Waits until a lease has been over for that long.
    pub async fn lease_over(&self, id: TaskId, by: Duration) {
        let over = async {
            loop {
                let facts = self.store.facts(None, 500).await.unwrap();
                let over = facts.iter().find(|facts| facts.id == id).and_then(|facts| facts.lease_over_for);
                if over.is_some_and(|over| over > by) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(PATIENCE, over).await.expect("the lease ends");
    }

    pub fn node(&self) -> &Node {
        self.node.as_ref().unwrap()
    }

    pub async fn submit(&self, task_type: &str, payload: &str) -> TaskId {
        self.submit_as(task_type, payload, |_| {}).await
    }

    pub async fn submit_as(&self, task_type: &str, payload: &str, change: impl FnOnce(&mut NewTask)) -> TaskId {
        let mut task = NewTask {
            id: TaskId(Uuid::now_v7()),
            task_type: type_name(task_type),
            owner: "default".to_owned(),
            payload: Json::trusted(payload),
            model_spec: Json::empty_object(),
            inference_params: Json::empty_object(),
            metadata: Json::empty_object(),
            priority: 0,
            max_attempts: 3,
            timeout: None,
            deadline_in: None,
            not_before: None,
            client_role: None,
            idempotency_key: None,
            fingerprint: String::new(),
        };
        change(&mut task);
        let id = task.id;
        let created = self.store.create(vec![task]).await.unwrap();
        assert_eq!(created, [Created::Created { id }]);
        id
    }

    pub async fn task(&self, id: TaskId) -> Task {
        self.store.task(id).await.unwrap().unwrap()
    }

    /// Waits until a task is as wanted; woken by the store's signals, with a look in between.
    pub async fn until(&self, id: TaskId, wanted: impl Fn(&Task) -> bool) -> Task {
        let mut signals = self.store.subscribe();
        let seen = async {
            loop {
                let task = self.task(id).await;
                if wanted(&task) {
                    return task;
                }
                let _ = tokio::time::timeout(Duration::from_millis(50), signals.recv()).await;
            }
        };
        match tokio::time::timeout(PATIENCE, seen).await {
            Ok(task) => task,
            Err(_) => panic!(
                "the task did not get there: {:#?}\n{:#?}",
                self.task(id).await,
                self.node.as_ref().map(Node::tree)
            ),
        }
    }

    pub async fn ended(&self, id: TaskId) -> Task {
        self.until(id, |task| task.status.is_terminal()).await
    }

    pub async fn running(&self, id: TaskId) -> Task {
        self.until(id, |task| task.status == Status::Running).await
    }

    /// Quiet, and all that happened on the way was no actor's end.
    pub async fn unharmed(&self) {
        self.quiet().await;
        assert_eq!(self.node().shared().roster.restarts_total(), 0, "an outage is data: no actor exits");
        assert!(!self.runner.overlapped(), "no two attempts of a task ran at the same time");
    }

    /// What must hold once nothing runs: every slot is free, nothing of a run is left, the record shows no violation.
    pub async fn quiet(&self) {
        let free = async {
            let shared = self.node().shared();
            while !shared.holdings.is_empty() || shared.health.types().values().any(|t| t.busy > 0) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, free).await.expect("every slot is free when quiet");
        assert_eq!(self.runner.alive(), [], "no run is left");
        self.audit().await;
    }

    /// The invariants that a record can show.
    pub async fn audit(&self) {
        let context = Context { recovery: Duration::from_secs(4) };
        let mut after = None;
        loop {
            let page = self.store.facts(after, 500).await.unwrap();
            let Some(last) = page.last() else { return };
            after = Some(last.id);
            for facts in &page {
                for invariant in CATALOGUE {
                    if let Some(found) = (invariant.violated)(facts, &context) {
                        panic!("{} ({}) violated by {}: {found}", invariant.id, invariant.sentence, facts.id);
                    }
                }
                let starts = self.runner.starts(|key| key.task == facts.id);
                assert!(starts as i64 <= facts.attempts, "{} real starts, {} attempts", starts, facts.attempts);
            }
        }
    }
}
