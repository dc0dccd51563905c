//! An actor's place in the tree: its path, and what it tells of itself there.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::roster::Roster;
use super::row::Row;

/// Given to an actor at its start. Cheap to clone. What a place of an earlier incarnation writes is dropped.
#[derive(Clone)]
pub struct Place {
    roster: Roster,
    row: Arc<Row>,
    incarnation: u64,
}

impl Place {
    /// The path, names joined by `/`: `pools/pool/hello`.
    pub fn path(&self) -> &str {
        &self.row.path
    }

    /// Says in words what the actor does at the moment.
    pub fn state(&self, words: impl Into<Cow<'static, str>>) {
        self.row.set_state(self.incarnation, words.into());
    }

    /// Tells a detail: task, epoch, stage. Told again, it replaces the old value.
    pub fn detail(&self, key: &str, value: Value) {
        self.row.set_detail(self.incarnation, key, value);
    }

    /// A place below this one. It is in the roster once an actor starts there.
    pub fn child(&self, name: &str) -> Place {
        Self::at(&self.roster, self.roster.row_below(&self.row, name))
    }

    /// The roster this place belongs to.
    pub fn roster(&self) -> &Roster {
        &self.roster
    }

    pub(super) fn root(roster: &Roster, name: &str) -> Place {
        Self::at(roster, roster.row_of_root(name))
    }

    fn at(roster: &Roster, row: Row) -> Place {
        let incarnation = row.next_incarnation();
        Place { roster: roster.clone(), row: Arc::new(row), incarnation }
    }

    /// The same path for the next incarnation.
    pub(super) fn renewed(&self) -> Place {
        Place { incarnation: self.row.next_incarnation(), ..self.clone() }
    }

    pub(super) fn row(&self) -> &Arc<Row> {
        &self.row
    }

    pub(super) fn incarnation(&self) -> u64 {
        self.incarnation
    }

    /// The supervisor's word on a child that is down; it holds until the next incarnation.
    pub(super) fn say(&self, words: String) {
        self.row.set_state(self.incarnation, words.into());
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Place({})", self.path())
    }
}
