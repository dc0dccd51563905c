//! Runners over real processes: what a host does, and that nothing is left of it whatever happens.

mod ends;
mod leaks;
mod output;
mod rig;
mod runs;
mod trees;
