//! The end of an attempt: decided once, written until it is answered.
//!
//! From here on nothing asked from above changes anything: the final write is shielded from cancellation. Only the end of
//! a drain ends the trying; then the next incarnation finds the row and takes it back.

use super::Lease;
use crate::decide::verdict::{Circumstances, recorded, verdict};
use crate::domain::{Ending, Outcome, Status, Verdict};
use crate::ports::ledger::{Finish, FinishAnswer, LedgerError};
use crate::ports::observer::{Fact, Fenced};
use crate::tree::pools::LeaseMsg;

/// The verdict, the write that says so once all before it is stored, and how often that failed.
pub struct Settlement {
    verdict: Verdict,
    finish: Option<Finish>,
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
        self.settlement = Some(Settlement { verdict, finish: None, tries: 0 });
        if self.in_flight.is_none() {
            self.write_end();
        }
    }

    /// Writes the end, and with it what is not stored yet. Before it goes what does not fit beside it, and a checkpoint
    /// that a later attempt may need.
    pub(super) fn write_end(&mut self) {
        let Some(settlement) = &mut self.settlement else {
            return;
        };
        let finish = match &settlement.finish {
            Some(finish) => finish.clone(),
            None if !self.buffer.fits_one_write() => return self.write_record(),
            None if self.buffer.has_checkpoint() && may_go_on(&settlement.verdict) => return self.write_record(),
            None => {
                let batch = self.buffer.take();
                let finish = Finish {
                    key: self.key,
                    verdict: settlement.verdict.clone(),
                    from: batch.from,
                    events: batch.events,
                    stage: batch.stage,
                    progress: batch.progress,
                    token: self.shared.world.dice.token(),
                };
                settlement.finish.insert(finish).clone()
            }
        };
        let myself = self.myself.clone();
        self.shared.queue.finishes.ask(finish, move |answer| {
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
            Err(error @ LedgerError::Refused(_)) => self.write_refused(&error),
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
        let outcome = recorded(&settlement.verdict, status);
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

/// Whether another attempt may follow: a retry, or after a replay.
fn may_go_on(verdict: &Verdict) -> bool {
    !matches!(verdict, Verdict::Complete { .. } | Verdict::Cancel)
}
