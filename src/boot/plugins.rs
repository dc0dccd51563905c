//! The plugins of a node: the interpreter, the SDK, and what the folders register.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use windlass_actors::domain::TaskType;

use super::error::BootError;
use super::settings;
use crate::adapters::runner::{Discovery, ProcessOptions, ProcessRunner, discover, sdk};
use crate::config::{Config, OnPluginError};

/// A launcher such as pyenv's is a script: asking it once spares each host that.
const ASKING: Duration = Duration::from_secs(10);

/// The runner for Python types, and what it found.
pub struct Plugins {
    pub runner: ProcessRunner,
    pub found: Discovery,
}

impl Plugins {
    /// Unpacks the SDK below `data` and describes the configured folders. Faults are in `found`.
    pub async fn find(config: &Config, data: &Path, mark: String) -> Result<Plugins, BootError> {
        let sdk = sdk::materialise_sdk(data)?;
        let python = interpreter().await;
        let mut options = ProcessOptions::new(python, sdk, mark, data.to_owned());
        options.secrets = secrets(config);
        let runner = ProcessRunner::new(options)?;
        let found = discover(&runner, &settings::discovery(config)).await;
        Ok(Plugins { runner, found })
    }

    /// Logs the faults; an error if they must stop the start.
    pub fn judge(&self, config: &Config) -> Result<(), BootError> {
        for fault in &self.found.faults {
            tracing::error!(plugin = fault.file, "a plugin is skipped: {}", fault.message);
        }
        match (config.node.on_plugin_error, self.found.faults.len()) {
            (OnPluginError::Fail, count @ 1..) => Err(BootError::Plugins { count }),
            _ => Ok(()),
        }
    }

    pub fn names(types: &[TaskType]) -> Vec<&str> {
        types.iter().map(|t| t.name.as_str()).collect()
    }
}

/// What no plugin's environment may hold.
fn secrets(config: &Config) -> Vec<String> {
    let keys = config.gateway.keys.iter().map(|key| &key.key);
    keys.chain(&config.client.api_key).map(|secret| secret.reveal().to_owned()).collect()
}

/// The path of the interpreter that `python3` is; `python3` itself if that can't be asked, so that the error comes with
/// the plugin that needs it.
async fn interpreter() -> PathBuf {
    let asked = tokio::process::Command::new("python3")
        .args(["-c", "import sys; print(sys.executable)"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .output();
    let answer = match tokio::time::timeout(ASKING, asked).await {
        Ok(Ok(output)) if output.status.success() => String::from_utf8(output.stdout).ok(),
        _ => None,
    };
    let path = answer.map(|text| text.trim().to_owned()).filter(|path| !path.is_empty());
    path.map_or_else(|| PathBuf::from("python3"), PathBuf::from)
}
