//! The gateway over a real socket and a real store: every call, every code, and what strangers send.

#[path = "gateway/access.rs"]
mod access;
#[path = "gateway/bodies.rs"]
mod bodies;
#[path = "gateway/bulk.rs"]
mod bulk;
#[path = "gateway/cluster.rs"]
mod cluster;
#[path = "gateway/create.rs"]
mod create;
#[path = "gateway/flaky.rs"]
mod flaky;
#[path = "gateway/outage.rs"]
mod outage;
#[path = "gateway/streams.rs"]
mod streams;
#[path = "gateway/support.rs"]
mod support;
#[path = "gateway/tasks.rs"]
mod tasks;
