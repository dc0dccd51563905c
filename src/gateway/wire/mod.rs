//! The JSON that goes over the wire: the contract's names, apart from the domain's.

mod cluster;
mod event;
mod raw;
mod stats;
mod task;

pub use cluster::{Actors, NodeItem, NodePage, Paused, TypeItem, TypePage};
pub use event::{EventItem, EventPage};
pub use stats::StatsBody;
pub use task::{Created, Selected, TaskBody, TaskItem, TaskPage};
