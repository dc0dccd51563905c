//! What is known of one path of the tree: the part of it that outlives a restart, and the part that does not.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

use ractor::ActorCell;
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::life::Presence;
use super::lock::lock;

/// A live actor, as `/api/v1/tree` shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ActorRow {
    /// Where it is in the tree: names joined by `/`. Children of the root do not carry the root's name.
    pub path: String,
    /// What it does at the moment, in words.
    pub state: String,
    /// How often it was started again.
    pub restarts: u32,
    /// Seconds since it was last started.
    pub age_seconds: f64,
    /// How it crashed last, in words.
    pub last_error: Option<String>,
    /// What the actor tells of itself: task, epoch, stage.
    pub details: Map<String, Value>,
}

/// Whose row stays when its actor ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stay {
    /// The row says what comes next (`restarting in 2 s`) as long as the parent lives.
    WithParent,
    /// The row goes when the actor does.
    WithActor,
}

/// One path. Shared by the roster, the places handed out for it and the life of its actor.
pub(super) struct Row {
    pub path: Arc<str>,
    /// The start numbers from the top down to this row: sorts the rows as the tree was started.
    pub order: Box<[u64]>,
    pub parent: Option<Arc<Row>>,
    /// Set when something was started below, so that the end of a leaf looks at nothing but itself.
    pub has_below: AtomicBool,
    panic_ordered: AtomicBool,
    now: Mutex<Now>,
}

struct Now {
    incarnation: u64,
    state: Cow<'static, str>,
    restarts: u32,
    since: Instant,
    last_error: Option<String>,
    details: Map<String, Value>,
    cell: Option<ActorCell>,
    ended: bool,
    presence: Weak<Presence>,
}

impl Row {
    pub fn new(path: Arc<str>, order: Box<[u64]>, parent: Option<Arc<Row>>) -> Self {
        let now = Now {
            incarnation: 0,
            state: Cow::Borrowed("not started"),
            restarts: 0,
            since: Instant::now(),
            last_error: None,
            details: Map::new(),
            cell: None,
            ended: false,
            presence: Weak::new(),
        };
        Self {
            path,
            order,
            parent,
            has_below: AtomicBool::new(false),
            panic_ordered: AtomicBool::new(false),
            now: Mutex::new(now),
        }
    }

    pub fn shown(&self) -> ActorRow {
        let now = lock(&self.now);
        ActorRow {
            path: self.path.to_string(),
            state: now.state.to_string(),
            restarts: now.restarts,
            age_seconds: now.since.elapsed().as_secs_f64(),
            last_error: now.last_error.clone(),
            details: now.details.clone(),
        }
    }

    /// A new actor takes the path: restarts and last error stay, the rest is fresh. Answers its incarnation.
    pub fn begin(&self, presence: &Arc<Presence>, incarnation: u64) {
        self.panic_ordered.store(false, Ordering::Release);
        let mut now = lock(&self.now);
        (now.incarnation, now.ended) = (incarnation, false);
        now.state = Cow::Borrowed("starting");
        now.since = Instant::now();
        now.details.clear();
        now.presence = Arc::downgrade(presence);
    }

    /// The next incarnation's number; what older places write from here on is dropped.
    pub fn next_incarnation(&self) -> u64 {
        let mut now = lock(&self.now);
        now.incarnation += 1;
        now.incarnation
    }

    pub fn set_cell(&self, incarnation: u64, cell: ActorCell) {
        // its task may be over already, and what is dead is not to be found
        self.write(incarnation, |now| now.cell = (!now.ended).then_some(cell));
    }

    /// The actor is up, unless it has said something of its own already.
    pub fn started(&self, incarnation: u64) {
        self.write(incarnation, |now| {
            if now.state == "starting" {
                now.state = Cow::Borrowed("running");
            }
        });
    }

    /// The actor of that incarnation is gone. False if a successor has the row already.
    pub fn end(&self, incarnation: u64) -> bool {
        let mut now = lock(&self.now);
        if now.incarnation != incarnation {
            return false;
        }
        (now.cell, now.ended) = (None, true);
        true
    }

    pub fn set_state(&self, incarnation: u64, words: Cow<'static, str>) {
        self.write(incarnation, |now| now.state = words);
    }

    pub fn set_detail(&self, incarnation: u64, key: &str, value: Value) {
        self.write(incarnation, |now| {
            now.details.insert(key.to_owned(), value);
        });
    }

    pub fn set_last_error(&self, words: String) {
        lock(&self.now).last_error = Some(words);
    }

    pub fn count_restart(&self) {
        lock(&self.now).restarts += 1;
    }

    pub fn cell(&self) -> Option<ActorCell> {
        lock(&self.now).cell.clone()
    }

    /// The nearest actor above that lives. A path may have names in it where nobody does: `lease` in `lease/7`.
    pub fn presence_above(&self) -> Option<Arc<Presence>> {
        self.above().find_map(|row| lock(&row.now).presence.upgrade())
    }

    /// The rows above, nearest first.
    pub fn above(&self) -> impl Iterator<Item = &Arc<Row>> {
        std::iter::successors(self.parent.as_ref(), |row| row.parent.as_ref())
    }

    pub fn order_panic(&self) {
        self.panic_ordered.store(true, Ordering::Release);
    }

    pub fn take_panic_order(&self) -> bool {
        self.panic_ordered.load(Ordering::Relaxed) && self.panic_ordered.swap(false, Ordering::AcqRel)
    }

    fn write(&self, incarnation: u64, change: impl FnOnce(&mut Now)) {
        let mut now = lock(&self.now);
        if now.incarnation == incarnation {
            change(&mut now);
        }
    }
}
