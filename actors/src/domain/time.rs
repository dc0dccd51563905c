//! A moment by the database's clock.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Milliseconds since 1970 UTC, by the database's clock; never compared with a node's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// This moment and `by` more; saturates.
    pub fn plus(self, by: Duration) -> Timestamp {
        Timestamp(self.0.saturating_add(millis(by)))
    }

    /// This moment less `by`; saturates.
    pub fn minus(self, by: Duration) -> Timestamp {
        Timestamp(self.0.saturating_sub(millis(by)))
    }

    /// How long from `earlier` until this moment; nothing if it is not earlier.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}
