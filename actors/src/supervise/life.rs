//! The life of one actor, from its start until its task is gone, whichever way it ends.
//!
//! ractor reports an end before the actor's task is over, and not at all when the parent is dead; and a killed parent
//! takes its descendants along without waiting for them. So each actor carries a [`Life`]: dropped with its task, it keeps
//! the roster true, and holds the [`Presence`]s above it, so that a parent knows when a whole subtree has gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio_util::sync::CancellationToken;

use super::place::Place;
use super::row::Stay;

/// Held by an actor and, through theirs, by all of its descendants: what is dropped last says that all of them are gone.
pub(super) struct Presence {
    ended: AtomicBool,
    gone: CancellationToken,
    above: Option<Arc<Presence>>,
}

impl Presence {
    pub fn below(above: Option<Arc<Presence>>) -> Arc<Self> {
        Arc::new(Self { ended: AtomicBool::new(false), gone: CancellationToken::new(), above })
    }

    /// Cancelled once the actor and everything below it is gone.
    pub fn gone(&self) -> CancellationToken {
        self.gone.clone()
    }

    pub fn end(&self) {
        self.ended.store(true, Ordering::Release);
    }

    /// Whether the actor above is there to look after this one's row.
    pub fn has_parent(&self) -> bool {
        self.above.as_ref().is_none_or(|above| !above.ended.load(Ordering::Acquire))
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.gone.cancel();
    }
}

/// Dropped when the actor's task is.
pub(super) struct Life {
    place: Place,
    presence: Arc<Presence>,
    stay: Stay,
}

impl Life {
    /// Takes the path in the roster. A start that fails is a short life.
    pub fn begin(place: Place, stay: Stay) -> Self {
        let presence = Presence::below(place.row().presence_above());
        place.roster().enter(place.row(), place.incarnation(), &presence);
        Self { place, presence, stay }
    }

    pub fn place(&self) -> &Place {
        &self.place
    }

    pub fn gone(&self) -> CancellationToken {
        self.presence.gone()
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        self.place.roster().leave(self.place.row(), self.place.incarnation(), &self.presence, self.stay);
    }
}
