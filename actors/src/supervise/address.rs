//! Where to reach an actor that may be restarted.
//!
//! A restart makes a new `ActorRef`; refs kept by others are dead. An [`Address`] is handed round instead: the supervisor
//! puts the ref of the day into it. There is no registry of names: two trees in one process do not collide.

use std::fmt;
use std::sync::{Arc, Mutex};

use ractor::{ACTIVE_STATES, ActorRef, ActorStatus, Message, MessagingErr};

use super::lock::lock;

/// A handle on an actor that survives its restarts. Cheap to clone; all clones are one.
pub struct Address<M>(Arc<Mutex<Option<ActorRef<M>>>>);

/// The actor is down at the moment; here is the message back.
#[derive(thiserror::Error)]
#[error("the actor is down")]
pub struct Unreachable<M>(pub M);

impl<M> fmt::Debug for Unreachable<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Unreachable")
    }
}

impl<M: Message> Address<M> {
    /// An address where nobody lives yet.
    pub fn new() -> Self {
        Self(Arc::default())
    }

    /// Queues the message, or gives it back when the actor is down.
    ///
    /// `Ok` means queued, not handled: an actor that crashes loses its queue. Who owes an answer asks again.
    pub fn cast(&self, message: M) -> Result<(), Unreachable<M>> {
        match &*lock(&self.0) {
            None => Err(Unreachable(message)),
            Some(actor) => send(actor, message),
        }
    }

    /// The actor who lives here from now on.
    pub fn set(&self, actor: ActorRef<M>) {
        *lock(&self.0) = Some(actor);
    }

    /// Nobody lives here any more.
    pub fn clear(&self) {
        *lock(&self.0) = None;
    }

    /// Clears the address if it is still that actor's: its successor may have moved in already.
    pub(super) fn clear_if(&self, actor: &ActorRef<M>) {
        let mut here = lock(&self.0);
        if here.as_ref() == Some(actor) {
            *here = None;
        }
    }

    /// Whether somebody lives here who takes messages.
    pub fn is_up(&self) -> bool {
        lock(&self.0).as_ref().is_some_and(|actor| takes_messages(actor.get_status()))
    }

    /// The actor who lives here now. Do not keep it: it is dead after a restart.
    pub fn current(&self) -> Option<ActorRef<M>> {
        lock(&self.0).clone()
    }
}

fn takes_messages(status: ActorStatus) -> bool {
    status == ActorStatus::Unstarted || ACTIVE_STATES.contains(&status)
}

fn send<M: Message>(actor: &ActorRef<M>, message: M) -> Result<(), Unreachable<M>> {
    match actor.cast(message) {
        Ok(()) => Ok(()),
        Err(MessagingErr::SendErr(message)) => Err(Unreachable(message)),
        // the ref is typed and the sending side has no other end: ractor gives no message back in these two
        Err(MessagingErr::ChannelClosed | MessagingErr::InvalidActorType) => {
            unreachable!("a typed cast answers only with the message")
        }
    }
}

impl<M> Clone for Address<M> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<M: Message> Default for Address<M> {
    fn default() -> Self {
        Self::new()
    }
}

impl<M> fmt::Debug for Address<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Address")
    }
}
