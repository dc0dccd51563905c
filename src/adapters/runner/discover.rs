//! Finds the task types of plugins by asking short-lived processes: the node itself never imports one.
//!
//! A folder is described at once. If that process hangs or dies, each of its files is described alone, so that a broken
//! file costs its own types only. Configuration may override what a plugin says, and name another interpreter, with
//! which the plugin is then described again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use windlass_actors::domain::TaskType;

use super::described::{self, Described, File};
use super::process::ProcessRunner;

/// Where plugins are, and what the configuration says of them.
#[derive(Clone, Debug)]
pub struct DiscoverOptions {
    pub folders: Vec<PathBuf>,
    /// By type name.
    pub overrides: BTreeMap<String, TypeOverride>,
    /// Of a type for which neither its plugin nor its override says how many.
    pub max_attempts: u32,
    /// How long describing a folder, and then each file of it, may take.
    pub timeout: Duration,
}

/// What the configuration sets of a type; `None` leaves what the plugin says.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TypeOverride {
    pub python: Option<String>,
    pub host_group: Option<String>,
    pub timeout: Option<Duration>,
    pub max_timeout: Option<Duration>,
    pub max_attempts: Option<u32>,
    pub processes: Option<u32>,
    pub worker_threads: Option<u32>,
    pub memory_mb: Option<u64>,
    pub max_running: Option<u32>,
    pub starts_per_minute: Option<u32>,
    pub max_tasks_per_process: Option<u64>,
    pub start_timeout: Option<Duration>,
}

/// What was found.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Discovery {
    /// By name; none of them has a fault.
    pub types: Vec<TaskType>,
    pub faults: Vec<PluginFault>,
    /// The interpreter that described the plugins, and its version.
    pub python: Option<(String, String)>,
}

/// What is wrong with a plugin. It costs the types of that file, or of that name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PluginFault {
    /// A plugin's file, or a folder of plugins; the type's name if the configuration is at fault.
    pub file: String,
    pub kind: FaultKind,
    pub message: String,
    pub traceback: Option<String>,
}

/// Which fault it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// The plugin raised that exception when it was loaded.
    Raised(String),
    /// It did not end in time.
    Hung,
    /// Its process died.
    Died,
    /// The folder can't be read.
    Unreadable,
    /// Two plugins register one name.
    Duplicate,
    /// It asks for what this version does not serve.
    Unsupported,
    /// A value that can't be.
    Invalid,
    /// The configuration names a type that no plugin registers.
    UnknownType,
}

impl std::fmt::Display for PluginFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}`: {}", self.file, self.message)
    }
}

/// Describes all folders. Faults are part of the answer: who starts the node decides what they mean.
pub async fn discover(runner: &ProcessRunner, options: &DiscoverOptions) -> Discovery {
    let mut found = Discovery::default();
    let mut files: Vec<File> = Vec::new();
    for folder in &options.folders {
        files.extend(folder_files(runner, folder, options.timeout, &mut found).await);
    }
    let files = with_own_interpreters(runner, files, options, &mut found.faults).await;
    let types = described::types(files, options, &mut found.faults);
    let types = without_duplicates(types, &mut found.faults);
    found.types = with_one_interpreter(types, &mut found.faults);
    found.faults.extend(unknown_overrides(options, &found));
    found
}

async fn folder_files(runner: &ProcessRunner, folder: &Path, limit: Duration, found: &mut Discovery) -> Vec<File> {
    let named = folder.display().to_string();
    if let Err(error) = std::fs::read_dir(folder) {
        let message = format!("the folder can't be read: {error}");
        found.faults.push(PluginFault { file: named, kind: FaultKind::Unreadable, message, traceback: None });
        return Vec::new();
    }
    match runner.describe(None, &[&named], limit).await {
        Ok(described) => {
            found.python = Some((described.executable.clone(), described.python.clone()));
            described.files
        }
        Err(failed) => one_by_one(runner, folder, failed, limit, found).await,
    }
}

/// After the folder's own process failed.
async fn one_by_one(
    runner: &ProcessRunner,
    folder: &Path,
    failed: NotDescribed,
    limit: Duration,
    found: &mut Discovery,
) -> Vec<File> {
    let paths = plugins_in(folder);
    // Without an interpreter, or without plugins, no file is to blame.
    if paths.is_empty() || failed.unlaunched {
        found.faults.push(failed.of(folder.display().to_string()));
        return Vec::new();
    }
    let mut files = Vec::new();
    for path in paths {
        match runner.describe(None, &["--file", &path], limit).await {
            Ok(described) => {
                found.python = Some((described.executable.clone(), described.python.clone()));
                files.extend(described.files);
            }
            Err(failed) => found.faults.push(failed.of(path)),
        }
    }
    files
}

/// Why a process described nothing.
#[derive(Clone, Debug)]
pub(super) struct NotDescribed {
    pub kind: FaultKind,
    pub message: String,
    /// The interpreter is missing.
    pub unlaunched: bool,
}

impl NotDescribed {
    fn of(self, file: String) -> PluginFault {
        PluginFault { file, kind: self.kind, message: self.message, traceback: None }
    }
}

/// The folder's plugins by the rule of the SDK: files `*.py` and packages, but for names that start with `_` or `.`.
fn plugins_in(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).filter(|p| is_plugin(p)).collect();
    paths.sort();
    let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path).display().to_string();
    paths.into_iter().map(absolute).collect()
}

fn is_plugin(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let hidden = name.starts_with(['_', '.']);
    !hidden && (path.join("__init__.py").is_file() || (path.is_file() && name.ends_with(".py")))
}

/// A plugin whose types name another interpreter is described with that one, which may lack what the node's has.
async fn with_own_interpreters(
    runner: &ProcessRunner,
    files: Vec<File>,
    options: &DiscoverOptions,
    faults: &mut Vec<PluginFault>,
) -> Vec<File> {
    let mut all = Vec::new();
    let mut wanted: BTreeSet<&str> =
        options.overrides.iter().filter(|(_, o)| o.python.is_some()).map(|(n, _)| n.as_str()).collect();
    for file in files {
        let Some((name, python)) = interpreter_of(&file, &options.overrides) else {
            all.push(file);
            continue;
        };
        wanted.remove(name.as_str());
        match runner.describe(Some(&python), &["--file", &file.path], options.timeout).await {
            Ok(described) => all.extend(described.files),
            Err(failed) => faults.push(failed.of(file.path)),
        }
    }
    rescued(runner, all, wanted, options, faults).await
}

/// A file that the node's interpreter can't load may be one that needs another: those named are tried on it.
async fn rescued(
    runner: &ProcessRunner,
    mut files: Vec<File>,
    wanted: BTreeSet<&str>,
    options: &DiscoverOptions,
    faults: &mut Vec<PluginFault>,
) -> Vec<File> {
    let pythons: BTreeSet<&str> = wanted.iter().filter_map(|n| options.overrides.get(*n)?.python.as_deref()).collect();
    for file in files.iter_mut().filter(|f| f.error.is_some()) {
        for python in &pythons {
            match runner.describe(Some(python), &["--file", &file.path], options.timeout).await {
                Ok(Described { files, .. }) => {
                    let loaded = files.into_iter().find(|f| f.types.iter().any(|t| wanted.contains(t.name.as_str())));
                    if let Some(loaded) = loaded {
                        *file = loaded;
                        break;
                    }
                }
                Err(failed) => faults.push(failed.of(file.path.clone())),
            }
        }
    }
    files
}

fn interpreter_of(file: &File, overrides: &BTreeMap<String, TypeOverride>) -> Option<(String, String)> {
    file.types.iter().find_map(|t| Some((t.name.clone(), overrides.get(&t.name)?.python.clone()?)))
}

/// Neither of two wins: which one ran would depend on the order of folders.
fn without_duplicates(types: Vec<TaskType>, faults: &mut Vec<PluginFault>) -> Vec<TaskType> {
    let mut by_name: BTreeMap<String, Vec<TaskType>> = BTreeMap::new();
    for task_type in types {
        by_name.entry(task_type.name.to_string()).or_default().push(task_type);
    }
    let mut single = Vec::new();
    for (name, mut same) in by_name {
        if same.len() == 1 {
            single.append(&mut same);
            continue;
        }
        let files: Vec<String> = same.into_iter().filter_map(|t| t.plugin).collect();
        let message = format!("the type `{name}` is registered more than once: in `{}`", files.join("` and `"));
        let file = files.first().cloned().unwrap_or_default();
        faults.push(PluginFault { file, kind: FaultKind::Duplicate, message, traceback: None });
    }
    single
}

/// A host is one process: the types of a group share its interpreter.
fn with_one_interpreter(types: Vec<TaskType>, faults: &mut Vec<PluginFault>) -> Vec<TaskType> {
    let differs = |t: &TaskType| types.iter().any(|other| other.host_group == t.host_group && other.python != t.python);
    let (mixed, kept): (Vec<TaskType>, Vec<TaskType>) = types.iter().cloned().partition(differs);
    faults.extend(mixed.into_iter().map(|t| PluginFault {
        message: format!("the type `{}` shares the group `{}` with another interpreter's types", t.name, t.host_group),
        file: t.plugin.unwrap_or_default(),
        kind: FaultKind::Invalid,
        traceback: None,
    }));
    kept
}

/// A type that has a fault of its own is not called unknown on top; with broken files it may be theirs.
fn unknown_overrides(options: &DiscoverOptions, found: &Discovery) -> Vec<PluginFault> {
    let known = |name: &str| {
        found.types.iter().any(|t| t.name.as_str() == name)
            || found.faults.iter().any(|f| f.message.contains(&format!("`{name}`")))
    };
    let fault = |name: &String| PluginFault {
        file: name.clone(),
        kind: FaultKind::UnknownType,
        message: format!("the configuration sets a type `{name}` that no plugin registers"),
        traceback: None,
    };
    options.overrides.keys().filter(|name| !known(name)).map(fault).collect()
}
