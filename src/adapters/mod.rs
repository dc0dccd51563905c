//! Adapters: each implements ports of the executor for one piece of the world.

pub mod runner;
pub mod sqlite;
