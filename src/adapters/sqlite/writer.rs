//! The one writer: takes whatever calls wait, runs them in one transaction, commits, then answers each.
//!
//! ```text
//! calls ──queue──▶ [ BEGIN IMMEDIATE · run each · COMMIT ] ──▶ signals, answers
//!                        │ a statement fails
//!                        └─ ROLLBACK, each call alone; a call that fails alone, each of its items alone
//! ```
//!
//! The commit's own time makes the next batch. When the file is away its connection is opened anew for the next one.

use std::os::unix::fs::MetadataExt;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::time::Duration;

use futures_util::FutureExt;
use sqlx::{Executor, SqliteConnection};
use tokio::sync::{broadcast, mpsc};
use tokio::time::{Instant, sleep, timeout};
use windlass_actors::domain::Timestamp;
use windlass_actors::ports::signals::Signal;

use super::checkpoint::Checkpoint;
use super::connect;
use super::fault::Fault;
use super::options::Options;
use super::verb::{Job, Tx};

/// Calls that share a commit.
const BATCH: usize = 64;
/// Without calls for so long, the writer looks after the -wal.
const IDLE: Duration = Duration::from_millis(500);
/// Between two tries for the lock, where SQLite itself does not wait.
const BUSY_PAUSE: Duration = Duration::from_millis(5);
/// SQLite's clock, in milliseconds.
pub(super) const CLOCK: &str = "SELECT CAST(ROUND(unixepoch('subsec') * 1000) AS INTEGER)";

pub(super) struct Writer {
    pub path: PathBuf,
    pub options: Options,
    pub signals: broadcast::Sender<Signal>,
    pub conn: Option<SqliteConnection>,
    /// Device and inode of the file that was opened first.
    pub file: Option<(u64, u64)>,
}

impl Writer {
    /// Serves until the last handle to the store is gone.
    pub async fn serve(mut self, mut calls: mpsc::Receiver<Box<dyn Job>>) {
        let mut checkpoint = Checkpoint::new(&self.path);
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            match timeout(IDLE, calls.recv_many(&mut batch, BATCH)).await {
                Ok(0) => break,
                Ok(_) => {
                    self.guarded(&mut batch).await;
                    checkpoint.after_commit(self.conn.as_mut()).await;
                }
                Err(_) => checkpoint.idle(self.conn.as_mut()).await,
            }
        }
    }

    /// A panic costs its batch: those who wait hear that the answer is lost.
    async fn guarded(&mut self, batch: &mut Vec<Box<dyn Job>>) {
        if AssertUnwindSafe(self.batch(batch)).catch_unwind().await.is_err() {
            tracing::error!("a call to the store panicked");
            self.conn = None;
            batch.clear();
        }
    }

    async fn batch(&mut self, batch: &mut Vec<Box<dyn Job>>) {
        match self.together(batch).await {
            Ok(()) => batch.drain(..).for_each(|mut job| job.commit()),
            Err(Fault::Bad(_)) => {
                for mut job in batch.drain(..) {
                    self.alone(&mut job).await;
                }
            }
            Err(fault) => batch.drain(..).for_each(|mut job| job.fail(fault.clone())),
        }
    }

    async fn alone(&mut self, job: &mut Box<dyn Job>) {
        let Err(fault) = self.together(std::slice::from_mut(job)).await else {
            return job.commit();
        };
        let mut parts = job.split();
        if parts.len() < 2 || !matches!(fault, Fault::Bad(_)) {
            return job.fail(fault);
        }
        let mut worst = None;
        for part in &mut parts {
            worst = self.together(std::slice::from_mut(part)).await.err().or(worst);
        }
        match worst {
            Some(fault) => job.fail(fault),
            None => {
                job.join(parts);
                job.commit();
            }
        }
    }

    /// One transaction, all or nothing. Waits for the lock; reopens the connection where that may help.
    async fn together(&mut self, jobs: &mut [Box<dyn Job>]) -> Result<(), Fault> {
        let until = Instant::now() + self.options.busy_for;
        loop {
            match self.attempt(jobs).await {
                Err(Fault::Busy) if Instant::now() < until => sleep(BUSY_PAUSE).await,
                Err(Fault::Away(why)) => {
                    tracing::warn!(%why, "the store is away");
                    self.conn = None;
                    return Err(Fault::Away(why));
                }
                done => return done,
            }
        }
    }

    /// A file that was removed or replaced takes writes that nobody will ever read.
    fn check_file(&mut self) -> Result<(), Fault> {
        let found = std::fs::metadata(&self.path).map(|file| (file.dev(), file.ino()));
        let found = found.map_err(|error| Fault::Away(format!("its file is gone: {error}")))?;
        match self.file.get_or_insert(found) {
            opened if *opened == found => Ok(()),
            _ => Err(Fault::Away("its file was replaced while it was in use: restart the node".to_owned())),
        }
    }

    async fn attempt(&mut self, jobs: &mut [Box<dyn Job>]) -> Result<(), Fault> {
        if self.conn.is_some() || self.file.is_some() {
            self.check_file()?;
        }
        let conn = match &mut self.conn {
            Some(conn) => conn,
            none => none.insert(connect::writer(&self.path, &self.options, false).await?),
        };
        conn.execute("BEGIN IMMEDIATE").await?;
        match run(conn, &self.options, jobs).await {
            Ok(signals) => {
                // nobody listening is no fault
                signals.into_iter().for_each(|signal| drop(self.signals.send(signal)));
                Ok(())
            }
            Err(fault) => {
                // SQLite may have rolled back by itself; any other failure needs a new connection
                if conn.execute("ROLLBACK").await.is_err() {
                    self.conn = None;
                }
                Err(fault)
            }
        }
    }
}

async fn run(conn: &mut SqliteConnection, options: &Options, jobs: &mut [Box<dyn Job>]) -> Result<Vec<Signal>, Fault> {
    let now = sqlx::query_scalar(CLOCK).fetch_one(&mut *conn).await.map(Timestamp)?;
    let mut tx = Tx { conn, now, sizes: options.sizes, signals: Vec::new() };
    for job in jobs {
        job.run(&mut tx).await?;
    }
    let signals = tx.signals;
    conn.execute("COMMIT").await?;
    Ok(signals)
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;
    use windlass_actors::ports::ledger::LedgerError;

    use super::super::keep::Probe;
    use super::super::verb::Pending;
    use super::super::{MIGRATIONS, SIGNALS};
    use super::*;

    async fn probe(writer: &mut Writer) -> Result<Timestamp, LedgerError> {
        let (reply, answer) = oneshot::channel();
        writer.batch(&mut vec![Box::new(Pending::new(Probe, reply))]).await;
        answer.await.unwrap()
    }

    #[tokio::test]
    async fn a_read_only_database_is_an_outage_and_ends_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let (path, options) = (folder.path().join("store.db"), Options::default());
        let mut conn = connect::writer(&path, &options, true).await.unwrap();
        MIGRATIONS.run(&mut conn).await.unwrap();
        conn.execute("PRAGMA query_only = on").await.unwrap();
        let mut writer = Writer { path, options, signals: broadcast::channel(SIGNALS).0, conn: Some(conn), file: None };
        let away = LedgerError::Unavailable("the database is read-only".to_owned());
        assert_eq!(probe(&mut writer).await, Err(away));
        assert!(probe(&mut writer).await.is_ok(), "on a new connection");
    }

    #[tokio::test]
    async fn a_file_that_vanished_is_not_made_anew() {
        let folder = tempfile::tempdir().unwrap();
        let (path, options) = (folder.path().join("store.db"), Options::default());
        let mut writer = Writer { path, options, signals: broadcast::channel(SIGNALS).0, conn: None, file: None };
        let away = LedgerError::Unavailable("the database file can't be opened".to_owned());
        assert_eq!(probe(&mut writer).await, Err(away));
    }
}
