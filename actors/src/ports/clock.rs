//! A node's own clock: for measuring spans, never for judging leases.

use std::time::Duration;

pub trait Clock: Send + Sync + 'static {
    /// Time since some fixed start; never goes back.
    fn now(&self) -> Duration;
}

/// Tokio's clock: the machine's monotonic one, or a paused one in tests.
#[derive(Clone, Copy, Debug)]
pub struct TokioClock {
    start: tokio::time::Instant,
}

impl TokioClock {
    pub fn new() -> Self {
        TokioClock { start: tokio::time::Instant::now() }
    }
}

impl Default for TokioClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for TokioClock {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }
}
