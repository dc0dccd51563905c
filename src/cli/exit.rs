//! How a command ends: exit codes, and errors that carry a remedy.

use std::process::ExitCode;

use crate::boot::{BootError, BootFault};
use crate::config::{Faults, mask_urls};

/// The exit codes of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Done = 0,
    /// The thing asked failed.
    Failed = 1,
    /// `submit --wait` and `--follow`: the task was cancelled.
    Cancelled = 2,
    Usage = 64,
    Unreachable = 69,
    Configuration = 78,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// Why a command did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    Configuration(#[from] Faults),
    /// The configuration is well formed, and does not work here.
    #[error("{0}")]
    Misconfigured(String),
    /// A service that must answer did not.
    #[error("cannot reach {what}: {reason}\nhint: {remedy}")]
    Unreachable { what: String, reason: String, remedy: String },
    /// The gateway said no.
    #[error("{code}: {detail}{}", .hint.as_ref().map(|hint| format!("\nhint: {hint}")).unwrap_or_default())]
    Refused { code: String, detail: String, hint: Option<String> },
    #[error("{0}")]
    Failed(String),
    #[error("cannot write the output: {0}")]
    Output(std::io::Error),
    /// Who reads the output has seen enough, as `head` does.
    #[error("the reader of the output is gone")]
    ReaderGone,
}

impl CliError {
    pub fn exit(&self) -> Exit {
        match self {
            CliError::Usage(_) => Exit::Usage,
            CliError::Configuration(_) | CliError::Misconfigured(_) => Exit::Configuration,
            CliError::Unreachable { .. } => Exit::Unreachable,
            CliError::Refused { .. } | CliError::Failed(_) | CliError::Output(_) => Exit::Failed,
            CliError::ReaderGone => Exit::Done,
        }
    }

    /// What standard error is told; nothing when the reader is gone.
    pub fn message(&self) -> Option<String> {
        match self {
            CliError::ReaderGone => None,
            // one line a fault, each whole by itself: a log's reader may see only one of them
            CliError::Configuration(faults) => Some(mask_urls(&faults.to_string().replace('\n', "\nwindlass: "))),
            error => Some(mask_urls(&error.to_string())),
        }
    }
}

impl From<std::io::Error> for CliError {
    fn from(error: std::io::Error) -> CliError {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => CliError::ReaderGone,
            _ => CliError::Output(error),
        }
    }
}

impl From<BootError> for CliError {
    fn from(error: BootError) -> CliError {
        match error.fault() {
            BootFault::Configuration => CliError::Misconfigured(error.to_string()),
            BootFault::Unreachable => CliError::Unreachable {
                what: "the database".into(),
                reason: error.to_string(),
                remedy: "look at `windlass doctor`".into(),
            },
            BootFault::Failed => CliError::Failed(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_leaves_is_no_failure() {
        let error = CliError::from(std::io::Error::from(std::io::ErrorKind::BrokenPipe));
        assert_eq!((error.exit(), error.message()), (Exit::Done, None));
    }

    #[test]
    fn a_message_has_no_password() {
        let error = CliError::Failed("at http://ann:marker@host/".into());
        assert_eq!(error.message().unwrap(), "at http://ann:********@host/");
    }
}
