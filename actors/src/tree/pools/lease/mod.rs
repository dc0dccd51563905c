//! A lease: one attempt, from its claim to its committed end.
//!
//! It owns the attempt's run (through its seat) and what the run has said that is not stored yet. It receives what the
//! host says, what the ledger answers, and why to stop. It promises:
//! - one write is in flight at a time, each repeated until it is answered; the last one ends the attempt;
//! - a run that is asked to stop has its grace, then is killed; the end is written only when nothing of it is left;
//! - when it dies itself, its seat is given up (the run cancelled, then killed), and its pool settles for it.
//!
//! ```text
//! Seating ──host took it──▶ Running ──run over──▶ Settling ──committed, or somebody else's──▶ exit
//!    └──────no host took it───────────────────────▲
//! ```

mod buffer;
mod settle;
mod watch;
mod writes;

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use self::buffer::Buffer;
use self::settle::Settlement;
use self::writes::InFlight;
use crate::decide::ending::{RunOver, ending};
use crate::decide::timeout::run_timeout;
use crate::domain::{EndReason, LeaseKey, Suspicion, TaskType};
use crate::ports::ledger::{Claimed, FinishAnswer, LedgerError, RecordAnswer, RenewAnswer};
use crate::ports::observer::Fact;
use crate::ports::runner::{RunEvent, RunFailure, RunRequest};
use crate::supervise::{Actor, ActorProcessingErr, ActorRef, Place, Tick};
use crate::tree::holdings::Begun;
use crate::tree::hosts::{Seat, SeatAsk};
use crate::tree::wiring::Shared;

pub enum LeaseMsg {
    /// A host took the run.
    Seated(Seat),
    Ran(RunEvent),
    /// The run is over without its own word, and nothing of it is left.
    RunOver(RunOver),
    /// The node drains: what has not begun is given back, what runs goes on for now.
    Drain,
    /// Asked from above: cancel, drain.
    Stop(EndReason),
    /// A renewal of all leases found that it is no longer ours.
    Lost,
    Recorded(Result<RecordAnswer, LedgerError>),
    Finished(Result<FinishAnswer, LedgerError>),
    /// The lease was renewed on its own, because a write found that it had run out.
    Renewed(Result<RenewAnswer, LedgerError>),
    WindowOver,
    TimeOver(EndReason),
    GraceOver,
    TryAgain,
    /// The drain is over: what could not be written is left to the next incarnation.
    GiveUp,
}

pub struct LeaseActor;

pub struct LeaseArgs {
    pub shared: Arc<Shared>,
    pub task_type: Arc<TaskType>,
    pub claimed: Claimed,
    /// Cancelled once the run is over and nothing of it is left.
    pub over: CancellationToken,
    /// Set once a host took the run.
    pub begun: Begun,
    pub place: Place,
}

pub struct Lease {
    myself: ActorRef<LeaseMsg>,
    shared: Arc<Shared>,
    task_type: Arc<TaskType>,
    place: Place,
    key: LeaseKey,
    attempt: u32,
    max_attempts: u32,
    timeout: Option<Duration>,
    seat: Option<Seat>,
    /// When the run was handed to its host, by the node's clock.
    began: Option<Duration>,
    asked: Option<EndReason>,
    buffer: Buffer,
    in_flight: Option<InFlight>,
    settlement: Option<Settlement>,
    stage: Option<(String, Duration)>,
    /// When what waits is looked at again, by the node's clock.
    window: Option<(Duration, Tick)>,
    limits: Vec<Tick>,
    grace: Option<Tick>,
    again: Option<Tick>,
}

impl Actor for LeaseActor {
    type Msg = LeaseMsg;
    type State = Lease;
    type Arguments = LeaseArgs;

    async fn pre_start(&self, myself: ActorRef<LeaseMsg>, args: LeaseArgs) -> Result<Lease, ActorProcessingErr> {
        Ok(Lease::begin(myself, args))
    }

    async fn handle(
        &self,
        _: ActorRef<LeaseMsg>,
        message: LeaseMsg,
        lease: &mut Lease,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            LeaseMsg::Seated(seat) => lease.seated(seat),
            LeaseMsg::Ran(event) => lease.ran(event),
            LeaseMsg::RunOver(over) => lease.run_over(over),
            LeaseMsg::Drain => lease.drain(),
            LeaseMsg::Stop(reason) => lease.stop(reason),
            LeaseMsg::Lost => lease.lost(),
            LeaseMsg::Recorded(answer) => lease.recorded(answer),
            LeaseMsg::Finished(answer) => lease.finished(answer),
            LeaseMsg::Renewed(answer) => lease.renewed(answer),
            LeaseMsg::WindowOver => lease.window_over(),
            LeaseMsg::TimeOver(reason) => lease.stop(reason),
            LeaseMsg::GraceOver => lease.grace_over(),
            LeaseMsg::TryAgain => lease.try_again(),
            LeaseMsg::GiveUp => lease.give_up(),
        }
        Ok(())
    }
}

impl Lease {
    fn begin(myself: ActorRef<LeaseMsg>, args: LeaseArgs) -> Lease {
        let LeaseArgs { shared, task_type, claimed, over, begun, place } = args;
        let mut lease = Lease {
            key: claimed.key,
            attempt: claimed.attempt,
            max_attempts: claimed.max_attempts,
            timeout: run_timeout(claimed.timeout, &task_type),
            myself,
            shared,
            task_type,
            place,
            seat: None,
            began: None,
            asked: None,
            buffer: Buffer::default(),
            in_flight: None,
            settlement: None,
            stage: None,
            window: None,
            limits: Vec::new(),
            grace: None,
            again: None,
        };
        if let Some(left) = claimed.deadline_in {
            lease.limit(left, EndReason::Deadline);
        }
        lease.ask_for_seat(claimed, over, begun);
        lease
    }

    fn ask_for_seat(&mut self, claimed: Claimed, over: CancellationToken, begun: Begun) {
        let solo = claimed.suspect > Suspicion::None;
        let request = RunRequest {
            run: 0,
            key: claimed.key,
            task_type: claimed.task_type,
            attempt: claimed.attempt,
            max_attempts: claimed.max_attempts,
            timeout: self.timeout,
            client_role: claimed.client_role,
            payload: claimed.payload,
            model_spec: claimed.model_spec,
            inference_params: claimed.inference_params,
            checkpoint: claimed.checkpoint,
        };
        let ask = SeatAsk::new(self.myself.clone(), over, begun, request, solo);
        // an ask that reaches no group says so by itself
        ask.send(self.shared.groups.get(&self.task_type.host_group));
    }

    fn seated(&mut self, seat: Seat) {
        self.began = Some(self.shared.world.clock.now());
        self.shared.saw(Fact::RunBegan { task_type: self.task_type.name.clone(), key: self.key });
        if let Some(limit) = self.timeout {
            self.limit(limit, EndReason::Timeout);
        }
        if let Some(reason) = self.asked {
            seat.cancel(reason);
            self.give_grace();
        }
        self.seat = Some(seat);
    }

    fn limit(&mut self, after: Duration, reason: EndReason) {
        self.limits.push(Tick::after(&self.myself, after, move || LeaseMsg::TimeOver(reason)));
    }

    fn ran(&mut self, event: RunEvent) {
        if self.settlement.is_some() {
            return;
        }
        if let RunEvent::Stage { name } = &event {
            self.enter_stage(name.clone());
        }
        match self.buffer.add(event, self.shared.world.clock.now()) {
            None => self.flush(),
            Some(RunEvent::Done { result }) => self.run_over(RunOver::Done { result }),
            Some(RunEvent::Failed { failure: RunFailure::Cancelled, .. }) => self.run_over(RunOver::Stopped),
            Some(RunEvent::Failed { failure, error, retry_after }) => {
                let permanent = failure == RunFailure::Permanent;
                self.run_over(RunOver::Failed { error, permanent, retry_after });
            }
            Some(_) => {}
        }
    }

    fn run_over(&mut self, over: RunOver) {
        if self.settlement.is_some() {
            return;
        }
        if let Some(mut seat) = self.seat.take() {
            seat.is_over();
        }
        (self.grace, self.window) = (None, None);
        self.limits.clear();
        self.leave_stage();
        // a drain seats nobody: that is why no host took it
        let draining = matches!(over, RunOver::NotSeated { .. }) && self.shared.health.is_draining();
        let asked = self.asked.or(draining.then_some(EndReason::Drain));
        self.settle(ending(asked, over, self.timeout));
    }
}
