//! The gateway over a real socket, on both embedded stores: every call, every code, and what strangers send.

#![allow(clippy::duplicate_mod, reason = "the same tests, once a store")]

use std::path::Path;
use std::sync::Arc;

use windlass::adapters::sqlite::{Options, SqliteStore, Synchronous};
use windlass_actors::ports::SharedStore;
use windlass_actors::testkit::MemoryStore;

async fn sqlite(folder: &Path) -> SharedStore {
    let options = Options { synchronous: Synchronous::Normal, ..Options::default() };
    SqliteStore::open(folder.join("db"), options).await.unwrap()
}

async fn memory(_folder: &Path) -> SharedStore {
    Arc::new(MemoryStore::new())
}

#[path = "gateway"]
mod on_sqlite {
    use super::sqlite as open_store;

    mod access;
    mod bodies;
    mod bulk;
    mod cluster;
    mod create;
    mod flaky;
    mod outage;
    mod streams;
    mod support;
    mod tasks;
}

#[path = "gateway"]
mod in_memory {
    use super::memory as open_store;

    mod access;
    mod bodies;
    mod bulk;
    mod cluster;
    mod create;
    mod flaky;
    mod outage;
    mod streams;
    mod support;
    mod tasks;
}
