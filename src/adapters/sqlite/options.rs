//! How a store is opened.

use std::time::Duration;

use windlass_actors::ports::rules::Sizes;

/// What a commit survives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Synchronous {
    /// A power loss: each commit waits for the disk.
    #[default]
    Full,
    /// A crash of the process; a power loss may take the last commits.
    Normal,
}

#[derive(Clone, Debug)]
pub struct Options {
    pub synchronous: Synchronous,
    /// Connections that read.
    pub readers: u32,
    /// Calls that may wait for the writer; more of them wait to be queued.
    pub queue: usize,
    /// How long another process may hold the write lock before callers are told that the store is away.
    pub busy_for: Duration,
    pub sizes: Sizes,
    /// The database's greatest size in pages; none is SQLite's own limit.
    pub max_pages: Option<u32>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            synchronous: Synchronous::default(),
            readers: 4,
            queue: 1024,
            busy_for: Duration::from_secs(5),
            sizes: Sizes::default(),
            max_pages: None,
        }
    }
}
