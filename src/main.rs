use std::process::ExitCode;

use windlass::cli::{self, exit::CliError};

fn main() -> ExitCode {
    cli::run(std::env::args_os(), |_, _, _| Err(CliError::Failed("this command is not part of this build yet".into())))
}
