//! Why a node did not start, each with the remedy and the exit code's class.

use std::net::SocketAddr;

use windlass_actors::ports::ledger::LedgerError;
use windlass_actors::supervise::RootFailed;

use super::data_folder::FolderError;

#[derive(Debug, thiserror::Error)]
pub enum BootError {
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(
        "cannot listen on `{address}` (`gateway.listen`, `--listen`): {error}; allowed is a free address of this host"
    )]
    Listen { address: SocketAddr, error: std::io::Error },
    #[error("cannot look for processes that a predecessor of this node left: {0}; look at `/proc`, and start again")]
    Sweep(String),
    #[error(
        "processes that a predecessor of this node left can't be killed: {left}; its tasks are not taken back while they live: end them, or restart this host, and start again"
    )]
    Leftovers { left: String },
    #[error("{0}")]
    Store(#[from] LedgerError),
    #[error(
        "this database was set up with the queue `{found}`, this process uses `table`: allowed is one kind for all"
    )]
    OtherQueue { found: String },
    #[error("{count} plugin faults, and `node.on_plugin_error` is `fail`; look at `windlass plugins check`")]
    Plugins { count: usize },
    #[error("cannot prepare the node: {0}")]
    Io(#[from] std::io::Error),
    #[error("cannot record metrics: {0}")]
    Metrics(String),
    #[error(transparent)]
    Tree(#[from] RootFailed),
}

/// What a script should take a failed start for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BootFault {
    Configuration,
    Unreachable,
    Failed,
}

impl BootError {
    pub fn fault(&self) -> BootFault {
        match self {
            BootError::Folder(_)
            | BootError::Listen { .. }
            | BootError::OtherQueue { .. }
            | BootError::Plugins { .. } => BootFault::Configuration,
            BootError::Store(_) => BootFault::Unreachable,
            BootError::Sweep(_)
            | BootError::Leftovers { .. }
            | BootError::Io(_)
            | BootError::Metrics(_)
            | BootError::Tree(_) => BootFault::Failed,
        }
    }
}
