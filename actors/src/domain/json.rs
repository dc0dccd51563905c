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

/// How deep a value may be nested. Readers commonly stop at 128 levels of a whole answer; ours adds a few of its own.
pub const MOST_NESTED: usize = 100;

impl Json {
    /// How deep a JSON text is nested: 0 for a scalar, 1 for `[1]`. Does not recurse, so any depth can be asked for.
    pub fn depth_of(text: &str) -> usize {
        let (mut depth, mut deepest, mut quoted, mut escaped) = (0_usize, 0, false, false);
        for byte in text.bytes() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' if quoted => escaped = true,
                b'"' => quoted = !quoted,
                b'[' | b'{' if !quoted => {
                    depth += 1;
                    deepest = deepest.max(depth);
                }
                b']' | b'}' if !quoted => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        deepest
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_counts_brackets_that_are_not_text() {
        for (text, depth) in [("1", 0), (r#""[[[""#, 0), (r#""\"[""#, 0), ("[]", 1), (r#"{"a":[{"b":"]"}]}"#, 3)] {
            assert_eq!(Json::depth_of(text), depth, "{text}");
        }
        assert_eq!(Json::depth_of(&"[".repeat(1_000_000)), 1_000_000);
    }
}
