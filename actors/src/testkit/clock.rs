//! The store's clock in memory: it stands still until a test moves it, or flows with tokio's (paused) one.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use crate::domain::Timestamp;

/// Where it starts: some moment in 2025.
const START: i64 = 1_750_000_000_000;

/// A clock that tests move. Clones share it.
#[derive(Clone, Debug)]
pub struct ManualClock {
    moved: Arc<AtomicI64>,
    /// Set if tokio's clock moves it as well.
    since: Option<Instant>,
}

impl ManualClock {
    /// Stands still but for [`advance`](Self::advance).
    pub fn still() -> Self {
        ManualClock { moved: Arc::new(AtomicI64::new(START)), since: None }
    }

    /// Flows with tokio's clock, which may be paused; `advance` comes on top.
    pub fn flowing() -> Self {
        ManualClock { since: Some(Instant::now()), ..Self::still() }
    }

    pub fn advance(&self, by: Duration) {
        self.moved.fetch_add(by.as_millis() as i64, Ordering::SeqCst);
    }

    pub fn now(&self) -> Timestamp {
        let flowed = self.since.map_or(Duration::ZERO, |since| since.elapsed());
        Timestamp(self.moved.load(Ordering::SeqCst)).plus(flowed)
    }
}
