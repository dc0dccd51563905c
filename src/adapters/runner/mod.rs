//! Runners: who calls plugin code.
//!
//! ```text
//!  process   launches hosts: one worker process each, under a shim
//!  ├ spawn       a thread that starts shims and hands them their descriptors
//!  ├ shim        the hidden subcommand: owns the worker's process tree, kills all of it
//!  ├ host        one host's life: frames in and out, output, memory, its end
//!  │ ├ frame, message   the worker protocol
//!  │ ├ write            commands on their way to a worker
//!  │ ├ capture          standard output and error as bounded, rate-limited lines
//!  │ └ proc             a process tree's members and memory
//!  ├ environment what a worker finds in its environment
//!  └ sweep       kills what a killed shim or node left behind
//!  discover  finds plugins' types; describe runs the processes that tell them, described reads what they say
//!  sdk       the Python SDK within the binary
//!  inline    async Rust handlers in this process
//!  runners   picks a runner by the types' kind
//! ```

mod capture;
mod describe;
mod described;
pub mod discover;
mod environment;
pub mod frame;
mod host;
pub mod inline;
mod inline_run;
mod leftovers;
pub mod message;
mod proc;
mod process;
mod runners;
pub mod sdk;
pub mod shim;
mod spawn;
mod sweep;
mod write;

pub use discover::{DiscoverOptions, Discovery, PluginFault, TypeOverride, discover};
pub use inline::{InlineContext, InlineError, InlineRunner};
pub use process::{ProcessOptions, ProcessRunner};
pub use runners::Runners;
pub use sweep::{Swept, sweep};
