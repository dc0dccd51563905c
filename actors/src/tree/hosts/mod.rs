//! Hosts: where plugin code runs.
//!
//! ```text
//! hosts                 one_for_one; a group that spends its budget is parked, the others never notice
//! └─ group/{name}       one a type, unless types share a `host_group`
//!    └─ host/{n}        temporary: one life is one process; the group starts the next, with backoff
//! ```
//!
//! | child | strategy | budget |
//! |---|---|---|
//! | group | one_for_one | parks from 1 s to 60 s |
//! | host | started anew by its group | ten failed starts in a row withdraw the group's types |

mod group;
mod host;
mod seat;

use std::sync::Arc;
use std::time::Duration;

pub use group::{GroupActor, GroupArgs, GroupMsg, HostReport};
pub use host::HostMsg;
pub use seat::{Seat, SeatAsk};

use super::wiring::Shared;
use crate::supervise::{Child, Restart, Strategy, SupervisorSpec};

/// The room's supervisor: a child supervisor `group` with one actor a group.
pub fn spec(shared: &Arc<Shared>) -> SupervisorSpec {
    let groups = shared.groups.iter().map(|(name, address)| {
        let (shared, group) = (Arc::clone(shared), name.clone());
        let stop_within = shared.settings.cancel_grace + Duration::from_secs(5);
        Child::actor(name.as_str(), Restart::Permanent, address.clone(), move |place| {
            (GroupActor, GroupArgs { shared: Arc::clone(&shared), name: group.clone(), place })
        })
        .stop_within(stop_within)
        .parks(Duration::from_secs(1), Duration::from_secs(60))
    });
    let groups = SupervisorSpec::new(Strategy::OneForOne, groups.collect());
    SupervisorSpec::new(Strategy::OneForOne, vec![Child::supervisor("group", groups)])
}
