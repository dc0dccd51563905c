//! A tokio task that belongs to an actor: it ends with its owner, and its end is a message.
//!
//! A task that is merely spawned is outside supervision: nobody hears its panic, and it outlives who started it.

use std::future::Future;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use ractor::{ActorRef, Message};
use tokio::task::AbortHandle;

use super::exit::{Exit, panic_words};

/// A task aborted on drop.
#[derive(Debug)]
#[must_use = "a task that is dropped is aborted"]
pub struct OwnedTask(AbortHandle);

/// The task panicked, with these words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("panicked: {0}")]
pub struct TaskPanicked(pub String);

impl From<TaskPanicked> for Exit {
    fn from(TaskPanicked(words): TaskPanicked) -> Self {
        Self::Panicked(words)
    }
}

impl OwnedTask {
    /// Runs `work` beside the actor and sends it `ended(result)` once it is over. Nothing is sent if the task is dropped
    /// first, or the actor has gone.
    pub fn spawn<M, T>(
        myself: &ActorRef<M>,
        work: impl Future<Output = T> + Send + 'static,
        ended: impl FnOnce(Result<T, TaskPanicked>) -> M + Send + 'static,
    ) -> Self
    where
        M: Message,
        T: Send + 'static,
    {
        let myself = myself.clone();
        #[expect(clippy::disallowed_methods, reason = "this is what gives a task its owner")]
        let task = tokio::spawn(async move {
            let result = AssertUnwindSafe(work).catch_unwind().await;
            let message = ended(result.map_err(|panic| TaskPanicked(panic_words(panic))));
            // an actor that has gone needs no news
            let _ = myself.cast(message);
        });
        Self(task.abort_handle())
    }

    /// Whether the work is over. Its message may still be on the way.
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }
}

impl Drop for OwnedTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}
