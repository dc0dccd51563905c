//! Turns what the tree tells of itself into metrics.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use windlass_actors::domain::{Outcome, Status, TaskType};
use windlass_actors::ports::ledger::TakeCause;
use windlass_actors::ports::observer::{Fact, Observer};

use crate::telemetry::record;

/// Counts facts. Knows which types a group serves, because workers are counted by type.
pub struct Meter {
    types_of_group: BTreeMap<String, Vec<String>>,
}

impl Meter {
    pub fn new(types: &[TaskType]) -> Arc<Self> {
        let mut types_of_group: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for t in types {
            types_of_group.entry(t.host_group.clone()).or_default().push(t.name.to_string());
        }
        for t in types {
            record::pool_slots(t.name.as_str(), 0, 0);
            record::workers(t.name.as_str(), 0, 0);
        }
        record::leases(0);
        Arc::new(Meter { types_of_group })
    }

    fn types<'a>(&'a self, group: &str) -> impl Iterator<Item = &'a str> {
        self.types_of_group.get(group).into_iter().flatten().map(String::as_str)
    }
}

impl Observer for Meter {
    fn saw(&self, fact: &Fact) {
        match fact {
            Fact::Claimed { task_type, waited, .. } => record::task_waited(task_type.as_str(), *waited),
            Fact::RunBegan { .. } => {}
            Fact::StageEnded { task_type, stage, took } => record::stage_ended(task_type.as_str(), stage, *took),
            Fact::AttemptEnded { task_type, outcome, status, ran, .. } => {
                record::attempt_ended(task_type.as_str(), outcome.as_str());
                finished(task_type.as_str(), *status, Some(*ran));
            }
            Fact::AttemptLost { .. } => {}
            Fact::FenceRejected { write, .. } => record::fenced(write.as_str()),
            Fact::TerminalWriteFailed { .. } => record::terminal_write_failed(),
            Fact::RenewFailed => record::renewal_failed(),
            Fact::TakenBack { task_type, cause, status, .. } => {
                let outcome = if *cause == TakeCause::NoActor { Outcome::Released } else { Outcome::Lost };
                record::attempt_ended(task_type.as_str(), outcome.as_str());
                record::taken_back(cause.as_str(), 1);
                finished(task_type.as_str(), *status, None);
            }
            Fact::HostStarted { .. } => {}
            Fact::HostExited { group, cause } => {
                self.types(group).for_each(|name| record::worker_exited(name, cause.as_str()));
            }
            Fact::Slots { task_type, busy, free } => {
                record::pool_slots(task_type.as_str(), *free as usize, *busy as usize);
            }
            Fact::Leases { count } => record::leases(*count),
            Fact::Hosts { group, alive, memory, .. } => {
                self.types(group).for_each(|name| record::workers(name, *alive, *memory));
            }
        }
    }
}

fn finished(task_type: &str, status: Status, ran: Option<Duration>) {
    if status.is_terminal() {
        record::task_finished(task_type, status.as_str(), ran);
    }
}

/// An actor's path without ids, for a label: a lease is `pools/pool/hello/lease`.
pub fn label(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').collect();
    let cut = parts.iter().position(|part| matches!(*part, "lease" | "host")).map_or(parts.len(), |at| at + 1);
    parts[..cut].join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_has_no_ids() {
        assert_eq!(label("pools/pool/hello/lease/0197@3"), "pools/pool/hello/lease");
        assert_eq!(label("hosts/group/hello/host/12"), "hosts/group/hello/host");
        assert_eq!(label("upkeep/reaper"), "upkeep/reaper");
    }
}
