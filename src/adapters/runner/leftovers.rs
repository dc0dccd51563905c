//! Processes that a stopped run has left in a host that lives on.
//!
//! A plugin that is told to stop may end politely and forget the programs that it had started. They are its attempt's,
//! and must not outlive it. Which run of a host started what can't be known; so this looks when the run that was asked
//! to stop was the only one, and passes over what was there when the host became ready.

use std::collections::{BTreeMap, HashSet};

use rustix::process::Pid;
use windlass_actors::ports::runner::{HostCommand, HostEvent, RunEvent, RunRef};

/// What runs in a host, and what belongs to the host itself.
#[derive(Default)]
pub(super) struct Leftovers {
    /// Runs under way, and whether each was asked to stop.
    runs: BTreeMap<RunRef, bool>,
    own: HashSet<Pid>,
}

impl Leftovers {
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

    /// Whether that event is the end of a stopped run, alone in its host, after which processes are left that are not
    /// the host's own.
    pub fn has_after(&mut self, event: &HostEvent, processes: impl FnOnce() -> Vec<Pid>) -> bool {
        match event {
            HostEvent::Ready { .. } => {
                self.own = processes().into_iter().collect();
                false
            }
            HostEvent::Run { run, event: RunEvent::Done { .. } } => {
                self.runs.remove(run);
                false
            }
            HostEvent::Run { run, event: RunEvent::Failed { .. } } => {
                let asked = self.runs.remove(run).unwrap_or(false);
                asked && self.runs.is_empty() && processes().iter().any(|pid| !self.own.contains(pid))
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_actors::domain::{EndReason, TaskError};
    use windlass_actors::ports::runner::RunFailure;

    fn pids(numbers: &[i32]) -> Vec<Pid> {
        numbers.iter().filter_map(|number| Pid::from_raw(*number)).collect()
    }

    fn stopped(run: RunRef) -> HostEvent {
        let (failure, error) = (RunFailure::Cancelled, TaskError::new("CANCELLED", ""));
        HostEvent::Run { run, event: RunEvent::Failed { failure, error, retry_after: None } }
    }

    #[test]
    fn only_what_a_stopped_run_left_alone_counts() {
        let mut host = Leftovers { runs: BTreeMap::from([(1, false), (2, false)]), own: HashSet::new() };
        host.has_after(&HostEvent::Ready { pid: None }, || pids(&[10, 11]));
        for run in [1, 2] {
            host.asked(&HostCommand::Cancel { run, reason: EndReason::Cancel });
        }
        assert!(!host.has_after(&stopped(1), || pids(&[10, 12])), "it may be its neighbour's");
        assert!(host.has_after(&stopped(2), || pids(&[10, 12])));
        host.runs.insert(3, true);
        assert!(!host.has_after(&stopped(3), || pids(&[10, 11])), "it is the host's own");
        host.runs.insert(4, false);
        assert!(!host.has_after(&stopped(4), || pids(&[12])), "nobody had asked it to stop");
    }
}
