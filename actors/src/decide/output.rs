//! When a run's events are written: coalesced, so that a stream of tokens costs few writes.

use std::time::Duration;

use crate::domain::EventKind;

/// Outputs, progress and logs wait that long for company.
pub const WINDOW: Duration = Duration::from_millis(100);

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

/// Whether what waits is to be written now. `waited` is the age of the oldest; `urgent` if something in it can't wait.
pub fn is_due(bytes: usize, events: usize, urgent: bool, waited: Duration) -> bool {
    events > 0 && (urgent || bytes >= ENOUGH || events >= MANY || waited >= WINDOW)
}

/// Kinds that somebody waits for: a stage is what people watch, a checkpoint blocks its run.
pub fn is_urgent(kind: EventKind) -> bool {
    matches!(kind, EventKind::Stage | EventKind::Checkpoint | EventKind::State)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_wait_for_company_and_checkpoints_do_not() {
        assert!(!is_due(10, 1, false, Duration::from_millis(99)));
        assert!(is_due(10, 1, false, WINDOW));
        assert!(is_due(ENOUGH, 1, false, Duration::ZERO));
        assert!(is_due(0, 1, true, Duration::ZERO));
        assert!(!is_due(0, 0, true, WINDOW));
    }
}
