//! Why a task or an attempt failed.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Which end a failure is; `None` on an attempt that will be retried.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ErrorKind {
    /// The plugin or the payload said it will never work.
    Permanent,
    /// The attempts are spent.
    Exhausted,
    /// The attempts were spent by deaths of its host or node.
    Poison,
    /// Its deadline passed.
    Deadline,
}

impl ErrorKind {
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorKind::Permanent => "permanent",
            ErrorKind::Exhausted => "exhausted",
            ErrorKind::Poison => "poison",
            ErrorKind::Deadline => "deadline",
        }
    }

    pub fn parse(text: &str) -> Option<ErrorKind> {
        [ErrorKind::Permanent, ErrorKind::Exhausted, ErrorKind::Poison, ErrorKind::Deadline]
            .into_iter()
            .find(|k| k.as_str() == text)
    }
}

/// A failure: a stable code (`UPPER_SNAKE`), a text for people, and the kind once it is an end.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TaskError {
    pub code: String,
    pub detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<ErrorKind>,
}

impl TaskError {
    pub fn new(code: &str, detail: impl Into<String>) -> Self {
        TaskError { code: code.to_owned(), detail: detail.into(), kind: None }
    }

    pub fn of_kind(mut self, kind: ErrorKind) -> Self {
        self.kind = Some(kind);
        self
    }
}

impl fmt::Display for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.detail)
    }
}
