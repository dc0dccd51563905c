//! The shell around each actor of the tree. It changes nothing an actor can see, and
//!
//! - carries the actor's [`Life`], so that the roster hears of its end whichever way it comes;
//! - marks an `Err`, so that it is not taken for a panic;
//! - drops the actor's state when it has stopped (ractor hands it to the supervisor's mailbox, which keeps it until read);
//! - panics on order. The order wakes an idle actor of any message type through its supervision port: a messenger is
//!   started as its child, and ractor tells the parent of that.

use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, ActorRuntime, SupervisionEvent};

use super::exit::Failure;
use super::life::Life;

/// An actor with its life.
pub(super) struct Supervised<A> {
    actor: A,
    life: Life,
}

/// The actor's state, until it has stopped.
pub(super) struct Kept<S>(Option<S>);

impl<A: Actor> Supervised<A> {
    pub fn new(actor: A, life: Life) -> Self {
        Self { actor, life }
    }

    fn panic_if_ordered(&self) {
        if self.life.place().row().take_panic_order() {
            panic!("panicked on order");
        }
    }
}

impl<A: Actor> Actor for Supervised<A> {
    type Msg = A::Msg;
    type State = Kept<A::State>;
    type Arguments = A::Arguments;

    async fn pre_start(&self, myself: ActorRef<A::Msg>, args: A::Arguments) -> Result<Self::State, ActorProcessingErr> {
        let state = self.actor.pre_start(myself, args).await.map_err(Failure::mark)?;
        let place = self.life.place();
        place.row().started(place.incarnation());
        Ok(Kept(Some(state)))
    }

    async fn post_start(&self, myself: ActorRef<A::Msg>, state: &mut Self::State) -> Result<(), ActorProcessingErr> {
        match &mut state.0 {
            Some(state) => self.actor.post_start(myself, state).await.map_err(Failure::mark),
            None => Ok(()),
        }
    }

    async fn handle(
        &self,
        myself: ActorRef<A::Msg>,
        message: A::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        self.panic_if_ordered();
        match &mut state.0 {
            Some(state) => self.actor.handle(myself, message, state).await.map_err(Failure::mark),
            None => Ok(()),
        }
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<A::Msg>,
        event: SupervisionEvent,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        self.panic_if_ordered();
        match &mut state.0 {
            Some(state) => self.actor.handle_supervisor_evt(myself, event, state).await.map_err(Failure::mark),
            None => Ok(()),
        }
    }

    async fn post_stop(&self, myself: ActorRef<A::Msg>, state: &mut Self::State) -> Result<(), ActorProcessingErr> {
        match state.0.take() {
            Some(mut state) => self.actor.post_stop(myself, &mut state).await.map_err(Failure::mark),
            None => Ok(()),
        }
    }
}

/// Gives the actor a turn in which it finds its panic order. It dies of it and takes the messenger along.
pub(super) fn wake(actor: &ActorCell) {
    // an actor that is ending already takes no children, and needs no waking
    drop(ActorRuntime::spawn_linked_instant(None, Messenger, (), actor.clone()));
}

struct Messenger;

impl Actor for Messenger {
    type Msg = ();
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<()>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }
}
