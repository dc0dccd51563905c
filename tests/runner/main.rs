//! Runners over real processes: what a host does, and that nothing is left of it whatever happens.

#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests look at the real machine and clock")]

mod discovery;
mod ends;
mod inline;
mod leaks;
mod output;
mod rig;
mod runs;
mod trees;
