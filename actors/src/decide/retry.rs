//! When to try again.
//!
//! Full jitter: `uniform(0, min(cap, base * 2^n))`. It spreads a crowd that failed together better than a fixed or an
//! equal-jitter delay does (M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015).

use std::time::Duration;

pub use crate::domain::RetryPolicy;

/// The delay before the try after `failures` failures (1 for the first); `dice` is uniform in [0, 1).
pub fn delay(policy: RetryPolicy, failures: u32, dice: f64) -> Duration {
    policy.jittered(failures, dice)
}

/// As [`delay`], but never under half of the ceiling: for pauses that must not become a tight loop.
pub fn pause(policy: RetryPolicy, failures: u32, dice: f64) -> Duration {
    let ceiling = policy.ceiling(failures);
    ceiling / 2 + (ceiling / 2).mul_f64(dice.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: RetryPolicy = RetryPolicy { base: Duration::from_secs(2), cap: Duration::from_secs(300) };

    #[test]
    fn the_delay_doubles_up_to_its_cap_and_is_jittered_down_to_nothing() {
        let longest = |n| delay(POLICY, n, 1.0).as_secs();
        assert_eq!((longest(1), longest(2), longest(5), longest(20), longest(u32::MAX)), (2, 4, 32, 300, 300));
        assert_eq!(delay(POLICY, 5, 0.0), Duration::ZERO);
    }

    #[test]
    fn a_pause_is_at_least_half_of_its_ceiling() {
        assert_eq!(pause(POLICY, 1, 0.0).as_secs(), 1);
    }
}
