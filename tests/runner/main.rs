//! Runners over real processes: what a host does, and that nothing is left of it whatever happens.

mod rig;
mod runs;
