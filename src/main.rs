//! The binary. A worker's shim is this same program; it is told apart before anything else is set up.

use std::process::ExitCode;

use windlass::adapters::runner::shim;
use windlass::cli;

fn main() -> ExitCode {
    shim::run_if_asked();
    cli::run(std::env::args_os())
}
