//! When a reaper may judge others: only after it has seen the database writable for one full lease without a failure,
//! without a longer pause between two looks, and without a gap between its own clock and the database's. So live owners
//! renew first after any outage, and a frozen reaper does not take what its owners could not renew meanwhile.

use std::time::Duration;

use crate::domain::Timestamp;

/// How far the two clocks may drift apart between two looks, and how late a look may come.
const TOLERANCE: Duration = Duration::from_secs(2);

/// What the reaper has seen. Starts without trust: its own start is a gap.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Trust {
    since: Option<Duration>,
    last: Option<(Duration, Timestamp)>,
}

impl Trust {
    /// A look that succeeded: `own` by our monotonic clock, `database` by the database's. The next one is due in `period`.
    pub fn saw(self, own: Duration, database: Timestamp, period: Duration) -> Trust {
        let gap = self.last.is_none_or(|(own_then, database_then)| {
            let ours = own.saturating_sub(own_then);
            let theirs = Duration::from_millis(u64::try_from(database.0 - database_then.0).unwrap_or(0));
            ours.abs_diff(theirs) > TOLERANCE || ours > period + TOLERANCE
        });
        Trust { since: if gap { Some(own) } else { self.since.or(Some(own)) }, last: Some((own, database)) }
    }

    /// A look that failed.
    pub fn failed(self) -> Trust {
        Trust::default()
    }

    /// Whether it has lasted for `lease`.
    pub fn is_enough(self, own: Duration, lease: Duration) -> bool {
        self.since.is_some_and(|since| own.saturating_sub(since) >= lease)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(30);
    const PERIOD: Duration = Duration::from_secs(5);

    fn watched(from: u64, to: u64) -> Trust {
        (from..=to).step_by(5).fold(Trust::default(), |trust, s| {
            trust.saw(Duration::from_secs(s), Timestamp(1_000_000 + 1000 * i64::try_from(s).unwrap()), PERIOD)
        })
    }

    #[test]
    fn a_reaper_trusts_itself_after_one_full_lease() {
        assert!(!watched(0, 25).is_enough(Duration::from_secs(25), LEASE));
        assert!(watched(0, 30).is_enough(Duration::from_secs(30), LEASE));
    }

    #[test]
    fn a_failure_or_a_jump_of_either_clock_starts_it_anew() {
        let at = Duration::from_secs(30);
        assert!(!watched(0, 30).failed().is_enough(at, LEASE));
        let jumped = watched(0, 30).saw(Duration::from_secs(35), Timestamp(1_000_000 + 95_000), PERIOD);
        assert!(!jumped.is_enough(Duration::from_secs(35), LEASE));
        let frozen = watched(0, 30).saw(Duration::from_secs(95), Timestamp(1_000_000 + 35_000), PERIOD);
        assert!(!frozen.is_enough(Duration::from_secs(95), LEASE));
    }

    #[test]
    fn a_look_that_comes_late_starts_it_anew() {
        // both clocks went on while the process was stopped, or its call hung
        let late = watched(0, 30).saw(Duration::from_secs(95), Timestamp(1_000_000 + 95_000), PERIOD);
        assert!(!late.is_enough(Duration::from_secs(95), LEASE));
    }
}
