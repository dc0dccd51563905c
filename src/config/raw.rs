//! Raw configuration: what was set, where, in layers; nothing is judged here but the syntax of the file.

use std::path::{Path, PathBuf};

use super::fault::{Fault, Source};
use super::keys;
use super::variables::{self, Meaning};

/// One value that somebody set.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    pub path: Vec<String>,
    pub value: toml::Value,
    pub source: Source,
}

/// A value given by a flag of the command line, which overrides all others.
#[derive(Debug, Clone, PartialEq)]
pub struct Override {
    /// The key, such as `node.data`.
    pub key: &'static str,
    /// The flag as typed, such as `--data`.
    pub flag: &'static str,
    pub value: toml::Value,
}

/// The contents of a configuration file and where they were read.
#[derive(Debug, Clone)]
pub struct File {
    pub path: PathBuf,
    pub text: String,
}

/// All that was set, the weakest layer first: file, environment, flags.
#[derive(Debug, Default)]
pub struct Raw {
    pub file: Vec<Setting>,
    pub environment: Vec<Setting>,
    pub flags: Vec<Setting>,
}

impl Raw {
    /// Reads the layers. A file that is no TOML is a fault, and the other layers are still read.
    pub fn read(
        file: Option<&File>,
        environment: &[(String, String)],
        flags: &[Override],
        faults: &mut Vec<Fault>,
    ) -> Raw {
        Raw {
            file: file.map(|file| read_file(file, faults)).unwrap_or_default(),
            environment: read_environment(environment),
            flags: flags.iter().map(read_flag).collect(),
        }
    }

    pub fn layers(self) -> impl Iterator<Item = Setting> {
        self.file.into_iter().chain(self.environment).chain(self.flags)
    }
}

fn read_file(file: &File, faults: &mut Vec<Fault>) -> Vec<Setting> {
    let mut settings = Vec::new();
    match file.text.parse::<toml::Table>() {
        Ok(table) => flatten(&mut Vec::new(), toml::Value::Table(table), &file.path, &mut settings),
        Err(error) => faults.push(no_toml(file, &error)),
    }
    settings
}

/// The parser's own text quotes the line, in which a secret may stand; its message and the line's number do not.
fn no_toml(file: &File, error: &toml::de::Error) -> Fault {
    let before = error.span().and_then(|span| file.text.get(..span.start)).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let reason = error.message().lines().next().unwrap_or("not TOML");
    Fault {
        source: Source::File(file.path.clone()),
        key: format!("line {line}"),
        found: format!("no TOML ({})", without_quotes(reason)),
        allowed: "TOML, such as `[node]` and below it `lease = \"30s\"`".into(),
    }
}

/// What a parser's message quotes may be part of a value.
fn without_quotes(reason: &str) -> String {
    reason.split(['`', '"', '\'']).step_by(2).map(str::trim).collect::<Vec<_>>().join(" … ").trim().to_owned()
}

/// Descends into tables, and into lists of tables where a known key has a position (`gateway.keys.#`).
fn flatten(path: &mut Vec<String>, value: toml::Value, file: &Path, settings: &mut Vec<Setting>) {
    let is_leaf = keys::find(path).is_some();
    match value {
        toml::Value::Table(table) if !is_leaf && (path.is_empty() || !table.is_empty()) => {
            for (name, value) in table {
                descend(path, name, value, file, settings);
            }
        }
        toml::Value::Array(items) if !is_leaf && path == &["gateway", "keys"] => {
            for (position, value) in items.into_iter().enumerate() {
                descend(path, position.to_string(), value, file, settings);
            }
        }
        value => settings.push(Setting { path: path.clone(), value, source: Source::File(file.to_owned()) }),
    }
}

fn descend(path: &mut Vec<String>, name: String, value: toml::Value, file: &Path, settings: &mut Vec<Setting>) {
    path.push(name);
    flatten(path, value, file, settings);
    path.pop();
}

/// An empty variable is one that is not set, as compose files write it.
fn read_environment(variables: &[(String, String)]) -> Vec<Setting> {
    let set = variables.iter().filter(|(_, value)| !value.is_empty());
    set.filter_map(|(name, value)| match variables::meaning(name, value) {
        Meaning::Ignored => None,
        Meaning::Setting(path) => {
            Some(Setting { path, value: value.clone().into(), source: Source::Environment(name.clone()) })
        }
    })
    .collect()
}

fn read_flag(flag: &Override) -> Setting {
    let path = flag.key.split('.').map(str::to_owned).collect();
    Setting { path, value: flag.value.clone(), source: Source::Flag(flag.flag) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<String>, Vec<Fault>) {
        let file = File { path: "windlass.toml".into(), text: text.into() };
        let mut faults = Vec::new();
        let raw = Raw::read(Some(&file), &[], &[], &mut faults);
        (raw.layers().map(|it| it.path.join(".")).collect(), faults)
    }

    #[test]
    fn tables_and_lists_of_keys_become_paths() {
        let (paths, faults) = read("[node]\nlease='1s'\n[[gateway.keys]]\nname='a'\n[types.x]\ntimeout='1s'\n");
        assert_eq!(faults, []);
        assert_eq!(paths, ["gateway.keys.0.name", "node.lease", "types.x.timeout"]);
    }

    #[test]
    fn a_syntax_error_names_the_line_and_quotes_nothing() {
        let (_, faults) = read("[node]\nlease = '1s'\nkey = marker-secret\n");
        let shown = faults[0].to_string();
        assert!(shown.contains("`line 3`") && !shown.contains("marker"), "{shown}");
    }

    #[test]
    fn an_empty_variable_is_not_set() {
        let environment = [("WINDLASS_BROKER_URL".to_owned(), String::new())];
        assert_eq!(Raw::read(None, &environment, &[], &mut Vec::new()).layers().count(), 0);
    }
}
