//! Windlass: an executor node for long tasks of AI products.

pub mod adapters;
pub mod cli;
pub mod config;
pub mod gateway;
pub mod telemetry;
