//! Windlass: an executor node for long tasks of AI products.

pub mod cli;
pub mod config;
pub mod telemetry;
