//! The gateway: the control-plane HTTP API, over any store.
//!
//! A request passes, from the outside in: [`serve`](serve::serve) (connections and their limits), the router (panics
//! and unknown addresses become problems), a file of `routes` (one call a function), and the pure readers of what came
//! in ([`submission`], [`selection`], [`parameters`]). Event streams are [`stream`]'s, woken by the [`hub`].
//!
//! The gateway knows the store's ports and nothing of the node. It runs on a thread and a runtime of its own, so that
//! it answers while everything else is wedged.

mod access;
mod app;
mod body;
mod capabilities;
mod fields;
mod fingerprint;
mod gauges;
mod hub;
mod openapi;
mod paced;
mod parameters;
mod problem;
mod router;
mod routes;
mod selection;
mod serve;
mod settings;
mod stream;
mod submission;
mod wire;

pub use app::{Admin, GatewayParts, Readiness};
pub use gauges::Gauges;
pub use problem::{Code, Fault, Problem};
pub use router::router;
pub use serve::{GatewayHandle, serve, spawn_on_own_thread};
pub use settings::{ApiKey, Offline, Role, Settings};
