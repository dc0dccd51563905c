//! Windlass: an executor node for long tasks of AI products. The adapters around the executor (`windlass-actors`), and
//! what wires them.

pub mod adapters;
pub mod boot;
pub mod cli;
pub mod config;
pub mod gateway;
pub mod telemetry;
