//! The table of a task's states: which command moves it from where to where, and what that costs.
//!
//! ```text
//! queued ──claim──▶ running ──complete──▶ succeeded
//!   │ ▲               │ │ └──fail, dead letter──▶ failed
//!   │ └─retry, release, loss┘ └──cancel──▶ cancelled
//!   ├──cancel──▶ cancelled
//!   └──expire──▶ failed (deadline) ──replay──▶ queued
//! ```
//!
//! The memory ledger executes this code; the SQL ledgers call it for what is rare and are tested against it for what is
//! hot. Whoever calls it holds the row.

use std::time::Duration;

use serde::Serialize;

use super::{Epoch, ErrorKind, Json, NodeId, Outcome, ReleaseReason, Status, TaskError, Timestamp, Verdict};

/// The tenth uncharged end in a row is charged, so that nothing loops for ever.
pub const MAX_UNCHARGED: u32 = 10;

/// Losses of its owner that a task is not charged for.
const FREE_LOSSES: u32 = 2;

/// How a task is held once deaths followed it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
pub enum Suspicion {
    None,
    /// A host died with it: it runs alone in a fresh host.
    Host,
    /// Two owners died with it: a node runs one such at a time.
    Node,
}

impl Suspicion {
    /// The column's value: 0, 1, 2.
    pub fn as_int(self) -> i64 {
        self as i64
    }

    pub fn from_int(n: i64) -> Suspicion {
        match n {
            0 => Suspicion::None,
            1 => Suspicion::Host,
            _ => Suspicion::Node,
        }
    }
}

/// What the table looks at and changes.
#[derive(Clone, PartialEq, Debug)]
pub struct Standing {
    pub status: Status,
    pub epoch: Epoch,
    /// Charged starts since the last replay, the running one included.
    pub attempt: u32,
    pub max_attempts: u32,
    /// Counted uncharged ends since the last charged one.
    pub uncharged: u32,
    /// Losses in a row.
    pub losses: u32,
    pub suspect: Suspicion,
    pub cancel_requested: bool,
    /// How often it was replayed: attempts of earlier lives no longer count.
    pub life: u32,
    pub not_before: Timestamp,
    pub deadline_at: Option<Timestamp>,
    pub dead_lettered: bool,
}

impl Standing {
    /// A task just created.
    pub fn fresh(max_attempts: u32, not_before: Timestamp, deadline_at: Option<Timestamp>) -> Self {
        Standing {
            status: Status::Queued,
            epoch: Epoch(0),
            attempt: 0,
            max_attempts,
            uncharged: 0,
            losses: 0,
            suspect: Suspicion::None,
            cancel_requested: false,
            life: 0,
            not_before,
            deadline_at,
            dead_lettered: false,
        }
    }

    fn is_overdue(&self, now: Timestamp) -> bool {
        self.deadline_at.is_some_and(|at| at <= now)
    }
}

/// What may be asked of a task. Fences (epoch, owner, lease) are tested before, by whoever holds the row.
#[derive(Clone, PartialEq, Debug)]
pub enum Command {
    Claim {
        node: NodeId,
    },
    /// The owner's verdict.
    Settle(Verdict),
    /// The owner is gone. `backoff` is for the second loss and later ones.
    Lose {
        backoff: Duration,
    },
    /// Asked by a caller.
    Cancel {
        reason: Option<String>,
    },
    /// Fails what is queued past its deadline.
    Expire,
    Replay,
}

/// Why a command changes nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    NotQueued,
    NotDue,
    NotRunning,
    NotOverdue,
    /// Terminal already, so it can't be cancelled.
    AlreadyFinished,
    /// Only what failed can be replayed.
    NotFailed,
}

/// How the attempt under way ended by this move.
#[derive(Clone, PartialEq, Debug)]
pub struct AttemptEnd {
    pub outcome: Outcome,
    pub charged: bool,
    pub error: Option<TaskError>,
}

/// Data of the `state` event that a move writes.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct StateData {
    pub status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_id: Option<NodeId>,
    /// Why it is queued again, or who cancelled it and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Milliseconds until it is due, when it is queued again for later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<TaskError>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dead_lettered: Option<bool>,
}

impl StateData {
    fn of(status: Status) -> Self {
        StateData {
            status,
            attempt: None,
            node_id: None,
            reason: None,
            delay_ms: None,
            error: None,
            dead_lettered: None,
        }
    }
}

/// A legal move: the standing after it, and what it writes. `event` is none when only a flag changed (a cancel asked
/// of a running task).
#[derive(Clone, PartialEq, Debug)]
pub struct Move {
    pub next: Standing,
    pub attempt_end: Option<AttemptEnd>,
    pub event: Option<StateData>,
    /// The task's error from now on: set by an end, cleared by replay.
    pub error: Option<TaskError>,
    pub result: Option<Json>,
}

/// Moves a task, or says why not. `now` is the database's.
pub fn apply(task: &Standing, command: Command, now: Timestamp) -> Result<Move, Refusal> {
    match command {
        Command::Claim { node } => claim(task, node, now),
        Command::Settle(verdict) => running(task).map(|()| settle(task, verdict, now)),
        Command::Lose { backoff } => running(task).map(|()| lose(task, backoff, now)),
        Command::Cancel { reason } => cancel(task, reason),
        Command::Expire => expire(task, now),
        Command::Replay => replay(task, now),
    }
}

fn running(task: &Standing) -> Result<(), Refusal> {
    if task.status == Status::Running { Ok(()) } else { Err(Refusal::NotRunning) }
}

fn claim(task: &Standing, node: NodeId, now: Timestamp) -> Result<Move, Refusal> {
    match task.status {
        Status::Queued if task.is_overdue(now) => Ok(overdue(task, None)),
        Status::Queued if task.not_before > now => Err(Refusal::NotDue),
        Status::Queued => {
            let mut next = task.clone();
            next.status = Status::Running;
            next.epoch = Epoch(task.epoch.0 + 1);
            next.attempt += 1;
            let event =
                StateData { attempt: Some(next.attempt), node_id: Some(node), ..StateData::of(Status::Running) };
            Ok(Move { next, attempt_end: None, event: Some(event), error: None, result: None })
        }
        _ => Err(Refusal::NotQueued),
    }
}

fn settle(task: &Standing, verdict: Verdict, now: Timestamp) -> Move {
    match verdict {
        Verdict::Complete { result } => complete(task, result),
        Verdict::Cancel => cancelled(task, Outcome::Cancelled, None),
        Verdict::Fail { outcome, error, .. }
        | Verdict::DeadLetter { outcome, error, .. }
        | Verdict::RetryIn { outcome, error, .. }
            if task.cancel_requested =>
        {
            cancelled(task, outcome, Some(error))
        }
        Verdict::Release { .. } if task.cancel_requested => cancelled(task, Outcome::Cancelled, None),
        Verdict::Fail { outcome, error, kind } => fail(&reported(task, outcome), outcome, error.of_kind(kind), false),
        Verdict::DeadLetter { outcome, error, kind } => {
            fail(&reported(task, outcome), outcome, error.of_kind(kind), true)
        }
        Verdict::RetryIn { outcome, error, delay } => {
            charge(&reported(task, outcome), outcome, error, "retry", delay, now)
        }
        Verdict::Release { reason, delay, detail } => release(task, reason, delay, detail, now),
    }
}

/// An end that the run itself reported clears what deaths had left.
fn reported(task: &Standing, outcome: Outcome) -> Standing {
    let mut task = task.clone();
    if matches!(outcome, Outcome::Succeeded | Outcome::Failed) {
        (task.losses, task.suspect) = (0, Suspicion::None);
    }
    task.uncharged = 0;
    task
}

fn complete(task: &Standing, result: Json) -> Move {
    let mut next = reported(task, Outcome::Succeeded);
    next.status = Status::Succeeded;
    Move {
        next,
        attempt_end: Some(AttemptEnd { outcome: Outcome::Succeeded, charged: true, error: None }),
        event: Some(StateData::of(Status::Succeeded)),
        error: None,
        result: Some(result),
    }
}

fn cancelled(task: &Standing, outcome: Outcome, error: Option<TaskError>) -> Move {
    let mut next = task.clone();
    next.status = Status::Cancelled;
    Move {
        next,
        attempt_end: Some(AttemptEnd { outcome, charged: true, error }),
        event: Some(StateData::of(Status::Cancelled)),
        error: None,
        result: None,
    }
}

fn fail(task: &Standing, outcome: Outcome, error: TaskError, dead_letter: bool) -> Move {
    let mut next = task.clone();
    next.status = Status::Failed;
    next.dead_lettered = dead_letter;
    let event =
        StateData { error: Some(error.clone()), dead_lettered: Some(dead_letter), ..StateData::of(Status::Failed) };
    let unkinded = TaskError { kind: None, ..error.clone() };
    Move {
        next,
        attempt_end: Some(AttemptEnd { outcome, charged: true, error: Some(unkinded) }),
        event: Some(event),
        error: Some(error),
        result: None,
    }
}

/// A charged end that is tried again while attempts are left and the deadline allows.
fn charge(task: &Standing, outcome: Outcome, error: TaskError, reason: &str, delay: Duration, now: Timestamp) -> Move {
    if task.attempt >= task.max_attempts {
        let died = matches!(outcome, Outcome::Crashed | Outcome::Lost | Outcome::Released);
        let kind = if died { ErrorKind::Poison } else { ErrorKind::Exhausted };
        return fail(task, outcome, error.of_kind(kind), true);
    }
    let due = now.plus(delay);
    if task.deadline_at.is_some_and(|at| at <= due) {
        let detail = format!("no time is left for another attempt before the deadline; last: {error}");
        return fail(task, outcome, TaskError::new("DEADLINE_EXCEEDED", detail).of_kind(ErrorKind::Deadline), false);
    }
    requeue(task, AttemptEnd { outcome, charged: true, error: Some(error) }, reason, delay, now)
}

fn release(task: &Standing, reason: ReleaseReason, delay: Duration, detail: String, now: Timestamp) -> Move {
    let mut task = task.clone();
    if reason == ReleaseReason::HostDied {
        task.suspect = task.suspect.max(Suspicion::Host);
    }
    let error = (!detail.is_empty()).then(|| TaskError::new(&reason.as_str().to_uppercase(), detail));
    if reason.is_counted() {
        task.uncharged += 1;
        if task.uncharged >= MAX_UNCHARGED {
            task.uncharged = 0;
            let error =
                error.unwrap_or_else(|| TaskError::new("RELEASED_TOO_OFTEN", "ended without its own fault ten times"));
            return charge(&task, Outcome::Released, error, reason.as_str(), delay, now);
        }
    }
    uncharged(&task, Outcome::Released, error, reason.as_str(), delay, now)
}

fn lose(task: &Standing, backoff: Duration, now: Timestamp) -> Move {
    let error = TaskError::new("OWNER_LOST", "its node stopped renewing the lease");
    if task.cancel_requested {
        return cancelled(task, Outcome::Lost, Some(error));
    }
    let mut task = task.clone();
    task.losses += 1;
    if task.losses >= FREE_LOSSES {
        task.suspect = Suspicion::Node;
    }
    if task.losses > FREE_LOSSES {
        task.uncharged = 0;
        return charge(&task, Outcome::Lost, error, "lost", backoff, now);
    }
    let delay = if task.losses == 1 { Duration::ZERO } else { backoff };
    uncharged(&task, Outcome::Lost, Some(error), "lost", delay, now)
}

/// Gives the start back: the claim had charged it.
fn uncharged(
    task: &Standing,
    outcome: Outcome,
    error: Option<TaskError>,
    reason: &str,
    delay: Duration,
    now: Timestamp,
) -> Move {
    let mut task = task.clone();
    task.attempt = task.attempt.saturating_sub(1);
    let end = AttemptEnd { outcome, charged: false, error };
    if task.is_overdue(now) { overdue(&task, Some(end)) } else { requeue(&task, end, reason, delay, now) }
}

fn requeue(task: &Standing, end: AttemptEnd, reason: &str, delay: Duration, now: Timestamp) -> Move {
    let mut next = task.clone();
    next.status = Status::Queued;
    next.not_before = now.plus(delay);
    let event = StateData {
        reason: Some(reason.to_owned()),
        delay_ms: (!delay.is_zero()).then(|| u64::try_from(delay.as_millis()).unwrap_or(u64::MAX)),
        error: end.error.clone(),
        ..StateData::of(Status::Queued)
    };
    Move { next, attempt_end: Some(end), event: Some(event), error: None, result: None }
}

fn overdue(task: &Standing, end: Option<AttemptEnd>) -> Move {
    let error =
        TaskError::new("DEADLINE_EXCEEDED", "its deadline passed before it could run").of_kind(ErrorKind::Deadline);
    Move { attempt_end: end, ..fail(task, Outcome::Failed, error, false) }
}

fn cancel(task: &Standing, reason: Option<String>) -> Result<Move, Refusal> {
    let mut next = task.clone();
    next.cancel_requested = true;
    match task.status {
        Status::Queued => {
            next.status = Status::Cancelled;
            let event = StateData { reason, ..StateData::of(Status::Cancelled) };
            Ok(Move { next, attempt_end: None, event: Some(event), error: None, result: None })
        }
        Status::Running => Ok(Move { next, attempt_end: None, event: None, error: None, result: None }),
        _ => Err(Refusal::AlreadyFinished),
    }
}

fn expire(task: &Standing, now: Timestamp) -> Result<Move, Refusal> {
    match task.status {
        Status::Queued if task.is_overdue(now) => Ok(overdue(task, None)),
        Status::Queued => Err(Refusal::NotOverdue),
        _ => Err(Refusal::NotQueued),
    }
}

fn replay(task: &Standing, now: Timestamp) -> Result<Move, Refusal> {
    if task.status != Status::Failed {
        return Err(Refusal::NotFailed);
    }
    let next = Standing { epoch: task.epoch, life: task.life + 1, ..Standing::fresh(task.max_attempts, now, None) };
    let event = StateData { reason: Some("replay".to_owned()), ..StateData::of(Status::Queued) };
    Ok(Move { next, attempt_end: None, event: Some(event), error: None, result: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000);

    fn started(attempt: u32) -> Standing {
        Standing { status: Status::Running, epoch: Epoch(attempt.into()), attempt, ..Standing::fresh(3, NOW, None) }
    }

    fn retry() -> Command {
        let error = TaskError::new("PLUGIN_ERROR", "Inference failed: x");
        Command::Settle(Verdict::RetryIn { outcome: Outcome::Failed, error, delay: Duration::from_secs(2) })
    }

    fn released(reason: ReleaseReason) -> Command {
        Command::Settle(Verdict::Release { reason, delay: Duration::ZERO, detail: "why".into() })
    }

    #[test]
    fn a_claim_counts_and_charges() {
        let task = Standing::fresh(3, NOW, None);
        let moved = apply(&task, Command::Claim { node: NodeId("n".into()) }, NOW).unwrap();
        assert_eq!((moved.next.status, moved.next.epoch, moved.next.attempt), (Status::Running, Epoch(1), 1));
    }

    #[test]
    fn a_retry_past_the_last_attempt_is_a_dead_letter() {
        let moved = apply(&started(3), retry(), NOW).unwrap();
        assert_eq!((moved.next.status, moved.next.dead_lettered), (Status::Failed, true));
        assert_eq!(moved.error.unwrap().kind, Some(ErrorKind::Exhausted));
    }

    #[test]
    fn a_cancel_asked_for_wins_over_everything_but_success() {
        let task = Standing { cancel_requested: true, ..started(1) };
        for command in [retry(), released(ReleaseReason::Drain), Command::Lose { backoff: Duration::ZERO }] {
            assert_eq!(apply(&task, command, NOW).unwrap().next.status, Status::Cancelled);
        }
        let done = Command::Settle(Verdict::Complete { result: Json::null() });
        assert_eq!(apply(&task, done, NOW).unwrap().next.status, Status::Succeeded);
    }

    #[test]
    fn an_uncharged_release_gives_the_start_back_until_the_tenth() {
        let mut task = started(1);
        for n in 1..MAX_UNCHARGED {
            let moved = apply(&task, released(ReleaseReason::ActorDied), NOW).unwrap();
            assert_eq!((moved.next.attempt, moved.next.uncharged), (0, n));
            task = apply(&moved.next, Command::Claim { node: NodeId("n".into()) }, NOW).unwrap().next;
        }
        let tenth = apply(&task, released(ReleaseReason::ActorDied), NOW).unwrap();
        assert_eq!((tenth.next.attempt, tenth.next.uncharged), (1, 0));
        assert!(tenth.attempt_end.unwrap().charged);
    }

    #[test]
    fn a_task_that_kills_its_node_ends_after_two_free_losses_and_its_attempts() {
        let mut task = Standing::fresh(3, NOW, None);
        let mut starts = 0;
        while task.status == Status::Queued {
            task = apply(&task, Command::Claim { node: NodeId("n".into()) }, task.not_before).unwrap().next;
            starts += 1;
            task = apply(&task, Command::Lose { backoff: Duration::from_secs(1) }, NOW).unwrap().next;
        }
        assert_eq!((starts, task.status, task.dead_lettered), (5, Status::Failed, true));
    }

    #[test]
    fn only_an_end_that_the_run_reported_clears_suspicion() {
        let suspect = Standing { suspect: Suspicion::Node, losses: 2, ..started(1) };
        let crashed = Command::Settle(Verdict::RetryIn {
            outcome: Outcome::Crashed,
            error: TaskError::new("HOST_DIED", "signal 9"),
            delay: Duration::ZERO,
        });
        assert_eq!(apply(&suspect, crashed, NOW).unwrap().next.suspect, Suspicion::Node);
        assert_eq!(apply(&suspect, retry(), NOW).unwrap().next.suspect, Suspicion::None);
    }

    #[test]
    fn an_end_changes_only_by_replay() {
        for status in [Status::Succeeded, Status::Failed, Status::Cancelled] {
            let task = Standing { status, ..started(1) };
            for command in [
                Command::Claim { node: NodeId("n".into()) },
                retry(),
                Command::Cancel { reason: None },
                Command::Expire,
            ] {
                assert!(apply(&task, command, NOW).is_err());
            }
            assert_eq!(apply(&task, Command::Replay, NOW).is_ok(), status == Status::Failed);
        }
    }

    #[test]
    fn no_attempt_is_planned_beyond_the_deadline() {
        let task = Standing { deadline_at: Some(NOW.plus(Duration::from_secs(1))), ..started(1) };
        let moved = apply(&task, retry(), NOW).unwrap();
        assert_eq!(moved.error.unwrap().kind, Some(ErrorKind::Deadline));
    }
}
