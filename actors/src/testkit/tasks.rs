//! Tasks and verdicts for tests.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use uuid::Uuid;

use crate::domain::{
    ErrorKind, EventKind, Incarnation, Json, LeaseKey, NewEvent, NewTask, NodeId, Outcome, Owner, ReleaseReason,
    Suspicion, TaskError, TaskId, TypeName, Verdict,
};
use crate::ports::ledger::{Backoff, Claim, ClaimNext, Finish, Limits, Reap, Record};

/// How long the leases of [`owner`] are.
pub const LEASE: Duration = Duration::from_secs(30);

/// A fresh id; later ones sort higher, as UUIDv7 do.
pub fn task_id() -> TaskId {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    const FIRST: u128 = 0x0197_0000_0000_7000_8000_0000_0000_0000;
    TaskId(Uuid::from_u128(FIRST + u128::from(COUNT.fetch_add(1, Ordering::Relaxed))))
}

pub fn type_name(name: &str) -> TypeName {
    TypeName::new(name).unwrap_or_else(|bad| panic!("{bad}"))
}

/// A task of that type with the defaults of the contract.
pub fn new_task(task_type: &str) -> NewTask {
    NewTask {
        id: task_id(),
        task_type: type_name(task_type),
        owner: "alice".to_owned(),
        payload: Json::trusted(r#"{"n":1}"#),
        model_spec: Json::empty_object(),
        inference_params: Json::empty_object(),
        metadata: Json::empty_object(),
        priority: 5,
        max_attempts: 3,
        timeout: None,
        deadline_in: None,
        not_before: None,
        client_role: None,
        idempotency_key: None,
        fingerprint: "fingerprint".to_owned(),
    }
}

/// The n-th node's owner; always the same one.
pub fn owner(n: u32) -> Owner {
    let incarnation = Incarnation(Uuid::from_u128(0x1000 + u128::from(n)));
    Owner { node: NodeId(format!("node-{n}")), incarnation, lease: LEASE }
}

pub fn claim(task: TaskId, task_type: &str) -> Claim {
    let (suspects, limits, token) = (Suspicion::None, Limits::default(), Uuid::new_v4());
    Claim { task, task_type: type_name(task_type), suspects, limits, plugin_sha256: None, token }
}

pub fn claim_next(task_type: &str, most: u32) -> ClaimNext {
    let (suspects, limits, token) = (Suspicion::None, Limits::default(), Uuid::new_v4());
    ClaimNext { task_type: type_name(task_type), most, suspects, limits, plugin_sha256: None, token }
}

pub fn log(text: &str) -> NewEvent {
    NewEvent {
        kind: EventKind::Log,
        data: Json::trusted(serde_json::json!({"level": "info", "text": text}).to_string()),
    }
}

pub fn output(values: &str) -> NewEvent {
    NewEvent { kind: EventKind::Output, data: Json::trusted(format!(r#"{{"values":{values}}}"#)) }
}

pub fn record(key: LeaseKey, from: u64, events: Vec<NewEvent>) -> Record {
    Record { key, from, events, stage: None, progress: None, checkpoint: None }
}

pub fn finish(key: LeaseKey, verdict: Verdict) -> Finish {
    Finish { key, verdict, from: 0, events: Vec::new(), stage: None, progress: None, token: Uuid::new_v4() }
}

pub fn complete() -> Verdict {
    Verdict::Complete { result: Json::trusted(r#"{"ok":true}"#) }
}

pub fn fail() -> Verdict {
    Verdict::Fail {
        outcome: Outcome::Failed,
        error: TaskError::new("BAD_INPUT", "never works"),
        kind: ErrorKind::Permanent,
    }
}

pub fn retry(outcome: Outcome, delay: Duration) -> Verdict {
    Verdict::RetryIn { outcome, error: TaskError::new("FLAKY", "try again"), delay }
}

pub fn dead_letter() -> Verdict {
    Verdict::DeadLetter {
        outcome: Outcome::Failed,
        error: TaskError::new("SPENT", "no more"),
        kind: ErrorKind::Exhausted,
    }
}

pub fn release(reason: ReleaseReason, delay: Duration) -> Verdict {
    Verdict::Release { reason, delay, detail: String::new() }
}

pub fn backoff() -> Backoff {
    Backoff { base: Duration::from_secs(100), cap: Duration::from_secs(1000), dice: 0.5 }
}

pub fn reap() -> Reap {
    Reap { grace: Duration::from_secs(5), most: 100, backoff: backoff() }
}
