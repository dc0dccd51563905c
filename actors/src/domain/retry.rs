//! How pauses between tries grow.

use std::time::Duration;

/// A first pause, doubled from failure to failure up to a cap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RetryPolicy {
    pub base: Duration,
    pub cap: Duration,
}

impl RetryPolicy {
    /// The longest pause after `failures` failures (1 for the first): `min(cap, base * 2^(failures - 1))`.
    pub fn ceiling(&self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1).min(31);
        self.base.saturating_mul(1 << doublings).min(self.cap)
    }

    /// Full jitter: uniform in [0, ceiling); `dice` is uniform in [0, 1).
    pub fn jittered(&self, failures: u32, dice: f64) -> Duration {
        self.ceiling(failures).mul_f64(dice.clamp(0.0, 1.0))
    }
}
