//! Keeps the -wal small: SQLite copies it back by itself every thousand pages, but never shortens it while readers come
//! and go without a gap. We do so when it is large, and when nothing else is to do.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::{Executor, SqliteConnection};
use tokio::time::Instant;

/// An idle writer empties a -wal larger than this.
const IDLE_BYTES: u64 = 1 << 20;
/// A busy writer stops for a moment to empty one larger than this.
const LARGE_BYTES: u64 = 64 << 20;
/// How often a busy writer looks at its size.
const LOOK: Duration = Duration::from_millis(500);

pub(super) struct Checkpoint {
    wal: PathBuf,
    looked: Instant,
}

impl Checkpoint {
    pub fn new(database: &Path) -> Self {
        let mut wal = database.as_os_str().to_owned();
        wal.push("-wal");
        Checkpoint { wal: wal.into(), looked: Instant::now() }
    }

    pub async fn after_commit(&mut self, conn: Option<&mut SqliteConnection>) {
        if self.looked.elapsed() > LOOK {
            self.looked = Instant::now();
            self.empty(conn, LARGE_BYTES, "PRAGMA busy_timeout = 100").await;
        }
    }

    pub async fn idle(&mut self, conn: Option<&mut SqliteConnection>) {
        self.empty(conn, IDLE_BYTES, "PRAGMA busy_timeout = 0").await;
    }

    /// Readers may be in the way: then it is tried again at the next look.
    async fn empty(&self, conn: Option<&mut SqliteConnection>, above: u64, patience: &'static str) {
        let size = tokio::fs::metadata(&self.wal).await.map_or(0, |m| m.len());
        let Some(conn) = conn.filter(|_| size > above) else {
            return;
        };
        for step in [patience, "PRAGMA wal_checkpoint(TRUNCATE)", "PRAGMA busy_timeout = 500"] {
            if let Err(error) = conn.execute(step).await {
                tracing::debug!(%error, step, "the -wal was not emptied");
            }
        }
    }
}
