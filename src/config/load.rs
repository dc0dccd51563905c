//! Asks the world for what the configuration is made of: the file, the environment, the host's name.

use std::path::{Path, PathBuf};

use super::fault::{Fault, Faults, Source};
use super::raw::{File, Override};
use super::resolved::Config;
use super::variables::{CONFIG_FILE, DEFAULT_FILE};

/// Loads the configuration of this process. `named` is the file of `--config`; without it `WINDLASS_CONFIG` names one,
/// and without that `windlass.toml` in the working directory is read if it is there.
///
/// # Errors
/// All faults of the configuration; a file that was named and cannot be read is one.
pub fn load(named: Option<&Path>, flags: &[Override]) -> Result<Config, Faults> {
    let environment = environment();
    let variable = environment.iter().find(|(name, value)| name == CONFIG_FILE && !value.is_empty());
    let file = match (named, variable) {
        (Some(path), _) => Some(read(path, Source::Flag("--config"))?),
        (None, Some((name, path))) => Some(read(Path::new(path), Source::Environment(name.clone()))?),
        (None, None) if Path::new(DEFAULT_FILE).exists() => {
            Some(read(Path::new(DEFAULT_FILE), Source::File(PathBuf::from(DEFAULT_FILE)))?)
        }
        (None, None) => None,
    };
    super::parse(file.as_ref(), &environment, flags, &host_name())
}

fn read(path: &Path, source: Source) -> Result<File, Faults> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(File { path: path.to_owned(), text }),
        Err(error) => Err(Faults(vec![Fault {
            source,
            key: path.display().to_string(),
            found: format!("a file that cannot be read ({error})"),
            allowed: "a readable TOML file in UTF-8".into(),
        }])),
    }
}

/// Variables that are no UTF-8 are none of ours, unless their name is; then what can be read of the value is judged.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
fn environment() -> Vec<(String, String)> {
    let text = |it: std::ffi::OsString| it.to_string_lossy().into_owned();
    std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect()
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
