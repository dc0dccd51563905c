//! The node's library: how the world answers the executor's ports.

pub mod adapters;
