//! From how an attempt ended to what is written (design, section 5).

use std::time::Duration;

use super::retry::{RetryPolicy, delay};
use crate::domain::{EndReason, Ending, ErrorKind, Outcome, ReleaseReason, Status, TaskError, Verdict};

/// What the verdict depends on besides the ending.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Circumstances {
    /// Charged starts, this one included.
    pub attempt: u32,
    pub max_attempts: u32,
    pub retry: RetryPolicy,
    /// Uniform in [0, 1).
    pub dice: f64,
}

/// What to write, or nothing: a lost attempt is written by who took it.
pub fn verdict(ending: Ending, now: &Circumstances) -> Option<Verdict> {
    Some(match ending {
        Ending::Succeeded { result } => Verdict::Complete { result },
        Ending::Failed { error, permanent: true, .. } => {
            Verdict::Fail { outcome: Outcome::Failed, error, kind: ErrorKind::Permanent }
        }
        Ending::Failed { error, retry_after, .. } => again(Outcome::Failed, error, retry_after, now),
        Ending::TimedOut { after } => again(Outcome::TimedOut, timed_out(after), None, now),
        Ending::DeadlinePassed => Verdict::Fail {
            outcome: Outcome::TimedOut,
            error: TaskError::new("DEADLINE_EXCEEDED", "its deadline passed while it ran"),
            kind: ErrorKind::Deadline,
        },
        Ending::HostDied { error, alone: true } => again(Outcome::Crashed, error, None, now),
        Ending::HostDied { error, alone: false } => released(ReleaseReason::HostDied, error.to_string()),
        Ending::NeighbourKilled => {
            released(ReleaseReason::NeighbourKilled, "its host was killed for another run".to_owned())
        }
        Ending::NotStarted { reason, retry_after } => {
            let delay = retry_after.unwrap_or_default();
            Verdict::Release { reason, delay, detail: "it never began".to_owned() }
        }
        Ending::ActorDied { began: true, detail } => released(ReleaseReason::ActorDied, detail),
        Ending::ActorDied { began: false, detail } => released(ReleaseReason::NotBegun, detail),
        Ending::Stopped { reason } => return stopped(reason, now),
    })
}

/// The outcome that an attempt is recorded with, from the verdict and what the task became: a result may have been too
/// large, and a cancel asked for makes of a release a cancel. A failure keeps its label even if its task is cancelled.
pub fn recorded(verdict: &Verdict, status: Status) -> Outcome {
    match (verdict, status) {
        (Verdict::Complete { .. }, Status::Succeeded) => Outcome::Succeeded,
        (Verdict::Complete { .. }, _) => Outcome::Failed,
        (Verdict::Cancel, _) | (Verdict::Release { .. }, Status::Cancelled) => Outcome::Cancelled,
        (Verdict::Release { .. }, _) => Outcome::Released,
        (Verdict::Fail { outcome, .. } | Verdict::RetryIn { outcome, .. } | Verdict::DeadLetter { outcome, .. }, _) => {
            *outcome
        }
    }
}

fn stopped(reason: EndReason, now: &Circumstances) -> Option<Verdict> {
    match reason {
        EndReason::Cancel => Some(Verdict::Cancel),
        EndReason::Drain => Some(released(ReleaseReason::Drain, "its node was asked to stop".to_owned())),
        EndReason::Timeout => verdict(Ending::TimedOut { after: Duration::ZERO }, now),
        EndReason::Deadline => verdict(Ending::DeadlinePassed, now),
        EndReason::Lost => None,
    }
}

fn released(reason: ReleaseReason, detail: String) -> Verdict {
    Verdict::Release { reason, delay: Duration::ZERO, detail }
}

fn timed_out(after: Duration) -> TaskError {
    TaskError::new("TIMED_OUT", format!("it ran longer than its timeout of {:.3} s", after.as_secs_f64()))
}

/// Another try while attempts are left, else the waiting room.
fn again(outcome: Outcome, error: TaskError, retry_after: Option<Duration>, now: &Circumstances) -> Verdict {
    if now.attempt < now.max_attempts {
        let delay = retry_after.unwrap_or_else(|| delay(now.retry, now.attempt, now.dice));
        return Verdict::RetryIn { outcome, error, delay };
    }
    let kind = if outcome == Outcome::Crashed { ErrorKind::Poison } else { ErrorKind::Exhausted };
    Verdict::DeadLetter { outcome, error, kind }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Command, Json, Standing, Timestamp, apply};

    fn at(attempt: u32) -> Circumstances {
        let retry = RetryPolicy { base: Duration::from_secs(2), cap: Duration::from_secs(300) };
        Circumstances { attempt, max_attempts: 3, retry, dice: 0.5 }
    }

    fn failed(permanent: bool, retry_after: Option<Duration>) -> Ending {
        Ending::Failed { error: TaskError::new("PLUGIN_ERROR", "429 in the text"), permanent, retry_after }
    }

    #[test]
    fn a_retryable_failure_is_tried_again_until_attempts_are_spent() {
        assert!(
            matches!(verdict(failed(false, None), &at(2)), Some(Verdict::RetryIn { delay, .. }) if delay.as_secs() == 2)
        );
        let spent = verdict(failed(false, None), &at(3));
        assert!(matches!(spent, Some(Verdict::DeadLetter { kind: ErrorKind::Exhausted, .. })));
    }

    #[test]
    fn a_permanent_failure_is_final_whatever_its_text_says() {
        let ended = verdict(failed(true, None), &at(1));
        assert!(matches!(ended, Some(Verdict::Fail { kind: ErrorKind::Permanent, .. })));
    }

    #[test]
    fn the_plugins_own_delay_is_taken() {
        let asked = Duration::from_secs(1234);
        assert!(
            matches!(verdict(failed(false, Some(asked)), &at(1)), Some(Verdict::RetryIn { delay, .. }) if delay == asked)
        );
    }

    #[test]
    fn a_host_that_died_with_several_runs_charges_none_of_them() {
        let error = || TaskError::new("HOST_SIGNALLED", "signal 9");
        let alone = verdict(Ending::HostDied { error: error(), alone: true }, &at(3));
        assert!(matches!(alone, Some(Verdict::DeadLetter { kind: ErrorKind::Poison, .. })));
        let shared = verdict(Ending::HostDied { error: error(), alone: false }, &at(3));
        assert!(matches!(shared, Some(Verdict::Release { reason: ReleaseReason::HostDied, .. })));
    }

    /// Held against the table itself: whatever it makes of a verdict is what the metrics count.
    #[test]
    fn the_outcome_counted_is_the_one_recorded() {
        let now = Timestamp(1_000_000);
        let error = || TaskError::new("X", "y");
        let verdicts = [
            Verdict::Complete { result: Json::null() },
            Verdict::Cancel,
            Verdict::Fail { outcome: Outcome::TimedOut, error: error(), kind: ErrorKind::Deadline },
            Verdict::RetryIn { outcome: Outcome::Crashed, error: error(), delay: Duration::ZERO },
            Verdict::DeadLetter { outcome: Outcome::Failed, error: error(), kind: ErrorKind::Exhausted },
            released(ReleaseReason::Drain, String::new()),
            released(ReleaseReason::ActorDied, String::new()),
        ];
        for verdict in verdicts {
            for (cancel_requested, overdue, uncharged) in
                [(false, false, 0), (true, false, 0), (false, true, 0), (false, false, 9)]
            {
                let task = Standing {
                    status: Status::Running,
                    attempt: 3,
                    cancel_requested,
                    uncharged,
                    ..Standing::fresh(3, now, overdue.then_some(now))
                };
                let moved = apply(&task, Command::Settle(verdict.clone()), now).unwrap();
                let written = moved.attempt_end.unwrap().outcome;
                assert_eq!(recorded(&verdict, moved.next.status), written, "{verdict:?} {cancel_requested} {overdue}");
            }
        }
        // and what a store makes of a result that is too large
        let complete = Verdict::Complete { result: Json::null() };
        assert_eq!(recorded(&complete, Status::Failed), Outcome::Failed);
        assert_eq!(recorded(&complete, Status::Cancelled), Outcome::Failed);
    }

    #[test]
    fn a_lost_attempt_is_written_by_who_took_it() {
        assert_eq!(verdict(Ending::Stopped { reason: EndReason::Lost }, &at(1)), None);
    }

    #[test]
    fn success_is_complete_in_every_attempt() {
        let done = verdict(Ending::Succeeded { result: Json::null() }, &at(3));
        assert!(matches!(done, Some(Verdict::Complete { .. })));
    }
}
