//! The end of an attempt: decided once, written until it is answered.
//!
//! From here on nothing asked from above changes anything: the final write is shielded from cancellation. Only the end of
//! a drain ends the trying; then the next incarnation finds the row and takes it back.

use super::Lease;
use crate::decide::verdict::{Circumstances, verdict};
use crate::domain::{Ending, Outcome, Status, Verdict};
use crate::ports::ledger::{Finish, FinishAnswer, LedgerError};
use crate::ports::observer::{Fact, Fenced};
use crate::tree::pools::LeaseMsg;

/// The finish to write, and how often that failed.
pub struct Settlement {
    finish: Finish,
    outcome: Outcome,
    tries: u32,
}

impl Lease {
    pub(super) fn settle(&mut self, ending: Ending) {
        let dice = &self.shared.world.dice;
        let circumstances = Circumstances {
            attempt: self.attempt,
            max_attempts: self.max_attempts,
            retry: self.shared.settings.retry,
            dice: dice.unit(),
        };
        let Some(verdict) = verdict(ending, &circumstances) else {
            return self.leave_to_other();
        };
        let batch = self.buffer.take();
        let outcome = outcome(&verdict);
        let finish = Finish {
            key: self.key,
            verdict,
            from: batch.from,
            events: batch.events,
            stage: batch.stage,
            progress: batch.progress,
            token: dice.token(),
        };
        self.settlement = Some(Settlement { finish, outcome, tries: 0 });
        if self.in_flight.is_none() {
            self.send_finish();
        }
    }

    pub(super) fn send_finish(&self) {
        let Some(settlement) = &self.settlement else {
            return;
        };
        let myself = self.myself.clone();
        self.shared.queue.finishes.ask(settlement.finish.clone(), move |answer| {
            // a lease that was killed meanwhile is settled by its pool
            let _ = myself.cast(LeaseMsg::Finished(answer));
        });
    }

    pub(super) fn finished(&mut self, answer: Result<FinishAnswer, LedgerError>) {
        match answer {
            Ok(FinishAnswer::Done { status } | FinishAnswer::Already { status }) => self.ended(status),
            Ok(FinishAnswer::Expired) => self.renew_first(),
            Ok(FinishAnswer::Fenced) => {
                self.shared.saw(Fact::FenceRejected { write: Fenced::Finish, key: self.key });
                self.leave_to_other();
            }
            Err(error) => self.finish_failed(&error),
        }
    }

    fn finish_failed(&mut self, error: &LedgerError) {
        tracing::error!(task = %self.key.task, epoch = self.key.epoch.0, actor = self.place.path(), %error, "the end of an attempt was not stored; it is kept and tried again");
        self.place.state("keeping its end: the store is away");
        self.shared.saw(Fact::TerminalWriteFailed { key: self.key });
        let tries = self.settlement.as_mut().map_or(1, |settlement| {
            settlement.tries += 1;
            settlement.tries
        });
        self.try_later(tries);
    }

    fn ended(&mut self, status: Status) {
        let Some(settlement) = self.settlement.take() else {
            return;
        };
        let now = self.shared.world.clock.now();
        let ran = self.began.map(|began| now.saturating_sub(began)).unwrap_or_default();
        let outcome = settlement.outcome;
        let (task, epoch, actor) = (self.key.task, self.key.epoch.0, self.place.path());
        if outcome == Outcome::Succeeded {
            tracing::debug!(%task, epoch, actor, %status, "an attempt ended");
        } else {
            tracing::info!(%task, epoch, actor, outcome = outcome.as_str(), %status, "an attempt ended");
        }
        let task_type = self.task_type.name.clone();
        self.shared.saw(Fact::AttemptEnded { task_type, key: self.key, outcome, status, ran });
        self.leave();
    }

    /// Somebody else writes, or wrote, how this attempt ended.
    pub(super) fn leave_to_other(&mut self) {
        tracing::warn!(task = %self.key.task, epoch = self.key.epoch.0, actor = self.place.path(), "the attempt is no longer ours");
        self.shared.saw(Fact::AttemptLost { task_type: self.task_type.name.clone(), key: self.key });
        self.leave();
    }

    pub(super) fn give_up(&mut self) {
        if self.settlement.is_some() {
            tracing::error!(task = %self.key.task, epoch = self.key.epoch.0, actor = self.place.path(), "the drain is over and the end of an attempt is not stored: the next start takes it back");
            self.leave();
        }
    }

    fn leave(&mut self) {
        self.place.state("ended");
        self.myself.stop(None);
    }
}

/// The outcome that a verdict will be recorded as, for the metrics.
fn outcome(verdict: &Verdict) -> Outcome {
    match verdict {
        Verdict::Complete { .. } => Outcome::Succeeded,
        Verdict::Cancel => Outcome::Cancelled,
        Verdict::Release { .. } => Outcome::Released,
        Verdict::Fail { outcome, .. } | Verdict::RetryIn { outcome, .. } | Verdict::DeadLetter { outcome, .. } => {
            *outcome
        }
    }
}
