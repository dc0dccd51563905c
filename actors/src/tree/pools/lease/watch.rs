//! Stopping a run, and what is seen of it meanwhile.

use super::{Lease, LeaseMsg};
use crate::domain::EndReason;
use crate::ports::observer::{Fact, Fenced};
use crate::supervise::Tick;

impl Lease {
    /// Asks the run to stop, once; a lease that is lost overrides every other reason.
    pub(super) fn stop(&mut self, reason: EndReason) {
        if self.settlement.is_some() || self.asked == Some(EndReason::Lost) {
            return;
        }
        let first = self.asked.is_none();
        if !first && reason != EndReason::Lost {
            return;
        }
        tracing::info!(task = %self.key.task, epoch = self.key.epoch.0, actor = self.place.path(), reason = reason.as_str(), "stopping a run");
        self.asked = Some(reason);
        self.place.state(match reason {
            EndReason::Cancel => "cancelling",
            EndReason::Timeout | EndReason::Deadline => "timing out",
            EndReason::Drain => "draining",
            EndReason::Lost => "lost",
        });
        match &self.seat {
            Some(seat) => seat.cancel(reason),
            None => self.leave_the_line(),
        }
        if first {
            self.give_grace();
        }
    }

    /// If no host has it yet, its ask is dropped, which gives it back; a host that was faster has begun it.
    pub(super) fn drain(&self) {
        if self.settlement.is_none() && self.seat.is_none() {
            self.leave_the_line();
        }
    }

    pub(super) fn give_grace(&mut self) {
        let grace = self.shared.settings.cancel_grace;
        self.grace = Some(Tick::after(&self.myself, grace, || LeaseMsg::GraceOver));
    }

    /// Once its end is decided that is no news: either it is committed, or its own write will be refused.
    pub(super) fn lost(&mut self) {
        if self.settlement.is_none() {
            self.shared.saw(Fact::FenceRejected { write: Fenced::Renew, key: self.key });
            self.stop(EndReason::Lost);
        }
    }

    /// Not seated: the group drops the ask when it comes to it; who waits for a host needn't wait for that.
    fn leave_the_line(&self) {
        if let Some(group) = self.shared.groups.get(&self.task_type.host_group) {
            // a group that is down has dropped its line already
            let _ = group.cast(crate::tree::hosts::GroupMsg::LeaveLine(self.key));
        }
    }

    pub(super) fn grace_over(&mut self) {
        if let Some(seat) = &self.seat {
            tracing::warn!(task = %self.key.task, epoch = self.key.epoch.0, actor = self.place.path(), "the run ignores its stop and is killed");
            self.place.state("killing");
            seat.kill();
        }
    }

    pub(super) fn enter_stage(&mut self, name: String) {
        self.leave_stage();
        self.place.detail("stage", serde_json::Value::String(name.clone()));
        self.stage = Some((name, self.shared.world.clock.now()));
    }

    pub(super) fn leave_stage(&mut self) {
        if let Some((stage, since)) = self.stage.take() {
            let took = self.shared.world.clock.now().saturating_sub(since);
            self.shared.saw(Fact::StageEnded { task_type: self.task_type.name.clone(), stage, took });
        }
    }
}
