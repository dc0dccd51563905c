//! Windlass: an executor node for long tasks of AI products.

pub mod gateway;
