//! Connections: one that writes, some that read.

use std::path::Path;
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, SqliteConnection};

use super::fault::Fault;
use super::options::{Options, Synchronous};

/// How long SQLite itself waits for a lock before we look at our own bound.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_millis(500);

/// What the -wal is cut to when it starts anew.
const WAL_LIMIT: &str = "4194304";

fn common(path: &Path, options: &Options) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .busy_timeout(BUSY_TIMEOUT)
        .foreign_keys(false)
        .pragma("temp_store", "memory")
        .pragma("cache_size", "-16384")
        .synchronous(match options.synchronous {
            Synchronous::Full => SqliteSynchronous::Full,
            Synchronous::Normal => SqliteSynchronous::Normal,
        })
        .disable_statement_logging()
}

/// Opens the connection that writes. Only the first one may make the file: one that vanished is an outage, not a new
/// store.
pub(super) async fn writer(path: &Path, options: &Options, first: bool) -> Result<SqliteConnection, Fault> {
    let mut connect = common(path, options)
        .create_if_missing(first)
        .journal_mode(SqliteJournalMode::Wal)
        .pragma("journal_size_limit", WAL_LIMIT)
        .pragma("wal_autocheckpoint", "1000");
    if let Some(pages) = options.max_pages {
        connect = connect.pragma("max_page_count", pages.to_string());
    }
    Ok(connect.connect().await?)
}

/// Prepares connections that only read. They open on first use.
pub(super) fn readers(path: &Path, options: &Options) -> SqlitePool {
    SqlitePoolOptions::new()
        .max_connections(options.readers.max(1))
        .acquire_timeout(options.busy_for)
        .test_before_acquire(false)
        .connect_lazy_with(common(path, options).create_if_missing(false).pragma("query_only", "on"))
}
