//! What tests of the executor and of its adapters are made of: a store in memory, faults at a store's calls, scripted
//! runs, time and dice in the test's hand, and the suite that every store passes.

pub mod clock;
pub mod conformance;
pub mod dice;
pub mod memory;
pub mod model;
pub mod scripted;
pub mod tasks;
pub mod toxic;

pub use clock::ManualClock;
pub use dice::SeededDice;
pub use memory::MemoryStore;
pub use scripted::{Executed, ScriptedRunner};
pub use toxic::{Toxic, ToxicStore};
