//! Processes that a stopped run has left in a host that lives on.
//!
//! A plugin that is told to stop may end politely and forget the programs that it had started. They are its attempt's,
//! and must not outlive it. Which run of a host started what can't be known; so this looks when no other run is left in
//! the host, and passes over what was there when the host became ready.

use std::collections::{BTreeMap, HashSet};

use rustix::process::Pid;
use windlass_actors::ports::runner::{HostCommand, HostEvent, RunEvent, RunRef};

/// What runs in a host, and what belongs to the host itself.
#[derive(Default)]
pub(super) struct Leftovers {
    /// Runs under way, and whether each was asked to stop.
    runs: BTreeMap<RunRef, bool>,
    own: HashSet<Pid>,
    /// A stopped run has ended while others ran.
    doubtful: bool,
}

/// What to do at an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Clearing {
    Nothing,
    /// The host must die, and the run's end be told with the host's: when nothing is left of either.
    Instead,
    /// The host must die after the event is told.
    After,
}

impl Leftovers {
    /// No run is under way.
    pub fn is_idle(&self) -> bool {
        self.runs.is_empty()
    }

    /// Notes a command before it is sent.
    pub fn asked(&mut self, command: &HostCommand) {
        match command {
            HostCommand::Run(request) => drop(self.runs.insert(request.run, false)),
            HostCommand::Cancel { run, .. } => {
                if let Some(asked) = self.runs.get_mut(run) {
                    *asked = true;
                }
            }
            _ => {}
        }
    }

    /// Notes an event before it is told. `processes` are those below the host that live.
    pub fn at(&mut self, event: &HostEvent, processes: impl FnOnce() -> Vec<Pid>) -> Clearing {
        match event {
            HostEvent::Ready { .. } => self.own = processes().into_iter().collect(),
            HostEvent::Run { run, event: RunEvent::Done { .. } } => return self.over(*run, false, processes),
            HostEvent::Run { run, event: RunEvent::Failed { .. } } => return self.over(*run, true, processes),
            _ => {}
        }
        Clearing::Nothing
    }

    fn over(&mut self, run: RunRef, failed: bool, processes: impl FnOnce() -> Vec<Pid>) -> Clearing {
        let stopped = self.runs.remove(&run).unwrap_or(false) && failed;
        self.doubtful |= stopped;
        if !self.doubtful || !self.runs.is_empty() {
            return Clearing::Nothing;
        }
        self.doubtful = false;
        match processes().iter().any(|pid| !self.own.contains(pid)) {
            false => Clearing::Nothing,
            true if stopped => Clearing::Instead,
            true => Clearing::After,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_actors::domain::{EndReason, Json, TaskError};
    use windlass_actors::ports::runner::RunFailure;

    fn pids(numbers: &[i32]) -> Vec<Pid> {
        numbers.iter().filter_map(|number| Pid::from_raw(*number)).collect()
    }

    fn failed(run: RunRef) -> HostEvent {
        let (failure, error) = (RunFailure::Cancelled, TaskError::new("CANCELLED", ""));
        HostEvent::Run { run, event: RunEvent::Failed { failure, error, retry_after: None } }
    }

    /// A host with the processes 10 and 11 of its own, and two runs.
    fn host() -> Leftovers {
        let mut host = Leftovers { runs: BTreeMap::from([(1, false), (2, false)]), ..Leftovers::default() };
        host.at(&HostEvent::Ready { pid: None }, || pids(&[10, 11]));
        host.asked(&HostCommand::Cancel { run: 1, reason: EndReason::Cancel });
        host
    }

    #[test]
    fn what_a_stopped_run_left_is_cleared_once_no_neighbour_can_own_it() {
        let mut host = host();
        assert_eq!(host.at(&failed(1), || pids(&[10, 12])), Clearing::Nothing);
        let done = HostEvent::Run { run: 2, event: RunEvent::Done { result: Json::null() } };
        assert_eq!(host.at(&done, || pids(&[10, 12])), Clearing::After);
        host.runs.insert(3, true);
        assert_eq!(host.at(&failed(3), || pids(&[10, 12])), Clearing::Instead);
    }

    #[test]
    fn the_hosts_own_processes_and_those_of_runs_that_nobody_stopped_stay() {
        let mut host = host();
        host.at(&failed(1), || pids(&[10, 12]));
        assert_eq!(host.at(&failed(2), || pids(&[10, 11])), Clearing::Nothing);
        host.runs.insert(3, false);
        assert_eq!(host.at(&failed(3), || pids(&[12])), Clearing::Nothing);
    }
}
