//! Recording what the run says: one write in flight, repeated until it is answered.

use super::{Lease, LeaseMsg};
use crate::decide::retry::{RetryPolicy, pause};
use crate::domain::EndReason;
use crate::ports::ledger::{LedgerError, Record, RecordAnswer, RenewAnswer};
use crate::ports::observer::{Fact, Fenced};
use crate::supervise::Tick;
use std::time::Duration;

/// A record that the ledger has, and what to acknowledge once it is stored.
pub struct InFlight {
    record: Record,
    acks: Vec<u64>,
    /// Failed tries so far.
    tries: u32,
}

impl Lease {
    /// Writes what waits if it is due and nothing is under way; else makes sure that it will be looked at again.
    pub(super) fn flush(&mut self) {
        if self.in_flight.is_some() || self.buffer.is_empty() {
            return;
        }
        let now = self.shared.world.clock.now();
        let wait = self.buffer.due_in(now);
        if !wait.is_zero() {
            return self.look_again(now + wait, wait);
        }
        self.write_record();
    }

    pub(super) fn write_record(&mut self) {
        let (record, acks) = self.buffer.take().into_record(self.key);
        self.in_flight = Some(InFlight { record, acks, tries: 0 });
        self.send_record();
    }

    /// Arms the window's end, unless it comes sooner already.
    fn look_again(&mut self, at: Duration, wait: Duration) {
        if self.window.as_ref().is_none_or(|(armed, _)| *armed > at) {
            self.window = Some((at, Tick::after(&self.myself, wait, || LeaseMsg::WindowOver)));
        }
    }

    pub(super) fn window_over(&mut self) {
        self.window = None;
        self.flush();
    }

    fn send_record(&self) {
        let Some(in_flight) = &self.in_flight else {
            return;
        };
        let myself = self.myself.clone();
        self.shared.queue.records.ask(in_flight.record.clone(), move |answer| {
            // a lease that has gone needs no answer
            let _ = myself.cast(LeaseMsg::Recorded(answer));
        });
    }

    pub(super) fn recorded(&mut self, answer: Result<RecordAnswer, LedgerError>) {
        match answer {
            Ok(RecordAnswer::Recorded { .. }) => self.record_stored(),
            Ok(RecordAnswer::Expired) => self.renew_first(),
            Ok(RecordAnswer::Fenced) => self.record_fenced(),
            Err(error @ LedgerError::Refused(_)) => self.write_refused(&error),
            Err(error) => self.record_failed(&error),
        }
    }

    fn record_stored(&mut self) {
        let Some(in_flight) = self.in_flight.take() else {
            return;
        };
        if let (Some(seat), false) = (&self.seat, in_flight.acks.is_empty()) {
            seat.ack(in_flight.acks, false);
        }
        match self.settlement {
            Some(_) => self.write_end(),
            None => self.flush(),
        }
    }

    fn record_fenced(&mut self) {
        let acks = self.in_flight.take().map(|in_flight| in_flight.acks).unwrap_or_default();
        self.shared.saw(Fact::FenceRejected { write: Fenced::Record, key: self.key });
        if let (Some(seat), false) = (&self.seat, acks.is_empty()) {
            seat.ack(acks, true);
        }
        match self.settlement {
            Some(_) => self.leave_to_other(),
            None => self.stop(EndReason::Lost),
        }
    }

    /// A write that makes no sense to the ledger never will: the attempt is given up, and the reaper finds its row.
    pub(super) fn write_refused(&mut self, error: &LedgerError) {
        tracing::error!(task = %self.key.task, epoch = self.key.epoch.0, actor = self.place.path(), %error, "a write was refused for its content; the attempt is given up");
        self.in_flight = None;
        match self.settlement {
            Some(_) => self.leave_to_other(),
            None => self.stop(EndReason::Lost),
        }
    }

    fn record_failed(&mut self, error: &LedgerError) {
        tracing::warn!(task = %self.key.task, epoch = self.key.epoch.0, actor = self.place.path(), %error, "events were not stored; trying again");
        let tries = self.in_flight.as_mut().map_or(1, |in_flight| {
            in_flight.tries += 1;
            in_flight.tries
        });
        self.try_later(tries);
    }

    /// Pauses before a write is repeated: at most a third of a lease.
    pub(super) fn try_later(&mut self, tries: u32) {
        let cap = self.shared.settings.owner.lease / 3;
        let policy = RetryPolicy { base: Duration::from_millis(50), cap };
        let after = pause(policy, tries, self.shared.world.dice.unit());
        self.again = Some(Tick::after(&self.myself, after, || LeaseMsg::TryAgain));
    }

    pub(super) fn try_again(&mut self) {
        self.again = None;
        match (&self.in_flight, &self.settlement) {
            (Some(_), _) => self.send_record(),
            (None, Some(_)) => self.write_end(),
            (None, None) => {}
        }
    }

    /// A write found the lease run out: renew it, then repeat the write.
    pub(super) fn renew_first(&mut self) {
        let myself = self.myself.clone();
        self.shared.queue.renewals.ask(self.key, move |answer| {
            // as above
            let _ = myself.cast(LeaseMsg::Renewed(answer));
        });
    }

    pub(super) fn renewed(&mut self, answer: Result<RenewAnswer, LedgerError>) {
        match answer {
            Ok(RenewAnswer::Held { .. }) => self.try_again(),
            Ok(RenewAnswer::Busy) => self.try_later(1),
            Ok(RenewAnswer::Lost) => self.renewal_refused(),
            Err(_) => self.try_later(3),
        }
    }

    fn renewal_refused(&mut self) {
        self.shared.saw(Fact::FenceRejected { write: Fenced::Renew, key: self.key });
        self.in_flight = None;
        match self.settlement {
            Some(_) => self.leave_to_other(),
            None => self.stop(EndReason::Lost),
        }
    }
}
