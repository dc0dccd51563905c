//! Upkeep: what a node does for the whole cluster and for itself, besides running tasks.
//!
//! ```text
//! upkeep            one_for_one, 10 restarts in 30 s
//! ├─ renewal        all leases of the node in one statement
//! ├─ control        cancels, as soon as they are asked for
//! ├─ reaper         takes what an owner stopped renewing; fails what is overdue
//! ├─ heartbeat      what this node serves, and that it lives
//! └─ pruner         ended tasks, after their time
//! ```

mod control;
mod heartbeat;
mod pruner;
mod reaper;
mod renewal;

use std::sync::Arc;
use std::time::Duration;

pub use heartbeat::report;

use super::wiring::Shared;
use crate::supervise::{Address, Child, Place, Restart, Strategy, SupervisorSpec};

/// What every actor here needs.
pub struct UpkeepArgs {
    pub shared: Arc<Shared>,
    pub place: Place,
}

macro_rules! child {
    ($shared:expr, $name:literal, $module:ident, $actor:ident) => {{
        let shared = Arc::clone($shared);
        Child::actor($name, Restart::Permanent, Address::new(), move |place| {
            ($module::$actor, UpkeepArgs { shared: Arc::clone(&shared), place })
        })
    }};
}

/// The room's supervisor.
pub fn spec(shared: &Arc<Shared>) -> SupervisorSpec {
    let children = vec![
        child!(shared, "renewal", renewal, RenewalActor),
        child!(shared, "control", control, ControlActor),
        child!(shared, "reaper", reaper, ReaperActor),
        child!(shared, "heartbeat", heartbeat, HeartbeatActor),
        child!(shared, "pruner", pruner, PrunerActor),
    ];
    SupervisorSpec::new(Strategy::OneForOne, children).budget(10, Duration::from_secs(30))
}
