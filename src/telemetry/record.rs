//! How things that happen become numbers: a function a fact, so that names and labels are the same everywhere.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use metrics::{counter, gauge, histogram};

use super::names;

/// Stages of one type that have a label of their own; the rest are `other`.
pub const MAX_STAGES: usize = 32;

pub fn task_created(task_type: &str) {
    counter!(names::TASKS_CREATED, "task_type" => task_type.to_owned()).increment(1);
}

/// `outcome` is one of the contract's: succeeded failed timed_out cancelled crashed lost released.
pub fn attempt_ended(task_type: &str, outcome: &'static str) {
    counter!(names::ATTEMPTS, "task_type" => task_type.to_owned(), "outcome" => outcome).increment(1);
}

/// `duration` is from the first start; `None` for a task that never started.
pub fn task_finished(task_type: &str, status: &'static str, duration: Option<Duration>) {
    counter!(names::TASKS_FINISHED, "task_type" => task_type.to_owned(), "status" => status).increment(1);
    if let Some(duration) = duration {
        histogram!(names::TASK_DURATION, "task_type" => task_type.to_owned(), "status" => status).record(duration);
    }
}

/// From when the task was due to its start.
pub fn task_waited(task_type: &str, wait: Duration) {
    histogram!(names::TASK_WAIT, "task_type" => task_type.to_owned()).record(wait);
}

/// Stage names come from plugins: only the first [`MAX_STAGES`] of a type become labels.
pub fn stage_ended(task_type: &str, stage: &str, duration: Duration) {
    let stage = bounded(task_type, stage);
    histogram!(names::STAGE_DURATION, "task_type" => task_type.to_owned(), "stage" => stage).record(duration);
}

fn bounded(task_type: &str, stage: &str) -> String {
    static STAGES: Mutex<BTreeMap<String, BTreeSet<String>>> = Mutex::new(BTreeMap::new());
    let mut stages = STAGES.lock().unwrap_or_else(PoisonError::into_inner);
    let known = stages.entry(task_type.to_owned()).or_default();
    if known.len() < MAX_STAGES {
        known.insert(stage.to_owned());
    }
    if known.contains(stage) { stage.to_owned() } else { "other".into() }
}

/// The waiting room of a type.
pub fn dead_letters(task_type: &str, count: u64) {
    gauge!(names::DEAD_LETTERS, "task_type" => task_type.to_owned()).set(count as f64);
}

/// Tasks in a status (`queued`, `running`) and the age of the oldest. Set zero when there is none any more.
pub fn tasks(task_type: &str, status: &'static str, count: u64, oldest: Duration) {
    gauge!(names::TASKS, "task_type" => task_type.to_owned(), "status" => status).set(count as f64);
    gauge!(names::OLDEST_TASK_AGE, "task_type" => task_type.to_owned(), "status" => status).set(oldest);
}

/// `queue` is `main` or `dead`.
pub fn queue_depth(task_type: &str, queue: &'static str, depth: u64) {
    gauge!(names::QUEUE_DEPTH, "task_type" => task_type.to_owned(), "queue" => queue).set(depth as f64);
}

pub fn leases(held: usize) {
    gauge!(names::LEASES).set(held as f64);
}

/// `reason` is `lease`, `pulse` or `predecessor`.
pub fn taken_back(reason: &'static str, count: u64) {
    counter!(names::TASKS_TAKEN_BACK, "reason" => reason).increment(count);
    if reason == "lease" {
        counter!(names::LEASES_EXPIRED).increment(count);
    }
}

pub fn renewal_failed() {
    counter!(names::LEASE_RENEW_FAILURES).increment(1);
}

/// `write` is the call of the ledger that was refused, such as `finish`.
pub fn fenced(write: &'static str) {
    counter!(names::FENCE_REJECTED, "write" => write).increment(1);
}

pub fn terminal_write_failed() {
    counter!(names::TERMINAL_WRITE_FAILURES).increment(1);
}

pub fn outbox(pending: u64, lag: Duration) {
    gauge!(names::OUTBOX_PENDING).set(pending as f64);
    gauge!(names::OUTBOX_LAG).set(lag);
}

pub fn pool_slots(task_type: &str, free: usize, busy: usize) {
    for (state, count) in [("free", free), ("busy", busy)] {
        gauge!(names::POOL_SLOTS, "task_type" => task_type.to_owned(), "state" => state).set(count as f64);
    }
}

/// `actor` is a path without ids, such as `pools/pool/hello`.
pub fn actor_restarted(actor: &str) {
    counter!(names::ACTOR_RESTARTS, "actor" => actor.to_owned()).increment(1);
}

pub fn workers(task_type: &str, processes: usize, rss_bytes: u64) {
    gauge!(names::WORKER_PROCESSES, "task_type" => task_type.to_owned()).set(processes as f64);
    gauge!(names::WORKER_RSS, "task_type" => task_type.to_owned()).set(rss_bytes as f64);
}

/// `reason` is one of a closed set, such as `crash`, `memory`, `timeout`, `recycled`, `idle`, `drain`.
pub fn worker_exited(task_type: &str, reason: &'static str) {
    counter!(names::WORKER_EXITS, "task_type" => task_type.to_owned(), "reason" => reason).increment(1);
}

pub fn sse_clients(open: usize) {
    gauge!(names::SSE_CLIENTS).set(open as f64);
}
