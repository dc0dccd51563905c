//! Wake-ups from the store. They may get lost: whoever listens polls as well, more slowly.

use tokio::sync::broadcast;

use crate::domain::{Epoch, TaskId, TypeName};

#[derive(Clone, PartialEq, Debug)]
pub enum Signal {
    /// A task of the type was queued, due now or later.
    Queued { task_type: TypeName },
    /// A running task is asked to stop.
    CancelRequested { task: TaskId, epoch: Epoch },
    /// Events up to `last_seq` are committed.
    Recorded { task: TaskId, last_seq: i64 },
    /// A type was paused or resumed.
    TypeChanged { task_type: TypeName },
}

pub trait Signals: Send + Sync + 'static {
    /// Hears what is committed from now on. A receiver that lags is told so and looks for itself.
    fn subscribe(&self) -> broadcast::Receiver<Signal>;
}
