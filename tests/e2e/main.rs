//! The program as its users run it: `windlass up` with real Python hosts, its API, its commands, and what is left after it.

#![allow(clippy::disallowed_methods, reason = "tests look at the real machine and clock")]

mod capacity;
mod commands;
mod configuration;
mod cuts;
mod demo;
mod exits;
mod hosts;
mod machine;
mod nodes;
mod output;
mod races;
mod rig;
mod watchers;
