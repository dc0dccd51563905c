//! Nouns, and the table of a task's states. No time, no dice, no IO: what depends on them takes them as arguments.

mod attempt;
mod error;
mod event;
mod ids;
mod json;
mod moves;
mod outcome;
mod retry;
mod status;
mod task;
mod task_type;
mod time;

pub use attempt::{Attempt, LeaseKey, Owner};
pub use error::{ErrorKind, TaskError};
pub use event::{Event, EventKind, NewEvent};
pub use ids::{BadName, Epoch, Incarnation, NodeId, TaskId, TypeName};
pub use json::{BadJson, Json, MOST_NESTED};
pub use moves::{AttemptEnd, Command, MAX_UNCHARGED, Move, Refusal, Standing, StateData, Suspicion, apply};
pub use outcome::{EndReason, Ending, Outcome, ReleaseReason, Verdict};
pub use retry::RetryPolicy;
pub use status::Status;
pub use task::{NewTask, Task};
pub use task_type::{CredentialMode, Kind, Takeover, TaskType};
pub use time::Timestamp;
