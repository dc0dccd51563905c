//! The store on SQLite: one file, one writer, group commit.
//!
//! Every write goes through [`writer`], which shares a transaction between all calls that wait; every read through a
//! small pool of connections that can't write. What a move of a task writes is decided by the table of states in the
//! domain; only claims, renewals, records and successes are statements over whole batches. Several processes may share
//! the file; signals are heard within one.

mod ask;
mod change;
mod checkpoint;
mod claim;
mod claim_next;
mod claim_rows;
mod connect;
mod count;
mod create;
mod fault;
mod finish;
mod keep;
mod ledger;
mod options;
mod read;
mod record;
mod records;
mod registry;
mod renew;
mod row;
mod schema;
mod take;
mod verb;
mod view;
mod writer;

use std::path::Path;
use std::sync::Arc;

use sqlx::SqlitePool;
use sqlx::migrate::Migrator;
use tokio::sync::{broadcast, mpsc, oneshot};
use windlass_actors::ports::ledger::LedgerError;
use windlass_actors::ports::rules::Sizes;
use windlass_actors::ports::signals::{Signal, Signals};

pub use options::{Options, Synchronous};
pub use schema::{Schema, schema};

use fault::Fault;
use verb::{Job, Pending, Verb};
use writer::Writer;

static MIGRATIONS: Migrator = sqlx::migrate!("migrations/sqlite");

/// Signals that a listener may be behind.
const SIGNALS: usize = 4096;

/// A store in one SQLite file. It serves until its last handle is dropped.
pub struct SqliteStore {
    calls: mpsc::Sender<Box<dyn Job>>,
    readers: SqlitePool,
    signals: broadcast::Sender<Signal>,
    sizes: Sizes,
}

impl SqliteStore {
    /// Opens the file, makes it where there is none, and brings its schema up to date.
    pub async fn open(path: impl AsRef<Path>, options: Options) -> Result<Arc<Self>, LedgerError> {
        let path = path.as_ref().to_owned();
        let mut conn = connect::writer(&path, &options, true).await?;
        migrate(&mut conn).await?;
        let (calls, waiting) = mpsc::channel(options.queue.max(1));
        let (signals, _) = broadcast::channel(SIGNALS);
        let (readers, sizes) = (connect::readers(&path, &options), options.sizes);
        let writer = Writer { path, options, signals: signals.clone(), conn: Some(conn), file: None };
        #[expect(
            clippy::disallowed_methods,
            reason = "it ends by itself when the last handle to the store is dropped"
        )]
        tokio::spawn(writer.serve(waiting));
        Ok(Arc::new(SqliteStore { calls, readers, signals, sizes }))
    }

    /// Has the writer run a call.
    async fn write<V: Verb>(&self, verb: V) -> Result<V::Answer, LedgerError> {
        let (reply, answer) = oneshot::channel();
        let gone = |_| LedgerError::Unavailable("its writer is gone".to_owned());
        self.calls.send(Box::new(Pending::new(verb, reply))).await.map_err(|_| gone(()))?;
        answer.await.map_err(|_| gone(()))?
    }
}

async fn migrate(conn: &mut sqlx::SqliteConnection) -> Result<(), Fault> {
    MIGRATIONS.run(conn).await.map_err(|error| match error {
        sqlx::migrate::MigrateError::Execute(error) => error.into(),
        other => Fault::Bad(format!("its schema does not fit: {other}")),
    })
}

impl Signals for SqliteStore {
    fn subscribe(&self) -> broadcast::Receiver<Signal> {
        self.signals.subscribe()
    }
}
