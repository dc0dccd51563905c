//! One child of a supervisor over all its incarnations: the phase it is in, and what an end leads to.

use std::time::Duration;

use ractor::ActorRef;
use tokio::time::Instant;

use super::child::Child;
use super::exit::Exit;
use super::owned::{OwnedTask, TaskPanicked};
use super::place::Place;
use super::run::Run;
use super::strategy::{Backoff, Budget, Exhausted, Intensity, Restart, Verdict};
use super::supervisor::{News, SupervisorMsg, What};

/// ```text
/// Waiting → Starting → Up → (ended) → Resting ─→ Waiting
///               ↓       ↓           ↘ Parked  ─↗
///               └───────┴→ Ending → Waiting        asked by a strategy
///                                 ↘ Over           not to be started again
/// ```
pub(super) enum Phase {
    /// Its turn to start has not come.
    Waiting,
    /// In its start; the task tells how that went.
    Starting(Run, #[expect(dead_code, reason = "held: dropped, it is aborted")] OwnedTask),
    Up(Run),
    /// Asked to end because of a sibling; the task tells when it is gone.
    Ending(Run, #[expect(dead_code, reason = "held: dropped, it is aborted")] OwnedTask),
    /// Down until the task says that it is due: after a pause, and when nothing of it is left.
    Resting(#[expect(dead_code, reason = "held: dropped, it is aborted")] OwnedTask),
    /// As resting, with its budget spent.
    Parked(#[expect(dead_code, reason = "held: dropped, it is aborted")] OwnedTask),
    Over,
}

/// What an end leads to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    Rest(Duration),
    Park(Duration),
    Escalate,
    Over,
}

pub(super) struct Slot {
    pub id: u64,
    pub child: Child,
    pub place: Place,
    pub phase: Phase,
    /// Starts so far; tells the news of this incarnation from that of an earlier one.
    pub starts: u64,
    /// Whether its first start has come to an end, good or bad.
    pub tried: bool,
    /// To be ended because of a sibling.
    pub condemned: bool,
    pub last_exit: Exit,
    pub up_since: Option<Instant>,
    own: Intensity,
    streak: u32,
    parks: u32,
}

impl Slot {
    pub fn new(id: u64, child: Child, place: Place, budget: Budget) -> Self {
        Self {
            id,
            child,
            place,
            phase: Phase::Waiting,
            starts: 0,
            tried: false,
            condemned: false,
            last_exit: Exit::Done,
            up_since: None,
            own: Intensity::new(budget),
            streak: 0,
            parks: 0,
        }
    }

    /// Runs `work` in a task of this incarnation; what comes of it is news for the supervisor.
    pub fn task<T: Send + 'static>(
        &self,
        myself: &ActorRef<SupervisorMsg>,
        work: impl Future<Output = T> + Send + 'static,
        what: impl FnOnce(Result<T, TaskPanicked>) -> What + Send + 'static,
    ) -> OwnedTask {
        let (slot, start) = (self.id, self.starts);
        OwnedTask::spawn(myself, work, move |result| SupervisorMsg::News(News { slot, start, what: what(result) }))
    }

    /// The incarnation that lives, in whatever phase.
    pub fn run(&self) -> Option<&Run> {
        match &self.phase {
            Phase::Starting(run, _) | Phase::Up(run) | Phase::Ending(run, _) => Some(run),
            _ => None,
        }
    }

    /// What is started after it may go ahead, where siblings depend on one another.
    pub fn is_settled(&self) -> bool {
        matches!(self.phase, Phase::Up(_) | Phase::Over) && !self.condemned
    }

    /// Decides what the end of a child leads to, and counts it.
    pub fn judge(&mut self, now: Instant, budget: Budget, backoff: Backoff, shared: &mut Intensity) -> Next {
        if !comes_back(self.child.restart, &self.last_exit) {
            return Next::Over;
        }
        if self.up_since.take().is_some_and(|since| now.duration_since(since) >= budget.within) {
            (self.streak, self.parks) = (0, 0);
        }
        match (self.verdict(now, shared), self.child.exhausted) {
            (Verdict::Within, _) => Next::Rest(self.next_delay(backoff)),
            (Verdict::Spent, Exhausted::Escalate) => Next::Escalate,
            (Verdict::Spent, Exhausted::Park { base, cap }) => self.park(budget, Backoff { base, cap }),
        }
    }

    /// A child that parks has a budget of its own, and after a pause no more than one try until it has recovered.
    fn verdict(&mut self, now: Instant, shared: &mut Intensity) -> Verdict {
        match self.child.exhausted {
            Exhausted::Escalate => shared.restart(now),
            Exhausted::Park { .. } if self.parks > 0 => Verdict::Spent,
            Exhausted::Park { .. } => self.own.restart(now),
        }
    }

    fn next_delay(&mut self, backoff: Backoff) -> Duration {
        let delay = backoff.delay(self.streak);
        self.streak = self.streak.saturating_add(1);
        delay
    }

    fn park(&mut self, budget: Budget, pauses: Backoff) -> Next {
        self.parks = self.parks.saturating_add(1);
        self.streak = 0;
        self.own = Intensity::new(budget);
        Next::Park(pauses.delay(self.parks))
    }
}

fn comes_back(restart: Restart, exit: &Exit) -> bool {
    match restart {
        Restart::Permanent => true,
        Restart::Transient => exit.is_crash(),
        Restart::Temporary => false,
    }
}
