//! The folders under `actors/src/tree` are the supervision tree.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;
use windlass_actors::decide::retry::RetryPolicy;
use windlass_actors::domain::{Incarnation, Json, Kind, NewTask, NodeId, Owner, TaskId, TaskType, TypeName};
use windlass_actors::ports::SharedStore;
use windlass_actors::ports::clock::TokioClock;
use windlass_actors::ports::observer::{Fact, Observer};
use windlass_actors::testkit::{MemoryStore, ScriptedRunner, SeededDice};
use windlass_actors::tree::{Node, Settings, TableQueue, World};

/// Waits until a run has begun.
struct Begun(tokio::sync::Semaphore);

impl Observer for Begun {
    fn saw(&self, fact: &Fact) {
        if matches!(fact, Fact::RunBegan { .. }) {
            self.0.add_permits(1);
        }
    }
}

fn settings() -> Settings {
    let incarnation = Incarnation(Uuid::from_u128(1));
    let second = Duration::from_secs(1);
    Settings {
        owner: Owner { node: NodeId("n".to_owned()), incarnation, lease: 30 * second },
        data_uuid: Uuid::from_u128(2),
        renew: 10 * second,
        reap: 5 * second,
        reap_grace: 5 * second,
        cancel_grace: second,
        neighbour_grace: second,
        drain_grace: second,
        idle_claim: 5 * second,
        heartbeat: 10 * second,
        keep: 3600 * second,
        retry: RetryPolicy { base: second, cap: second },
    }
}

fn task(task_type: &str) -> NewTask {
    NewTask {
        id: TaskId(Uuid::now_v7()),
        task_type: TypeName::new(task_type).unwrap(),
        owner: "default".to_owned(),
        payload: Json::trusted(r#"{"do":[{"sleep_ms":60000}]}"#),
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
    }
}

/// The paths of a node with two types, each with a run under way, ids as `{…}`.
async fn running_tree() -> Vec<String> {
    let store: SharedStore = Arc::new(MemoryStore::new());
    let begun = Arc::new(Begun(tokio::sync::Semaphore::new(0)));
    let world = World {
        store: Arc::clone(&store),
        runner: Arc::new(ScriptedRunner::new()),
        intake: Arc::new(TableQueue::new(Arc::clone(&store))),
        clock: Arc::new(TokioClock::new()),
        dice: Arc::new(SeededDice::new(7)),
        observer: Arc::clone(&begun) as Arc<dyn Observer>,
    };
    let types = ["echo", "parse"].map(|name| TaskType::new(TypeName::new(name).unwrap(), Kind::Inline));
    let node = Node::start(settings(), world, types.to_vec()).await.unwrap();
    store.create(vec![task("echo"), task("parse")]).await.unwrap();
    let both = tokio::time::timeout(Duration::from_secs(20), begun.0.acquire_many(2)).await;
    both.expect("both runs begin").unwrap().forget();
    let mut paths: Vec<String> = node.tree().iter().map(|row| without_ids(&row.path)).collect();
    node.stop().await;
    paths.sort();
    paths
}

fn without_ids(path: &str) -> String {
    let named = |name: &str| match name {
        _ if name.contains('@') => "{task}@{epoch}".to_owned(),
        _ if name.parse::<u32>().is_ok() => "{n}".to_owned(),
        _ => name.to_owned(),
    };
    path.split('/').map(named).collect::<Vec<_>>().join("/")
}

/// Folders below `actors/src/tree`, as paths.
fn folders(below: &Path, prefix: &str, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(below).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            let name = format!("{prefix}{}", path.file_name().unwrap().to_string_lossy());
            folders(&path, &format!("{name}/"), found);
            found.insert(name);
        }
    }
}

/// Whether the names of a folder's path come in this order in an actor's path: `pools/lease` in `pools/pool/x/lease/…`.
fn follows(folder: &str, actor: &str) -> bool {
    let mut names = actor.split('/');
    folder.split('/').all(|name| names.any(|n| n == name))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_folders_of_the_tree_are_the_supervision_tree() {
    let paths = running_tree().await;
    insta::assert_snapshot!(paths.join("\n"));

    let mut rooms = BTreeSet::new();
    folders(&Path::new(env!("CARGO_MANIFEST_DIR")).join("actors/src/tree"), "", &mut rooms);
    for folder in &rooms {
        assert!(paths.iter().any(|path| follows(folder, path)), "no actor lives in actors/src/tree/{folder}");
    }
    for group in paths.iter().filter(|path| !path.contains('/')) {
        assert!(rooms.contains(group) || group == "node", "`{group}` has no folder under actors/src/tree");
    }
}
