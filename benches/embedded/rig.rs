//! What both sides of the comparison share: a store in a folder of its own, filled with the same tasks.

use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use uuid::Uuid;
use windlass::adapters::sqlite::{Options, SqliteStore};
use windlass_actors::domain::{Incarnation, Json, NewTask, NodeId, Owner, TaskId, TypeName};
use windlass_actors::ports::Ledger;

/// Tasks that run at a time, and share a commit at most.
pub const SLOTS: u32 = 64;

pub struct Filled {
    pub store: Arc<SqliteStore>,
    pub folder: TempDir,
}

pub fn noop() -> TypeName {
    TypeName::new("noop").expect("it is a name")
}

pub fn task(task_type: TypeName, payload: Json) -> NewTask {
    NewTask {
        id: TaskId(Uuid::now_v7()),
        task_type,
        owner: "default".to_owned(),
        payload,
        model_spec: Json::empty_object(),
        inference_params: Json::empty_object(),
        metadata: Json::empty_object(),
        priority: 5,
        max_attempts: 3,
        timeout: None,
        deadline_in: None,
        not_before: None,
        client_role: None,
        idempotency_key: None,
        fingerprint: String::new(),
    }
}

/// About what a small request is.
pub fn payload() -> Json {
    Json::trusted(format!(r#"{{"text":"{}"}}"#, "x".repeat(180)))
}

pub fn owner() -> Owner {
    let incarnation = Incarnation(Uuid::now_v7());
    Owner { node: NodeId("bench".to_owned()), incarnation, lease: Duration::from_secs(30) }
}

/// A store with so many tasks of the type in it.
pub async fn filled(task_type: TypeName, count: u32) -> Filled {
    let folder = tempfile::tempdir().expect("a folder for the database");
    let store = SqliteStore::open(folder.path().join("windlass.db"), Options::default()).await.expect("it opens");
    for begun in (0..count).step_by(500) {
        let tasks = (begun..count.min(begun + 500)).map(|_| task(task_type.clone(), payload())).collect();
        store.create(tasks).await.expect("tasks are created");
    }
    Filled { store, folder }
}

/// The median and the 99th percentile, in milliseconds.
pub fn percentiles(mut spans: Vec<Duration>) -> (f64, f64) {
    spans.sort();
    let at = |share: f64| spans[((spans.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    (at(0.5), at(0.99))
}
