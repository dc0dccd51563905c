//! Every live actor by its path: what `/api/v1/tree` shows, what chaos kills, what counts restarts.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::exit::{ASKED, Exit};
use super::life::Presence;
use super::lock::lock;
use super::row::{ActorRow, Row, Stay};
use super::supervised;

/// At most so many overdue paths are kept for [`Roster::take_overdue`].
const OVERDUE_KEPT: usize = 256;

type OnRestart = Arc<dyn Fn(&str, &Exit) + Send + Sync>;

/// The live actors of one tree. Cheap to clone; all clones are one. Two trees have two rosters and share nothing.
#[derive(Clone, Default)]
pub struct Roster(Arc<Inner>);

#[derive(Default)]
struct Inner {
    rows: Mutex<BTreeMap<Arc<str>, Arc<Row>>>,
    starts: AtomicU64,
    restarts: AtomicU64,
    on_restart: Mutex<Vec<OnRestart>>,
    overdue: Mutex<Vec<String>>,
}

/// How [`Roster::kill`] ends an actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KillMode {
    /// It panics in its next turn, as if a handler had.
    Panic,
    /// It is cut off at its next await; `post_stop` does not run.
    Kill,
    /// It is asked to stop; `post_stop` runs.
    Stop,
}

/// No actor lives at this path at the moment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no actor lives at `{0}`")]
pub struct NoSuchActor(pub String);

impl Roster {
    /// An empty roster.
    pub fn new() -> Self {
        Self::default()
    }

    /// The rows in start order: a parent before its children, the children as they were started.
    pub fn snapshot(&self) -> Vec<ActorRow> {
        let mut rows: Vec<Arc<Row>> = lock(&self.0.rows).values().cloned().collect();
        rows.sort_by(|a, b| a.order.cmp(&b.order));
        rows.iter().map(|row| row.shown()).collect()
    }

    /// The row at this path.
    pub fn row(&self, path: &str) -> Option<ActorRow> {
        let row = lock(&self.0.rows).get(path).cloned();
        row.map(|row| row.shown())
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        lock(&self.0.rows).len()
    }

    /// Whether nobody lives here.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Restarts of all actors since the roster was made.
    pub fn restarts_total(&self) -> u64 {
        self.0.restarts.load(Ordering::Relaxed)
    }

    /// Calls the hook at each restart with the path and how the predecessor ended. It is called in the
    /// supervisor's turn: it must be short and must not panic.
    pub fn on_restart(&self, hook: impl Fn(&str, &Exit) + Send + Sync + 'static) {
        lock(&self.0.on_restart).push(Arc::new(hook));
    }

    /// Ends the actor at this path; it answers before that has happened. Called within a tokio runtime.
    pub fn kill(&self, path: &str, mode: KillMode) -> Result<(), NoSuchActor> {
        let row = lock(&self.0.rows).get(path).cloned();
        let Some((row, cell)) = row.and_then(|row| row.cell().map(|cell| (row, cell))) else {
            return Err(NoSuchActor(path.to_owned()));
        };
        match mode {
            KillMode::Kill => cell.kill(),
            KillMode::Stop => cell.stop(Some(ASKED.to_owned())),
            KillMode::Panic => {
                row.order_panic();
                supervised::wake(&cell);
            }
        }
        Ok(())
    }

    /// The paths that did not end in time when they were asked to stop, since the last call.
    pub fn take_overdue(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.0.overdue))
    }

    pub(super) fn note_overdue(&self, path: &str) {
        let mut overdue = lock(&self.0.overdue);
        if overdue.len() < OVERDUE_KEPT {
            overdue.push(path.to_owned());
        }
    }

    pub(super) fn note_restart(&self, row: &Row, exit: &Exit) {
        row.count_restart();
        self.0.restarts.fetch_add(1, Ordering::Relaxed);
        let hooks = lock(&self.0.on_restart).clone();
        hooks.iter().for_each(|hook| hook(&row.path, exit));
    }

    pub(super) fn row_of_root(&self, name: &str) -> Row {
        Row::new(name.into(), Box::new([self.next_start()]), None)
    }

    pub(super) fn row_below(&self, parent: &Arc<Row>, name: &str) -> Row {
        let path = match parent.parent {
            None => name.into(),
            Some(_) => format!("{}/{name}", parent.path).into(),
        };
        let mut order = Vec::with_capacity(parent.order.len() + 1);
        order.extend_from_slice(&parent.order);
        order.push(self.next_start());
        Row::new(path, order.into(), Some(Arc::clone(parent)))
    }

    /// An actor begins at this row; what a predecessor left below it is forgotten.
    pub(super) fn enter(&self, row: &Arc<Row>, incarnation: u64, presence: &Arc<Presence>) {
        let mut rows = lock(&self.0.rows);
        row.begin(presence, incarnation);
        if row.has_below.swap(false, Ordering::AcqRel) {
            rows.retain(|_, other| !is_below(other, row));
        }
        row.above().for_each(|above| above.has_below.store(true, Ordering::Release));
        rows.insert(Arc::clone(&row.path), Arc::clone(row));
    }

    /// The actor's task is gone: its row goes or stays, and what is dead below it goes.
    pub(super) fn leave(&self, row: &Arc<Row>, incarnation: u64, presence: &Presence, stay: Stay) {
        let mut rows = lock(&self.0.rows);
        presence.end();
        if !row.end(incarnation) {
            return;
        }
        if row.has_below.swap(false, Ordering::AcqRel) {
            forget_dead_below(&mut rows, row);
        }
        if stay == Stay::WithActor || !presence.has_parent() {
            remove(&mut rows, row);
        }
    }

    /// The row of a child that will not come back.
    pub(super) fn forget(&self, row: &Arc<Row>) {
        remove(&mut lock(&self.0.rows), row);
    }

    fn next_start(&self) -> u64 {
        self.0.starts.fetch_add(1, Ordering::Relaxed)
    }
}

type Rows = BTreeMap<Arc<str>, Arc<Row>>;

/// Removes the row, unless another one has the path by now.
fn remove(rows: &mut Rows, row: &Arc<Row>) {
    if rows.get(&row.path).is_some_and(|here| Arc::ptr_eq(here, row)) {
        rows.remove(&row.path);
    }
}

/// Rows of actors that are dead already; those that still live leave by themselves.
fn forget_dead_below(rows: &mut Rows, row: &Arc<Row>) {
    rows.retain(|_, other| !(is_below(other, row) && other.cell().is_none()));
}

fn is_below(row: &Row, above: &Arc<Row>) -> bool {
    row.above().any(|row| Arc::ptr_eq(row, above))
}

impl fmt::Debug for Roster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Roster({} actors)", self.len())
    }
}
