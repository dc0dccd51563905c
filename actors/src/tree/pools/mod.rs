//! Pools: a type's capacity on this node, and the leases that use it.
//!
//! ```text
//! pools                     one_for_one: a bad type never takes the others down
//! └─ pool/{type}            budgeted; a spent budget parks the type
//!    └─ lease/{task}@{epoch}   temporary: its exit is the outcome
//! ```
//!
//! | child | strategy | budget |
//! |---|---|---|
//! | pool | one_for_one | parks from 1 s to 60 s |
//! | lease | never restarted: its pool settles for it | – |

mod lease;
mod pool;
mod recover;

use std::sync::Arc;
use std::time::Duration;

pub use lease::LeaseMsg;
pub use pool::{PoolActor, PoolArgs, PoolMsg};

use super::wiring::Shared;
use crate::supervise::{Child, Restart, Strategy, SupervisorSpec};

/// The room's supervisor: a child supervisor `pool` with one actor a type.
pub fn spec(shared: &Arc<Shared>) -> SupervisorSpec {
    let pools = shared.types.iter().filter_map(|task_type| {
        let address = shared.pools.get(&task_type.name)?.clone();
        let (shared, task_type) = (Arc::clone(shared), Arc::clone(task_type));
        let name = task_type.name.to_string();
        let child = Child::actor(name, Restart::Permanent, address, move |place| {
            (PoolActor, PoolArgs { shared: Arc::clone(&shared), task_type: Arc::clone(&task_type), place })
        });
        Some(child.stop_within(Duration::from_secs(5)).parks(Duration::from_secs(1), Duration::from_secs(60)))
    });
    let pools = SupervisorSpec::new(Strategy::OneForOne, pools.collect());
    SupervisorSpec::new(Strategy::OneForOne, vec![Child::supervisor("pool", pools)])
}
