//! What a gateway is told: keys, limits, policy.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// What a key may do; each role includes the ones before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Reads its owner's tasks, and the cluster's types, nodes and figures.
    Read,
    /// Creates tasks; cancels and replays its owner's.
    Submit,
    /// Everything, for every owner.
    Operate,
}

impl Role {
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Submit => "submit",
            Role::Read => "read",
            Role::Operate => "operate",
        }
    }
}

/// A key of the API. Only the hash of its secret is kept.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey {
    pub name: String,
    pub secret_sha256: [u8; 32],
    pub owner: String,
    pub role: Role,
    /// Passed to the tasks created with this key.
    pub client_role: Option<String>,
}

impl ApiKey {
    /// Takes the secret and keeps its hash.
    pub fn new(name: impl Into<String>, secret: &str, owner: impl Into<String>, role: Role) -> Self {
        let secret_sha256 = Sha256::digest(secret.as_bytes()).into();
        ApiKey { name: name.into(), secret_sha256, owner: owner.into(), role, client_role: None }
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiKey {{ name: {:?}, owner: {:?}, role: {:?}, .. }}", self.name, self.owner, self.role)
    }
}

/// What becomes of a task whose type is known, but served by nobody now.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Offline {
    /// Refused with 503 and `Retry-After`.
    #[default]
    Reject,
    /// Taken, to wait.
    Accept,
}

/// A gateway's settings, resolved.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    /// Empty: everybody who reaches us may do everything, as owner `default_owner`. Such a gateway binds to loopback
    /// only; that rule is the configuration's.
    pub keys: Vec<ApiKey>,
    pub default_owner: String,
    pub offline: Offline,
    /// Bytes of a task's payload.
    pub max_payload: usize,
    pub max_connections: usize,
    pub max_streams: usize,
    /// A node that was not heard for that long serves nothing.
    pub believed: Duration,
    /// How long a call of the store may take until the caller is told that it is unavailable.
    pub store_timeout: Duration,
    /// Between the comments that keep proxies from closing a stream.
    pub heartbeat: Duration,
    /// A reader whose socket takes nothing for that long is dropped.
    pub write_timeout: Duration,
    /// How long a request's head, or its body, may take to arrive.
    pub read_timeout: Duration,
    /// How long requests under way may take once the gateway was asked to stop.
    pub drain_grace: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            keys: Vec::new(),
            default_owner: "default".to_owned(),
            offline: Offline::Reject,
            max_payload: 1024 * 1024,
            max_connections: 4096,
            max_streams: 2048,
            believed: Duration::from_secs(30),
            store_timeout: Duration::from_secs(10),
            heartbeat: Duration::from_secs(15),
            write_timeout: Duration::from_secs(30),
            read_timeout: Duration::from_secs(30),
            drain_grace: Duration::from_secs(5),
        }
    }
}

impl Settings {
    /// Bytes of a request's body: a payload and what goes with it.
    pub fn max_body(&self) -> usize {
        self.max_payload.saturating_add(256 * 1024)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_never_shows_its_secret() {
        let key = ApiKey::new("ci", "hunter2", "team", Role::Submit);
        let shown = format!("{key:?}");
        assert!(shown.contains("ci") && !shown.contains("hunter2") && !shown.contains("sha256"), "{shown}");
    }
}
