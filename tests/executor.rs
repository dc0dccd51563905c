//! The whole executor on the embedded store, with hosts that do what their payload says.

#[path = "executor/smoke.rs"]
mod smoke;
#[path = "executor/support.rs"]
mod support;
