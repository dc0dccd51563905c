//! Who is restarted with whom, how often, how fast, and what happens when it was too often. Pure; time comes in.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// Who is restarted when one child has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// The child alone.
    OneForOne,
    /// The child and those started after it, which may hold on to it.
    RestForOne,
    /// All children.
    OneForAll,
}

/// Whether a child that has ended is started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restart {
    /// Always.
    Permanent,
    /// If it crashed.
    Transient,
    /// Never; its row goes with it.
    Temporary,
}

/// So many restarts within a time are borne.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Restarts allowed in any stretch of `within`.
    pub restarts: u32,
    /// The stretch of time; a child that has lived that long has recovered.
    pub within: Duration,
}

impl Default for Budget {
    fn default() -> Self {
        Self { restarts: 5, within: Duration::from_secs(30) }
    }
}

/// Growing pauses: none at first, then `base`, doubled each time up to `cap`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The first pause.
    pub base: Duration,
    /// The longest pause.
    pub cap: Duration,
}

/// With the longest pause, ten restarts still fit into thirty seconds: budgets of that size can be spent.
impl Default for Backoff {
    fn default() -> Self {
        Self { base: Duration::from_millis(100), cap: Duration::from_secs(2) }
    }
}

impl Backoff {
    /// The pause before restart number `n` in a row, counted from zero.
    pub fn delay(&self, n: u32) -> Duration {
        match n {
            0 => Duration::ZERO,
            n => self.base.saturating_mul(2u32.saturating_pow(n - 1)).min(self.cap),
        }
    }
}

/// What happens when a child's budget is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exhausted {
    /// The supervisor stops its children and fails, so that its own parent decides.
    Escalate,
    /// The child alone rests, and is tried again after growing pauses. It then has a budget of its own.
    Park {
        /// The first pause.
        base: Duration,
        /// The longest pause.
        cap: Duration,
    },
}

/// What the budget says to one more restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It may be restarted.
    Within,
    /// It was too often.
    Spent,
}

/// The restarts of the last stretch of time.
#[derive(Debug)]
pub struct Intensity {
    budget: Budget,
    recent: VecDeque<Instant>,
}

impl Intensity {
    /// A fresh window.
    pub fn new(budget: Budget) -> Self {
        Self { budget, recent: VecDeque::new() }
    }

    /// One more restart is wanted now.
    pub fn restart(&mut self, now: Instant) -> Verdict {
        while self.recent.front().is_some_and(|&then| now.duration_since(then) >= self.budget.within) {
            self.recent.pop_front();
        }
        if self.recent.len() >= self.budget.restarts as usize {
            return Verdict::Spent;
        }
        self.recent.push_back(now);
        Verdict::Within
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    #[test]
    fn the_budget_is_spent_by_one_restart_too_many_in_its_window() {
        let mut window = Intensity::new(Budget { restarts: 2, within: 10 * S });
        let t = Instant::now();
        assert_eq!(window.restart(t), Verdict::Within);
        assert_eq!(window.restart(t + S), Verdict::Within);
        assert_eq!(window.restart(t + 9 * S), Verdict::Spent);
    }

    #[test]
    fn the_budget_comes_back_as_restarts_leave_the_window() {
        let mut window = Intensity::new(Budget { restarts: 2, within: 10 * S });
        let t = Instant::now();
        window.restart(t);
        window.restart(t + 5 * S);
        assert_eq!(window.restart(t + 10 * S), Verdict::Within);
        assert_eq!(window.restart(t + 14 * S), Verdict::Spent);
    }

    #[test]
    fn a_budget_of_none_is_spent_at_once() {
        let mut window = Intensity::new(Budget { restarts: 0, within: S });
        assert_eq!(window.restart(Instant::now()), Verdict::Spent);
    }

    #[test]
    fn the_first_restart_is_immediate_and_the_pauses_double_up_to_the_cap() {
        let backoff = Backoff { base: S, cap: 5 * S };
        let delays: Vec<u64> = (0..6).map(|n| backoff.delay(n).as_secs()).collect();
        assert_eq!(delays, [0, 1, 2, 4, 5, 5]);
    }

    #[test]
    fn the_pause_does_not_overflow() {
        let backoff = Backoff { base: S, cap: 60 * S };
        assert_eq!(backoff.delay(u32::MAX), 60 * S);
    }
}
