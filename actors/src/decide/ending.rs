//! What a run's end means, given what we had asked of it.

use std::time::Duration;

use crate::domain::{EndReason, Ending, Json, ReleaseReason, TaskError};

/// How a run was over, as seen from its host.
#[derive(Clone, PartialEq, Debug)]
pub enum RunOver {
    Done {
        result: Json,
    },
    Failed {
        error: TaskError,
        permanent: bool,
        retry_after: Option<Duration>,
    },
    /// It stopped, saying that it was asked to.
    Stopped,
    /// No host took it.
    NotSeated {
        retry_after: Option<Duration>,
    },
    /// The host died by itself.
    HostDied {
        error: TaskError,
        alone: bool,
    },
    /// We killed its host because of it.
    Killed,
    /// We killed its host because of another run.
    NeighbourKilled,
    /// The actor that owned its host died, and the host with it.
    HostActorDied,
}

/// The ending. `asked` is why we had asked the run to stop, if we had. Success before the run is stopped stays success;
/// everything else after a stop is the stop's.
pub fn ending(asked: Option<EndReason>, over: RunOver, timeout: Option<Duration>) -> Ending {
    match (asked, over) {
        (Some(EndReason::Lost), _) => Ending::Stopped { reason: EndReason::Lost },
        (_, RunOver::Done { result }) => Ending::Succeeded { result },
        (Some(EndReason::Drain), RunOver::NotSeated { .. }) => {
            Ending::NotStarted { reason: ReleaseReason::NotBegun, retry_after: None }
        }
        (Some(EndReason::Timeout), _) => Ending::TimedOut { after: timeout.unwrap_or_default() },
        (Some(EndReason::Deadline), _) => Ending::DeadlinePassed,
        (Some(reason), _) => Ending::Stopped { reason },
        (None, over) => unasked(over),
    }
}

fn unasked(over: RunOver) -> Ending {
    match over {
        RunOver::Done { result } => Ending::Succeeded { result },
        RunOver::Failed { error, permanent, retry_after } => Ending::Failed { error, permanent, retry_after },
        RunOver::Stopped => Ending::Failed {
            error: TaskError::new("STOPPED_UNASKED", "it said that it was cancelled, but nobody had asked for that"),
            permanent: false,
            retry_after: None,
        },
        RunOver::NotSeated { retry_after } => Ending::NotStarted { reason: ReleaseReason::NoHost, retry_after },
        RunOver::HostDied { error, alone } => Ending::HostDied { error, alone },
        RunOver::Killed | RunOver::NeighbourKilled => Ending::NeighbourKilled,
        RunOver::HostActorDied => Ending::ActorDied { began: true, detail: "the actor of its host died".to_owned() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed() -> RunOver {
        RunOver::Failed { error: TaskError::new("X", "y"), permanent: true, retry_after: None }
    }

    #[test]
    fn success_stays_success_after_every_stop_but_a_lost_lease() {
        let done = || RunOver::Done { result: Json::null() };
        for reason in [EndReason::Cancel, EndReason::Timeout, EndReason::Deadline, EndReason::Drain] {
            assert!(matches!(ending(Some(reason), done(), None), Ending::Succeeded { .. }));
        }
        assert_eq!(ending(Some(EndReason::Lost), done(), None), Ending::Stopped { reason: EndReason::Lost });
    }

    #[test]
    fn an_error_in_answer_to_a_stop_is_the_stop() {
        let limit = Some(Duration::from_secs(5));
        assert_eq!(
            ending(Some(EndReason::Timeout), failed(), limit),
            Ending::TimedOut { after: Duration::from_secs(5) }
        );
        assert_eq!(
            ending(Some(EndReason::Timeout), RunOver::Killed, limit),
            Ending::TimedOut { after: Duration::from_secs(5) }
        );
        assert_eq!(ending(Some(EndReason::Drain), failed(), None), Ending::Stopped { reason: EndReason::Drain });
        assert!(matches!(ending(None, failed(), None), Ending::Failed { permanent: true, .. }));
    }
}
