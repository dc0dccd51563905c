//! JSON texts that pass through unparsed: payloads, parameters, results, checkpoints, event data.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A JSON text, checked where it came in and not parsed since.
///
/// Serializes as a text: who embeds it in a larger JSON document does so as raw JSON (at the edge).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Json(Arc<str>);

/// A text that is not one JSON value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadJson(pub String);

impl fmt::Display for BadJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a JSON value: {}", self.0)
    }
}

impl std::error::Error for BadJson {}

impl Json {
    /// Takes a text that the caller knows to be one JSON value.
    pub fn trusted(text: impl Into<Arc<str>>) -> Self {
        Json(text.into())
    }

    /// The text `{}`.
    pub fn empty_object() -> Self {
        Json("{}".into())
    }

    /// The text `null`.
    pub fn null() -> Self {
        Json("null".into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
