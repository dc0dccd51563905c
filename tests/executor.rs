//! The whole executor on the embedded store, with hosts that do what their payload says.

#[path = "executor/deaths.rs"]
mod deaths;
#[path = "executor/smoke.rs"]
mod smoke;
#[path = "executor/stops.rs"]
mod stops;
#[path = "executor/support.rs"]
mod support;
