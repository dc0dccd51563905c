//! What `windlass.describe` says, and the types it makes with the configuration's overrides.

use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use windlass_actors::domain::{CredentialMode, Json, Kind, TaskType, TypeName};

use super::discover::{DiscoverOptions, FaultKind, PluginFault, TypeOverride};

/// The body of the one frame that a describing process sends.
#[derive(Deserialize, Debug)]
pub(super) struct Described {
    pub python: String,
    pub executable: String,
    pub files: Vec<File>,
}

#[derive(Deserialize, Debug)]
pub(super) struct File {
    pub path: String,
    sha256: Option<String>,
    pub error: Option<Raised>,
    #[serde(default)]
    pub types: Vec<Registered>,
}

#[derive(Deserialize, Debug)]
pub(super) struct Raised {
    kind: String,
    message: String,
    traceback: Option<String>,
}

#[derive(Deserialize, Debug)]
pub(super) struct Registered {
    pub name: String,
    description: Option<String>,
    worker_threads: Option<u32>,
    processes: Option<u32>,
    timeout_seconds: Option<f64>,
    start_timeout_seconds: Option<f64>,
    max_attempts: Option<u32>,
    memory_mb: Option<u64>,
    max_tasks_per_process: Option<u64>,
    host_group: Option<String>,
    gpu: Option<Box<RawValue>>,
    credential_mode: Option<CredentialMode>,
    metadata_version: Option<i64>,
    payload_schema: Option<Box<RawValue>>,
}

/// The types of those files, each with its override; files and types at fault are told and left out.
pub(super) fn types(files: Vec<File>, options: &DiscoverOptions, faults: &mut Vec<PluginFault>) -> Vec<TaskType> {
    let mut types = Vec::new();
    for File { path, sha256, error, types: registered } in files {
        if let Some(Raised { kind, message, traceback }) = error {
            let message = format!("{kind}: {message}");
            faults.push(PluginFault { file: path, kind: FaultKind::Raised(kind), message, traceback });
            continue;
        }
        for mut one in registered {
            let set = options.overrides.get(&one.name).cloned().unwrap_or_default();
            one.max_attempts = one.max_attempts.or(Some(options.max_attempts));
            match task_type(one, set, &path, sha256.clone()) {
                Ok(task_type) => types.push(task_type),
                Err((kind, message)) => {
                    faults.push(PluginFault { file: path.clone(), kind, message, traceback: None });
                }
            }
        }
    }
    types
}

type Fault = (FaultKind, String);

fn task_type(one: Registered, set: TypeOverride, path: &str, sha256: Option<String>) -> Result<TaskType, Fault> {
    let name = TypeName::new(&one.name).map_err(|e| (FaultKind::Invalid, e.to_string()))?;
    refuse_unserved(&one)?;
    let invalid = |what: &str| (FaultKind::Invalid, format!("the type `{name}` has a `{what}` that can't be"));
    let mut made = TaskType::new(name.clone(), Kind::Python);
    made.worker_threads = set.worker_threads.or(one.worker_threads).unwrap_or(made.worker_threads);
    made.processes = set.processes.or(one.processes).unwrap_or(made.processes);
    made.max_attempts = set.max_attempts.or(one.max_attempts).unwrap_or(made.max_attempts);
    made.timeout = set.timeout.or(seconds(one.timeout_seconds).ok_or_else(|| invalid("timeout_seconds"))?);
    let start = seconds(one.start_timeout_seconds).ok_or_else(|| invalid("start_timeout_seconds"))?;
    made.start_timeout = set.start_timeout.or(start).unwrap_or(made.start_timeout);
    made.host_group = set.host_group.or(one.host_group).unwrap_or(made.host_group);
    made.memory_mb = set.memory_mb.or(one.memory_mb);
    made.max_tasks_per_process = set.max_tasks_per_process.or(one.max_tasks_per_process);
    made.max_timeout = set.max_timeout;
    made.max_running = set.max_running;
    made.starts_per_minute = set.starts_per_minute;
    made.python = set.python;
    made.description = one.description;
    made.metadata_version = one.metadata_version.unwrap_or(made.metadata_version);
    made.payload_schema = one.payload_schema.map(|schema| Json::trusted(schema.get()));
    made.plugin = Some(path.to_owned());
    made.plugin_sha256 = sha256;
    if made.max_attempts == 0 {
        return Err(invalid("max_attempts"));
    }
    bounded(&made).map_err(|message| (FaultKind::Invalid, message))?;
    Ok(made)
}

/// Whoever said it, plugin or configuration: a node must be able to start that many hosts and threads.
fn bounded(made: &TaskType) -> Result<(), String> {
    let (name, most) = (&made.name, TaskType::MAX_OF_EACH);
    for (value, what) in [(made.processes, "processes"), (made.worker_threads, "worker_threads")] {
        if !(1..=most).contains(&value) {
            return Err(format!("the type `{name}` has {value} `{what}`; allowed are 1 to {most}"));
        }
    }
    let (slots, most) = (made.slots(), TaskType::MAX_SLOTS);
    match slots > most {
        true => {
            Err(format!("the type `{name}` has `processes × worker_threads` of {slots}; allowed are {most} at most"))
        }
        false => Ok(()),
    }
}

/// Better told at the start than found out by a task.
fn refuse_unserved(one: &Registered) -> Result<(), Fault> {
    let name = &one.name;
    if !matches!(one.credential_mode, None | Some(CredentialMode::None)) {
        return Err((FaultKind::Unsupported, format!("the type `{name}`: caller credentials are not served yet")));
    }
    if one.gpu.is_some() {
        return Err((FaultKind::Unsupported, format!("the type `{name}`: `gpu` is not served yet")));
    }
    Ok(())
}

/// `None` if the number is no time.
fn seconds(given: Option<f64>) -> Option<Option<Duration>> {
    match given {
        None => Some(None),
        Some(seconds) => Duration::try_from_secs_f64(seconds).ok().filter(|d| !d.is_zero()).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(processes: u32, worker_threads: u32) -> Result<(), String> {
        let made = TaskType::new(TypeName::new("x").unwrap(), Kind::Python);
        bounded(&TaskType { processes, worker_threads, ..made })
    }

    #[test]
    fn slots_are_bounded_whoever_says_them() {
        assert!(bounds(1, 1).is_ok() && bounds(256, 4).is_ok() && bounds(4, 256).is_ok());
        for (processes, worker_threads) in [(0, 1), (1, 0), (257, 1), (1, 257), (1_000_000, 1), (256, 5)] {
            assert!(bounds(processes, worker_threads).is_err(), "{processes} × {worker_threads}");
        }
        assert!(bounds(u32::MAX, u32::MAX).unwrap_err().contains("`processes`; allowed are 1 to 256"));
        assert!(bounds(256, 256).unwrap_err().contains("1024 at most"));
    }
}
