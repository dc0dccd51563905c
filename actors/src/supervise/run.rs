//! A child while it lives: its cell, where it is reached, and how it is ended in time.

use std::time::Duration;

use ractor::{ActorCell, ActorRef, Message};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::address::Address;
use super::exit::ASKED;
use super::place::Place;

/// How long what was killed may take to be gone. Longer means that it does not yield, and that nothing ends it.
pub(super) const KILL_WITHIN: Duration = Duration::from_secs(5);

/// How a child is asked to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// After the message in hand; what is queued is dropped.
    Stop,
    /// After what is queued.
    Drain,
}

/// Where a child is reached: put up when it has started, taken down when it has ended.
pub(super) trait Doorplate: Send + Sync {
    fn put_up(&self);
    fn take_down(&self);
}

/// The doorplate of one incarnation.
pub(super) struct Occupant<M> {
    pub address: Address<M>,
    pub actor: ActorRef<M>,
}

impl<M: Message> Doorplate for Occupant<M> {
    fn put_up(&self) {
        self.address.set(self.actor.clone());
    }

    fn take_down(&self) {
        self.address.clear_if(&self.actor);
    }
}

/// One incarnation of a child. Dropped, the actor is killed if it still lives: also one that never got past its start,
/// which ractor has not linked yet.
pub(super) struct Run {
    cell: ActorCell,
    gone: CancellationToken,
    place: Place,
    plate: Box<dyn Doorplate>,
}

impl Run {
    pub fn new(cell: ActorCell, gone: CancellationToken, place: Place, plate: Box<dyn Doorplate>) -> Self {
        Self { cell, gone, place, plate }
    }

    pub fn is(&self, cell: &ActorCell) -> bool {
        self.cell == *cell
    }

    pub fn up(&self) {
        self.plate.put_up();
    }

    /// Asks the child to end, waits for it and what is below it, kills it when the time is over.
    pub fn end_within(&self, limit: Duration, asked: Asked) -> impl Future<Output = ()> + Send + use<> {
        self.plate.take_down();
        let (cell, gone, place) = (self.cell.clone(), self.gone.clone(), self.place.clone());
        async move {
            ask(&cell, asked);
            if timeout(limit, gone.cancelled()).await.is_ok() {
                return;
            }
            tracing::warn!(actor = place.path(), ?limit, "actor did not end in time and is killed");
            place.roster().note_overdue(place.path());
            cell.kill();
            wait_until_gone(&gone, &place).await;
        }
    }

    /// Waits until a child that has ended, and what was below it, is gone.
    pub fn gone(&self) -> impl Future<Output = ()> + Send + use<> {
        let (gone, place) = (self.gone.clone(), self.place.clone());
        async move { wait_until_gone(&gone, &place).await }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.plate.take_down();
        self.cell.kill();
    }
}

pub(super) fn ask(cell: &ActorCell, asked: Asked) {
    match asked {
        Asked::Stop => cell.stop(Some(ASKED.to_owned())),
        // refused by an actor that is ending already
        Asked::Drain => drop(cell.drain()),
    }
}

async fn wait_until_gone(gone: &CancellationToken, place: &Place) {
    if timeout(KILL_WITHIN, gone.cancelled()).await.is_err() {
        tracing::error!(actor = place.path(), "actor has ended, but something of it does not yield and still runs");
    }
}
