//! A host: one worker process, from launch to nothing left.
//!
//! It owns the process (dropping its handle kills the tree) and knows each run in it. It receives what the process says
//! and what leases ask, and promises: each run's end is told once, after which nothing of that run is left; a run that
//! must die takes the host with it, but waits for its neighbours a while; a host that ends tells its group why.
//!
//! ```text
//! Starting ──ready──▶ Open ──max tasks, solo run over──▶ Retiring ──idle──▶ Closing ──exited──▶ exit
//!     └─timeout─▶ killed          └──a run must die──▶ Condemned ──alone, or waited──▶ killed ──▲
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::seat::{Running, SeatAsk};
use super::{GroupMsg, HostReport};
use crate::decide::ending::RunOver;
use crate::domain::{EndReason, TaskError};
use crate::ports::observer::Fact;
use crate::ports::runner::{ExitCause, Host, HostCommand, HostEvent, HostExit, HostSpec, RunEvent, RunRef};
use crate::supervise::{Actor, ActorProcessingErr, ActorRef, Place, Tick};
use crate::tree::wiring::Shared;

/// Between two looks at a host's memory.
const WEIGHING: Duration = Duration::from_secs(5);

/// How long a host may take to leave once it is idle and asked to.
const CLOSING: Duration = Duration::from_secs(2);

pub enum HostMsg {
    Launch,
    Said(HostEvent),
    Begin(SeatAsk),
    Cancel {
        run: RunRef,
        reason: EndReason,
    },
    Ack {
        run: RunRef,
        references: Vec<u64>,
        fenced: bool,
    },
    /// Its grace is over: it must die, whatever that takes.
    Kill {
        run: RunRef,
    },
    /// Its lease died.
    Abandon {
        run: RunRef,
    },
    StartTimeOver,
    NeighboursTimeOver,
    ClosingTimeOver,
    /// Time to look at its memory.
    Weigh,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Starting,
    Open,
    Retiring,
    Condemned,
    Closing,
}

pub struct HostActor;

pub struct HostArgs {
    pub shared: Arc<Shared>,
    pub group: ActorRef<GroupMsg>,
    pub number: u32,
    pub spec: HostSpec,
    /// For one run alone.
    pub solo: bool,
    pub place: Place,
}

pub struct HostState {
    args: HostArgs,
    myself: ActorRef<HostMsg>,
    handle: Option<Box<dyn Host>>,
    phase: Phase,
    runs: BTreeMap<RunRef, Running>,
    /// Runs that must die.
    doomed: BTreeSet<RunRef>,
    next_run: RunRef,
    served: u64,
    ready_at: Option<Duration>,
    start_error: Option<TaskError>,
    timers: Vec<Tick>,
    weighing: Option<Tick>,
}

impl Actor for HostActor {
    type Msg = HostMsg;
    type State = HostState;
    type Arguments = HostArgs;

    async fn pre_start(&self, myself: ActorRef<HostMsg>, args: HostArgs) -> Result<HostState, ActorProcessingErr> {
        args.place.state("starting");
        myself.cast(HostMsg::Launch)?;
        Ok(HostState::new(myself, args))
    }

    async fn handle(
        &self,
        _: ActorRef<HostMsg>,
        message: HostMsg,
        host: &mut HostState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            HostMsg::Launch => host.launch(),
            HostMsg::Said(event) => host.said(event),
            HostMsg::Begin(ask) => host.begin(ask),
            HostMsg::Cancel { run, reason } => host.send(HostCommand::Cancel { run, reason }),
            HostMsg::Ack { run, references, fenced } => {
                references.into_iter().for_each(|reference| host.send(HostCommand::Ack { run, reference, fenced }));
            }
            HostMsg::Kill { run } => host.doom(run),
            HostMsg::Abandon { run } => host.abandon(run),
            HostMsg::StartTimeOver => host.start_time_over(),
            HostMsg::NeighboursTimeOver => host.neighbours_time_over(),
            HostMsg::ClosingTimeOver => host.kill(),
            HostMsg::Weigh => host.weigh(),
        }
        Ok(())
    }

    /// Asked to stop with its group: leaves in order if it is idle, else is killed; either way nothing is left.
    async fn post_stop(&self, _: ActorRef<HostMsg>, host: &mut HostState) -> Result<(), ActorProcessingErr> {
        let Some(handle) = host.handle.as_ref() else {
            return Ok(());
        };
        let gone = handle.gone();
        if host.runs.is_empty() {
            handle.send(HostCommand::Shutdown);
            if tokio::time::timeout(CLOSING, gone.cancelled()).await.is_ok() {
                return Ok(());
            }
        }
        handle.kill();
        gone.cancelled().await;
        Ok(())
    }
}

impl HostState {
    fn new(myself: ActorRef<HostMsg>, args: HostArgs) -> Self {
        HostState {
            args,
            myself,
            handle: None,
            phase: Phase::Starting,
            runs: BTreeMap::new(),
            doomed: BTreeSet::new(),
            next_run: 1,
            served: 0,
            ready_at: None,
            start_error: None,
            timers: Vec::new(),
            weighing: None,
        }
    }

    fn launch(&mut self) {
        let myself = self.myself.clone();
        let sink = Arc::new(move |event| {
            // an actor that has gone dropped the handle, which killed the process
            let _ = myself.cast(HostMsg::Said(event));
        });
        self.handle = Some(self.args.shared.world.runner.launch(&self.args.spec, sink));
        if let Some(handle) = &self.handle {
            // the group waits for it before it starts another in its place
            let _ = self.args.group.cast(GroupMsg::HostLaunched { number: self.args.number, gone: handle.gone() });
        }
        let limit = self.args.spec.types.iter().map(|t| t.start_timeout).max().unwrap_or_default();
        self.after(limit, HostMsg::StartTimeOver);
    }

    fn after(&mut self, time: Duration, message: HostMsg) {
        self.timers.push(Tick::after(&self.myself, time, || message));
    }

    fn weigh(&mut self) {
        let memory = self.handle.as_ref().and_then(|handle| handle.memory()).unwrap_or(0);
        self.tell_group(GroupMsg::HostWeighed { number: self.args.number, memory });
        self.weighing = Some(Tick::after(&self.myself, WEIGHING, || HostMsg::Weigh));
    }

    fn send(&self, command: HostCommand) {
        if let Some(handle) = &self.handle {
            handle.send(command);
        }
    }

    fn kill(&self) {
        if let Some(handle) = &self.handle {
            handle.kill();
        }
    }

    fn said(&mut self, event: HostEvent) {
        match event {
            HostEvent::Ready { pid } => self.ready(pid),
            HostEvent::StartFailed { error } => self.start_error = Some(error),
            HostEvent::Run { run, event } => self.run_said(run, event),
            HostEvent::Log { level, stream, text } => self.log(&level, &stream, &text),
            HostEvent::Pong { .. } => {}
            HostEvent::ProtocolBroken { detail } => {
                tracing::error!(actor = self.args.place.path(), %detail, "a host broke the protocol and is killed");
            }
            HostEvent::Exited(exit) => self.exited(&exit),
        }
    }

    fn log(&self, level: &str, stream: &str, text: &str) {
        let actor = self.args.place.path();
        match level {
            "error" | "critical" => tracing::error!(actor, stream, "{text}"),
            "warning" | "warn" => tracing::warn!(actor, stream, "{text}"),
            _ => tracing::info!(actor, stream, "{text}"),
        }
    }

    fn ready(&mut self, pid: Option<u32>) {
        self.phase = Phase::Open;
        self.ready_at = Some(self.args.shared.world.clock.now());
        self.timers.clear();
        self.args.place.state("ready");
        self.args.place.detail("pid", pid.into());
        self.args.shared.saw(Fact::HostStarted { group: self.args.spec.group.clone(), pid });
        self.tell_group(GroupMsg::HostReady { number: self.args.number, pid });
        self.weigh();
    }

    fn tell_group(&self, message: GroupMsg) {
        // a group that has gone takes its hosts along
        let _ = self.args.group.cast(message);
    }

    fn begin(&mut self, ask: SeatAsk) {
        let task_type = ask.task_type().cloned();
        let run = self.next_run;
        self.next_run += 1;
        let draining = self.args.shared.health.is_draining();
        let seated = match &self.handle {
            Some(handle) if self.phase == Phase::Open && !draining => ask.seat(&self.myself, run, handle.gone()),
            _ => None,
        };
        match (seated, task_type) {
            (Some((running, request)), _) => {
                self.runs.insert(run, running);
                self.served += 1;
                self.send(HostCommand::Run(Box::new(request)));
                self.retire_when_served();
            }
            (None, Some(task_type)) => {
                self.tell_group(GroupMsg::RunEnded { number: self.args.number, task_type });
                self.close_when_idle();
            }
            (None, None) => {}
        }
    }

    fn retire_when_served(&mut self) {
        let most = self.args.spec.types.iter().filter_map(|t| t.max_tasks_per_process).min();
        let served_out = most.is_some_and(|most| self.served >= most);
        if self.phase == Phase::Open && (self.args.solo || served_out) {
            self.phase = Phase::Retiring;
            self.args.place.state("retiring");
            self.tell_group(GroupMsg::HostClosed { number: self.args.number });
        }
    }

    fn run_said(&mut self, run: RunRef, event: RunEvent) {
        let ends = matches!(event, RunEvent::Done { .. } | RunEvent::Failed { .. });
        let Some(running) = self.runs.get(&run) else {
            return;
        };
        running.said(event);
        if ends {
            self.end_run(run, None);
            self.close_when_idle();
            self.kill_when_only_doomed();
        }
    }

    fn end_run(&mut self, run: RunRef, how: Option<RunOver>) {
        if let Some(running) = self.runs.remove(&run) {
            let task_type = running.task_type.clone();
            self.doomed.remove(&run);
            running.end(how);
            self.tell_group(GroupMsg::RunEnded { number: self.args.number, task_type });
        }
    }

    fn close_when_idle(&mut self) {
        let leaving =
            matches!(self.phase, Phase::Retiring | Phase::Condemned) || (self.args.solo && self.phase == Phase::Open);
        if leaving && self.runs.is_empty() {
            self.phase = Phase::Closing;
            self.args.place.state("closing");
            self.send(HostCommand::Shutdown);
            self.after(CLOSING, HostMsg::ClosingTimeOver);
        }
    }

    /// A run must die: no new work comes here, and the host is killed once its neighbours are done, or have had their
    /// grace.
    fn doom(&mut self, run: RunRef) {
        if !self.runs.contains_key(&run) || !self.doomed.insert(run) {
            return;
        }
        if self.phase != Phase::Condemned {
            self.phase = Phase::Condemned;
            self.args.place.state("condemned: waits for the other runs in it");
            self.tell_group(GroupMsg::HostClosed { number: self.args.number });
        }
        if self.doomed.len() == 1 {
            let grace = self.args.shared.settings.neighbour_grace;
            self.after(grace, HostMsg::NeighboursTimeOver);
        }
        self.kill_when_only_doomed();
    }

    /// Unless those that had to die have ended by themselves meanwhile: then nobody need die for them.
    fn neighbours_time_over(&self) {
        if !self.doomed.is_empty() {
            self.kill();
        }
    }

    fn kill_when_only_doomed(&mut self) {
        if !self.doomed.is_empty() && self.runs.keys().all(|run| self.doomed.contains(run)) {
            self.kill();
        }
    }

    /// The lease died: the run is asked to stop, and killed after its grace.
    fn abandon(&mut self, run: RunRef) {
        if self.runs.contains_key(&run) {
            self.send(HostCommand::Cancel { run, reason: EndReason::Lost });
            let grace = self.args.shared.settings.cancel_grace;
            self.after(grace, HostMsg::Kill { run });
        }
    }

    fn start_time_over(&mut self) {
        if self.phase == Phase::Starting {
            let limit = self.args.spec.types.iter().map(|t| t.start_timeout).max().unwrap_or_default();
            let detail = format!("it was not ready within {} s", limit.as_secs_f64());
            self.start_error.get_or_insert(TaskError::new("START_TIMEOUT", detail));
            self.kill();
        }
    }

    fn exited(&mut self, exit: &HostExit) {
        let alone = self.runs.len() == 1;
        let killed = exit.cause == ExitCause::Killed;
        let runs: Vec<RunRef> = self.runs.keys().copied().collect();
        for run in runs {
            let how = match (killed, self.doomed.contains(&run)) {
                (true, true) => RunOver::Killed,
                (true, false) => RunOver::NeighbourKilled,
                (false, _) if alone => RunOver::HostDied { error: died(exit), alone },
                // what it said last may be another owner's
                (false, _) => RunOver::HostDied { error: cause_alone(exit), alone },
            };
            self.end_run(run, Some(how));
        }
        self.report(exit);
        self.handle = None;
        self.myself.stop(None);
    }

    fn report(&self, exit: &HostExit) {
        let cause = exit.cause;
        let ordered = cause == ExitCause::Ordered || (cause == ExitCause::Killed && self.start_error.is_none());
        if ordered {
            tracing::debug!(actor = self.args.place.path(), cause = cause.as_str(), "a host ended");
        } else {
            tracing::warn!(actor = self.args.place.path(), cause = cause.as_str(), detail = %exit.detail, "a host ended");
        }
        let lived = self.ready_at.map(|at| self.args.shared.world.clock.now().saturating_sub(at));
        let error = self.start_error.clone().unwrap_or_else(|| died(exit));
        self.args.shared.saw(Fact::HostExited { group: self.args.spec.group.clone(), cause });
        let report = HostReport { number: self.args.number, ordered, lived, served: self.served, error };
        self.tell_group(GroupMsg::HostEnded(report));
    }
}

fn cause_alone(exit: &HostExit) -> TaskError {
    TaskError::new(exit.cause.code(), exit.detail.lines().next().unwrap_or_default())
}

fn died(exit: &HostExit) -> TaskError {
    TaskError::new(exit.cause.code(), exit.detail.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_did_not_die_alone_hear_the_cause_and_no_line_of_another() {
        let exit = HostExit { cause: ExitCause::Status(3), detail: "exit status 3\nits last lines:\nsecret".into() };
        assert_eq!(cause_alone(&exit).detail, "exit status 3");
        assert!(died(&exit).detail.ends_with("secret"));
    }
}
