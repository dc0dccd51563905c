//! Which host gets a run, and what a group does about hosts that die.

use std::time::Duration;

use super::retry::{RetryPolicy, pause};

/// A host as placement sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seats {
    pub number: u32,
    /// Ready, and neither condemned nor retiring.
    pub open: bool,
    /// Of the run's type.
    pub free: u32,
    /// Runs of all types.
    pub busy: u32,
}

/// The host with a free seat that is least busy; the lowest number among equals, so that load gathers predictably.
pub fn place(hosts: impl Iterator<Item = Seats>) -> Option<u32> {
    hosts.filter(|h| h.open && h.free > 0).min_by_key(|h| (h.busy, h.number)).map(|h| h.number)
}

/// Start failures in a row after which a group is parked: it withdraws its types and tries again ever more slowly.
pub const PARKED_AFTER: u32 = 10;

const QUICK: RetryPolicy = RetryPolicy { base: Duration::from_millis(200), cap: Duration::from_secs(10) };
const PARKED: RetryPolicy = RetryPolicy { base: Duration::from_secs(10), cap: Duration::from_secs(300) };

/// Whether that many start failures in a row park the group.
pub fn is_parked(failures: u32) -> bool {
    failures >= PARKED_AFTER
}

/// How long to wait before a host is started again. A host that had been ready is replaced at once.
pub fn restart_delay(start_failures: u32, dice: f64) -> Duration {
    match start_failures {
        0 => Duration::ZERO,
        n if is_parked(n) => pause(PARKED, n - PARKED_AFTER + 1, dice),
        n => pause(QUICK, n, dice),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(number: u32, open: bool, free: u32, busy: u32) -> Seats {
        Seats { number, open, free, busy }
    }

    #[test]
    fn the_least_busy_open_host_with_a_seat_gets_the_run() {
        let hosts = [host(1, true, 0, 4), host(2, false, 4, 0), host(3, true, 2, 2), host(4, true, 3, 1)];
        assert_eq!(place(hosts.into_iter()), Some(4));
        assert_eq!(place([host(1, true, 0, 4)].into_iter()), None);
    }

    #[test]
    fn a_host_that_cannot_start_is_tried_ever_more_slowly_and_parked_at_the_tenth() {
        assert_eq!(restart_delay(0, 0.9), Duration::ZERO);
        assert!(restart_delay(1, 0.0) >= Duration::from_millis(100));
        assert!(restart_delay(9, 1.0) <= Duration::from_secs(10));
        assert!(is_parked(10) && !is_parked(9));
        assert!(restart_delay(10, 0.0) >= Duration::from_secs(5));
        assert!(restart_delay(99, 1.0) <= Duration::from_secs(300));
    }
}
