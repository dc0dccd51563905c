//! The whole executor on the embedded store, with hosts that do what their payload says.

#[path = "executor/cuts.rs"]
mod cuts;
#[path = "executor/cuts_ends.rs"]
mod cuts_ends;
#[path = "executor/cuts_owners.rs"]
mod cuts_owners;
#[path = "executor/cuts_store.rs"]
mod cuts_store;
#[path = "executor/deaths.rs"]
mod deaths;
#[path = "executor/due.rs"]
mod due;
#[path = "executor/smoke.rs"]
mod smoke;
#[path = "executor/stops.rs"]
mod stops;
#[path = "executor/support.rs"]
mod support;
