//! What tests of the executor and of its adapters are made of.

pub mod scripted;

pub use scripted::{Executed, ScriptedRunner};
