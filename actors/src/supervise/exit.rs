//! How an actor ended, as one closed enum.
//!
//! ractor tells it by a string (a stop) or a boxed error (a panic and an `Err` look alike). The two are read here and
//! nowhere else. An `Err` is told from a panic because [`supervised`](super::supervised) wraps each `Err` in a type of ours.

use std::fmt;

use ractor::{ActorCell, ActorProcessingErr, SpawnErr, SupervisionEvent};
use serde::Serialize;

/// The reason given when a supervisor or a chaos order stops an actor.
pub(super) const ASKED: &str = "windlass: asked to stop";

const DRAINED: &str = "Drained";
const KILLED: &str = "killed";
const TASK_CANCELLED: &str = "actor_task_cancelled";
const KILLED_IN_START: &str = "Actor killed during startup";
const PARENT_GONE: &str = "Supervisor is shutting down";

/// How an actor ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// It stopped itself: its work is over.
    Done,
    /// It was asked to stop, by its supervisor or by [`Roster::kill`](super::Roster::kill).
    Stopped,
    /// It handled what was queued and ended.
    Drained,
    /// It was killed: what it did was cut off at an await.
    Killed,
    /// It panicked, with these words.
    Panicked(String),
    /// It returned an error, with these words.
    Failed(String),
}

impl Exit {
    /// Reads a supervision event; `None` if nothing ended.
    pub fn of(event: SupervisionEvent) -> Option<(ActorCell, Self)> {
        match event {
            SupervisionEvent::ActorTerminated(who, _, reason) => Some((who, Self::of_reason(reason.as_deref()))),
            SupervisionEvent::ActorFailed(who, error) => Some((who, Self::of_error(&error))),
            _ => None,
        }
    }

    /// Whether the end was nobody's wish: a panic, an error or a kill.
    pub fn is_crash(&self) -> bool {
        matches!(self, Self::Killed | Self::Panicked(_) | Self::Failed(_))
    }

    /// Reads why a start failed; ractor sends no event for that.
    pub(super) fn of_start(error: &SpawnErr) -> Self {
        let SpawnErr::StartupFailed(cause) = error else {
            return Self::Failed(error.to_string());
        };
        match cause.to_string().as_str() {
            KILLED_IN_START => Self::Killed,
            PARENT_GONE => Self::Stopped,
            _ => Self::of_error(cause),
        }
    }

    fn of_reason(reason: Option<&str>) -> Self {
        match reason {
            Some(ASKED) => Self::Stopped,
            Some(DRAINED) => Self::Drained,
            Some(KILLED | TASK_CANCELLED) => Self::Killed,
            _ => Self::Done,
        }
    }

    fn of_error(error: &ActorProcessingErr) -> Self {
        match error.downcast_ref::<Failure>() {
            Some(failure) => Self::Failed(failure.0.clone()),
            None => Self::Panicked(error.to_string()),
        }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done => f.write_str("done"),
            Self::Stopped => f.write_str("stopped"),
            Self::Drained => f.write_str("drained"),
            Self::Killed => f.write_str("killed"),
            Self::Panicked(words) => write!(f, "panicked: {words}"),
            Self::Failed(words) => write!(f, "failed: {words}"),
        }
    }
}

/// An `Err` of an actor, marked so that it is not taken for a panic.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Failure(String);

impl Failure {
    pub(super) fn boxed(words: impl Into<String>) -> ActorProcessingErr {
        Box::new(Self(words.into()))
    }

    /// Marks an actor's error, with its causes in words.
    pub(super) fn mark(error: ActorProcessingErr) -> ActorProcessingErr {
        let mut words = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            words.push_str(": ");
            words.push_str(&error.to_string());
            cause = error.source();
        }
        Self::boxed(words)
    }
}

/// The words of a caught panic.
pub(super) fn panic_words(panic: Box<dyn std::any::Any + Send>) -> String {
    match panic.downcast::<String>() {
        Ok(words) => *words,
        Err(panic) => match panic.downcast_ref::<&str>() {
            Some(words) => (*words).to_owned(),
            None => "a panic without words".to_owned(),
        },
    }
}
