//! Names and numbers by which things are known.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A task's id: a UUIDv7, so that ids sort by age.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TaskId(pub Uuid);

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

impl FromStr for TaskId {
    type Err = uuid::Error;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Uuid::parse_str(text).map(TaskId)
    }
}

/// The fencing token: grows by one at each claim of a task; 0 before the first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Epoch(pub i64);

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One life of a node's process: each start is a new one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Incarnation(pub Uuid);

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

/// A node's lasting name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeId(pub String);

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A task type's name, `[a-z0-9][a-z0-9_-]{0,63}`: safe in queue names, paths and metric labels.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TypeName(std::sync::Arc<str>);

/// A text that is no type name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadName(pub String);

impl fmt::Display for BadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: String = self.0.chars().take(80).collect();
        write!(f, "`{shown}` is no type name: allowed is `[a-z0-9][a-z0-9_-]{{0,63}}`")
    }
}

impl std::error::Error for BadName {}

impl TypeName {
    /// Reads a name, or says what is allowed.
    pub fn new(text: &str) -> Result<Self, BadName> {
        let lower = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
        let legal = match text.as_bytes() {
            [] => false,
            [first, rest @ ..] => {
                lower(*first) && rest.len() < 64 && rest.iter().all(|&c| lower(c) || c == b'_' || c == b'-')
            }
        };
        if legal { Ok(TypeName(text.into())) } else { Err(BadName(text.to_owned())) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for TypeName {
    type Error = BadName;
    fn try_from(text: String) -> Result<Self, BadName> {
        TypeName::new(&text)
    }
}

impl From<TypeName> for String {
    fn from(name: TypeName) -> String {
        name.0.to_string()
    }
}

impl fmt::Display for TypeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_name_is_what_the_contract_allows() {
        for good in ["a", "hello", "0-9_a", &"x".repeat(64)] {
            assert!(TypeName::new(good).is_ok(), "{good}");
        }
        for bad in ["", "-a", "_a", "A", "a b", "a.b", "é", &"x".repeat(65)] {
            assert!(TypeName::new(bad).is_err(), "{bad}");
        }
    }
}
