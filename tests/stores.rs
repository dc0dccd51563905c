//! The stores: one conformance suite over both, a model over both, and what only SQLite can get wrong.
#![expect(clippy::disallowed_methods, reason = "real files and other processes, in real time")]

#[path = "stores/conformance.rs"]
mod conformance;
#[path = "stores/file.rs"]
mod file;
#[path = "stores/model.rs"]
mod model;
#[path = "stores/schema.rs"]
mod schema;
#[path = "stores/speed.rs"]
mod speed;
#[path = "stores/sqlite.rs"]
mod sqlite;
