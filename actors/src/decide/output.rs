//! When a run's events are written: coalesced, so that a stream of tokens costs few writes.

use std::time::Duration;

use crate::domain::EventKind;

/// Outputs, progress and logs wait that long for company.
pub const WINDOW: Duration = Duration::from_millis(100);

/// A stage is what people watch; it waits as long as nobody sees. A run that is over by then spares its commit: the end
/// takes the stage along.
pub const BREATH: Duration = Duration::from_millis(5);

/// So many bytes are written without waiting.
pub const ENOUGH: usize = 16 * 1024;

/// So many events are written without waiting.
pub const MANY: usize = 256;

/// How much, in events and in their bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    pub events: usize,
    pub bytes: usize,
}

/// What a run said is kept up to that while it can't be written.
pub const MOST_KEPT: Size = Size { events: 2000, bytes: 1 << 20 };

/// One write carries no more: keeps its commit short.
pub const ONE_WRITE: Size = Size { events: 512, bytes: 512 << 10 };

/// How long an event may wait for others. A checkpoint blocks its run.
pub fn patience(kind: EventKind) -> Duration {
    match kind {
        EventKind::Checkpoint | EventKind::State => Duration::ZERO,
        EventKind::Stage => BREATH,
        EventKind::Progress | EventKind::Output | EventKind::Log => WINDOW,
    }
}

/// Whether so much waits that it is written whatever its patience.
pub fn is_enough(bytes: usize, events: usize) -> bool {
    bytes >= ENOUGH || events >= MANY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_wait_for_company_stages_for_a_breath_and_checkpoints_do_not() {
        assert_eq!(patience(EventKind::Output), WINDOW);
        assert!(patience(EventKind::Stage) < WINDOW / 10);
        assert!(patience(EventKind::Checkpoint).is_zero());
        assert!(is_enough(ENOUGH, 1) && is_enough(0, MANY) && !is_enough(10, 1));
    }
}
