//! The executor of Windlass: it knows no database, broker, process, socket or file.
//!
//! Rooms, from the inside out: [`domain`] has the nouns and the table of a task's states, [`decide`] the pure
//! decisions, [`ports`] what the executor needs of the world, [`supervise`] our small OTP, [`tree`] the actors, whose
//! folders are the supervision tree. `ARCHITECTURE.md` has the drawing and the import rule.

pub mod decide;
pub mod domain;
pub mod invariants;
pub mod ports;
pub mod supervise;
#[cfg(any(test, feature = "testkit"))]
pub mod testkit;
pub mod tree;
