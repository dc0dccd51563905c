//! The stores: one conformance suite over both, a model over both, and what only SQLite can get wrong.

#[path = "stores/speed.rs"]
mod speed;
