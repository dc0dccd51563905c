//! What the executor's ports are made of: processes, databases, brokers.

pub mod runner;
