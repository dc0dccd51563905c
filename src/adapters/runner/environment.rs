//! What a worker finds in its environment.
//!
//! Hosts inherit the node's environment (plugins need their `HOME`, proxies, CUDA settings) but for what is the node's
//! own: every `WINDLASS_` variable, what a service manager gave it, and every variable that holds one of its secrets.

#![allow(clippy::disallowed_methods, reason = "passes the environment on to workers, whatever is in it")]

use std::ffi::{OsStr, OsString};
use std::path::Path;

use serde::Serialize;
use windlass_actors::ports::runner::HostSpec;

/// Names the node in each of its hosts' processes.
pub(super) const NODE_MARK: &str = "WINDLASS_NODE_MARK";
/// Names the host in each of its processes.
pub(super) const HOST_MARK: &str = "WINDLASS_HOST_MARK";

const SERVICE_MANAGER: [&str; 5] = ["NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "WATCHDOG_USEC"];

pub(super) type Environment = Vec<(OsString, OsString)>;

/// The part that all hosts of a node share.
pub(super) fn inherited(secrets: &[String]) -> Environment {
    std::env::vars_os().filter(|(name, value)| is_foreign(name) && !holds_any(value, secrets)).collect()
}

fn is_foreign(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    !name.starts_with("WINDLASS_") && !SERVICE_MANAGER.contains(&name.as_ref())
}

fn holds_any(value: &OsStr, secrets: &[String]) -> bool {
    let value = value.to_string_lossy();
    secrets.iter().any(|secret| !secret.is_empty() && value.contains(secret.as_str()))
}

/// What makes a Python process one of ours: the SDK on its path (before the user's own), the protocol, the marks.
pub(super) fn python(shared: &Environment, sdk: &Path, node_mark: &str, host_mark: &str) -> Environment {
    let mut all: Environment = shared.iter().filter(|(name, _)| name != "PYTHONPATH").cloned().collect();
    let theirs = shared.iter().find(|(name, _)| name == "PYTHONPATH").map(|(_, value)| value.as_os_str());
    let mut set = |name: &str, value: OsString| all.push((name.into(), value));
    set("PYTHONPATH", python_path(sdk, theirs));
    set("PYTHONUNBUFFERED", "1".into());
    set("WINDLASS_FD", super::shim::PROTOCOL_FD.to_string().into());
    set(NODE_MARK, node_mark.into());
    set(HOST_MARK, host_mark.into());
    all
}

fn python_path(sdk: &Path, theirs: Option<&OsStr>) -> OsString {
    let mut path = sdk.as_os_str().to_owned();
    if let Some(theirs) = theirs.filter(|t| !t.is_empty()) {
        path.push(":");
        path.push(theirs);
    }
    path
}

#[derive(Serialize)]
struct Plan<'a> {
    group: &'a str,
    files: Vec<&'a str>,
    types: serde_json::Map<String, serde_json::Value>,
}

/// The value of `WINDLASS_HOST`: what the host loads and serves.
pub(super) fn plan(spec: &HostSpec) -> String {
    let mut files: Vec<&str> = Vec::new();
    for file in spec.types.iter().filter_map(|t| t.plugin.as_deref()) {
        if !files.contains(&file) {
            files.push(file);
        }
    }
    let types =
        spec.types.iter().map(|t| (t.name.to_string(), serde_json::json!({ "threads": t.worker_threads }))).collect();
    // Strings and numbers always serialize.
    serde_json::to_string(&Plan { group: &spec.group, files, types }).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_that_holds_a_secret_is_not_inherited() {
        let secret = vec!["s3cr3t".to_owned()];
        assert!(holds_any(OsStr::new("postgres://u:s3cr3t@h/db"), &secret));
        assert!(!holds_any(OsStr::new("postgres://u:other@h/db"), &secret));
        assert!(!holds_any(OsStr::new("anything"), &[String::new()]));
        assert!(!is_foreign(OsStr::new("WINDLASS_DATABASE_URL")) && !is_foreign(OsStr::new("NOTIFY_SOCKET")));
        assert!(is_foreign(OsStr::new("HOME")));
    }

    #[test]
    fn the_users_own_python_path_comes_after_the_sdk() {
        let shared = vec![("PYTHONPATH".into(), "/mine".into())];
        let all = python(&shared, Path::new("/sdk"), "n", "h");
        let paths: Vec<_> = all.iter().filter(|(name, _)| name == "PYTHONPATH").collect();
        assert_eq!(paths, [&("PYTHONPATH".into(), "/sdk:/mine".into())]);
    }
}
