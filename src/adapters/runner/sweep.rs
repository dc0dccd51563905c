//! Kills what is left of a node or a shim that was itself killed.

#![allow(clippy::disallowed_methods, reason = "blocks by its contract, before the runtime has anything to do")]

use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, getpid, getppid, pidfd_open, pidfd_send_signal};

use super::environment::NODE_MARK;
use super::proc;

const LIMIT: Duration = Duration::from_secs(5);

/// What a sweep came to.
#[derive(Debug)]
pub struct Swept {
    /// How many were killed.
    pub killed: usize,
    /// What lives on, each as `pid (name)`: it can't be killed, or did not die in time.
    pub left: Vec<String>,
}

/// Kills every process that bears this node's mark, but this process and those it comes from; for the start, before
/// the first host. Blocks, at most 5 s if something can't be killed.
pub fn sweep(mark: &str) -> Swept {
    sweep_variable(&format!("{NODE_MARK}={mark}"))
}

/// Kills every process that was started with that variable, `NAME=value`, until none is left.
pub(super) fn sweep_variable(variable: &str) -> Swept {
    let (spared, started, mut killed) = (lineage(), Instant::now(), Vec::new());
    loop {
        let left: Vec<Pid> =
            proc::all().filter(|pid| !spared.contains(pid) && proc::has_variable(*pid, variable)).collect();
        if left.is_empty() || started.elapsed() > LIMIT {
            return Swept { killed: killed.len(), left: left.into_iter().map(named).collect() };
        }
        for pid in left {
            if kill_marked(pid, variable) && !killed.contains(&pid) {
                killed.push(pid);
            }
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn named(pid: Pid) -> String {
    let pid = pid.as_raw_pid();
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    format!("{pid} ({})", name.trim())
}

/// Looks again once the process is pinned: its number may be another's by now.
fn kill_marked(pid: Pid, variable: &str) -> bool {
    pidfd_open(pid, PidfdFlags::empty())
        .is_ok_and(|pinned| proc::has_variable(pid, variable) && pidfd_send_signal(&pinned, Signal::KILL).is_ok())
}

/// This process and its ancestors: a node may have been started from within a worker.
fn lineage() -> Vec<Pid> {
    let mut line = vec![getpid()];
    let mut next = getppid();
    while let Some(pid) = next {
        line.push(pid);
        next = parent(pid);
    }
    line
}

fn parent(pid: Pid) -> Option<Pid> {
    let text = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid())).ok()?;
    // The name is in parentheses and may hold anything.
    let (_, rest) = text.rsplit_once(')')?;
    Pid::from_raw(rest.split_ascii_whitespace().nth(1)?.parse().ok()?)
}
