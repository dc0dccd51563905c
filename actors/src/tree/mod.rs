//! The node's actors. The folders are the supervision tree:
//!
//! ```text
//! node                      one_for_one over its groups; its budget spent: the node stops, exit non-zero
//! ├─ ledger                 claims, records and finishes share commits
//! ├─ upkeep                 renewal, control, reaper, heartbeat, pruner
//! ├─ hosts
//! │  └─ group/{name}
//! │     └─ host/{n}         one worker process
//! ├─ pools
//! │  └─ pool/{type}
//! │     └─ lease/{task}@{epoch}
//! └─ intake
//!    └─ consumer/{type}     last started, first stopped
//! ```
//!
//! | child | depends on | budget |
//! |---|---|---|
//! | ledger | – | 10 restarts in 30 s, with all others of this level |
//! | upkeep | – | its own: 10 in 30 s |
//! | hosts, pools, intake | the ones above | a type that spends its budget is parked |
//!
//! Refs die with their actors: siblings reach each other through the [`Shared`] addresses. What two incarnations of an
//! actor must have in common (calls to the ledger, what is held, health) belongs to the node, not to the actor.

mod drain;
mod health;
mod holdings;
mod hosts;
mod intake;
mod ledger;
mod node;
mod pools;
mod recovery;
mod upkeep;
mod wiring;

pub use drain::DrainReport;
pub use health::{Readiness, TypeHealth};
pub use intake::TableQueue;
pub use node::Node;
pub use recovery::{Predecessor, take_back_predecessors};
pub use wiring::{Settings, Shared, World};
