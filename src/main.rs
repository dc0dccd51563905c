//! The binary. A worker's shim is this same program; it is told apart before anything else is set up.

use std::process::ExitCode;

use windlass::adapters::runner::shim;
use windlass::cli::{self, exit::CliError};

fn main() -> ExitCode {
    shim::run_if_asked();
    cli::run(std::env::args_os(), |_, _, _| Err(CliError::Failed("this command is not part of this build yet".into())))
}
