//! Intake: where wake-ups come in. Last started, first stopped.
//!
//! ```text
//! intake                 one_for_one
//! └─ consumer/{type}     budgeted: 5 restarts in 30 s
//! ```

mod consumer;
mod table;

use std::sync::Arc;
use std::time::Duration;

pub use consumer::{ConsumerActor, ConsumerArgs, ConsumerMsg, Looked};
pub use table::TableQueue;

use super::wiring::Shared;
use crate::supervise::{Child, Restart, Strategy, SupervisorSpec};

/// The room's supervisor: a child supervisor `consumer` with one actor a type.
pub fn spec(shared: &Arc<Shared>) -> SupervisorSpec {
    let consumers = shared.types.iter().filter_map(|task_type| {
        let address = shared.consumers.get(&task_type.name)?.clone();
        let (shared, task_type) = (Arc::clone(shared), Arc::clone(task_type));
        let name = task_type.name.to_string();
        let child = Child::actor(name, Restart::Permanent, address, move |place| {
            (ConsumerActor, ConsumerArgs { shared: Arc::clone(&shared), task_type: Arc::clone(&task_type), place })
        });
        Some(child.parks(Duration::from_secs(1), Duration::from_secs(30)))
    });
    let consumers = SupervisorSpec::new(Strategy::OneForOne, consumers.collect());
    SupervisorSpec::new(Strategy::OneForOne, vec![Child::supervisor("consumer", consumers)])
}
