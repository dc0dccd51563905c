//! A SQLite store in a temporary file, and a second hand on that file.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sqlx::sqlite::{SqliteConnectOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, Executor, SqliteConnection};
use tempfile::TempDir;
use windlass::adapters::sqlite::{Options, SqliteStore};
use windlass_actors::ports::SharedStore;
use windlass_actors::testkit::conformance::Harness;

pub struct OnFile {
    pub store: Arc<SqliteStore>,
    folder: TempDir,
}

impl OnFile {
    pub async fn open(options: Options) -> OnFile {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path().join("store.db"), options).await.unwrap();
        OnFile { store, folder }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("store.db")
    }

    pub fn wal_bytes(&self) -> u64 {
        std::fs::metadata(self.folder.path().join("store.db-wal")).map_or(0, |m| m.len())
    }

    /// A connection of another process, as far as SQLite can tell.
    pub async fn second_hand(&self) -> SqliteConnection {
        let options = SqliteConnectOptions::new().filename(self.path()).synchronous(SqliteSynchronous::Off);
        options.busy_timeout(Duration::from_secs(10)).disable_statement_logging().connect().await.unwrap()
    }
}

/// All that is stored happened earlier by ?1 ms.
const SHIFT: &str = "
    BEGIN IMMEDIATE;
    UPDATE task SET created_at = created_at - MS, not_before = not_before - MS, started_at = started_at - MS,
        finished_at = finished_at - MS, deadline_at = deadline_at - MS, lease_until = lease_until - MS,
        cancel_requested_at = cancel_requested_at - MS;
    UPDATE task_attempt SET started_at = started_at - MS, ended_at = ended_at - MS;
    UPDATE task_event SET at = at - MS;
    UPDATE node SET heartbeat_at = heartbeat_at - MS, started_at = started_at - MS;
    COMMIT;
";

#[async_trait]
impl Harness for OnFile {
    fn store(&self) -> SharedStore {
        self.store.clone()
    }

    async fn advance(&self, by: Duration) {
        let sql = SHIFT.replace("MS", &by.as_millis().to_string());
        self.second_hand().await.execute(sqlx::raw_sql(sqlx::AssertSqlSafe(sql))).await.unwrap();
    }
}
