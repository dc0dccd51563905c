//! The node: adapters around the executor (`windlass-actors`), and what wires them.

pub mod adapters;
