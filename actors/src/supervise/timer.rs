//! A tick that cannot burst: armed once, at the end of the handler of the one before, and gone with its owner.

use std::time::Duration;

use ractor::{ActorRef, Message};
use tokio::task::AbortHandle;

/// One message to come. Dropped, it does not come any more.
#[derive(Debug)]
#[must_use = "a tick that is dropped does not come"]
pub struct Tick(AbortHandle);

impl Tick {
    /// Sends the message to the actor after the time. Keep the tick in the actor's state and arm the next one at the end
    /// of the handler: after a stall there is one message waiting, not one for each period missed.
    pub fn after<M: Message>(
        myself: &ActorRef<M>,
        time: Duration,
        message: impl FnOnce() -> M + Send + 'static,
    ) -> Self {
        Self(myself.send_after(time, message).abort_handle())
    }
}

impl Drop for Tick {
    fn drop(&mut self) {
        self.0.abort();
    }
}
