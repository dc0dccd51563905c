//! Settings: each raw value judged by its key's kind, the stronger layer winning, faults gathered.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::fault::{Fault, Source};
use super::keys::{self, KEYS, Key};
use super::nearest::nearest;
use super::raw;
use super::secret::Secret;
use super::value::Value;
use super::variables;

/// A value that is allowed, and where it came from.
#[derive(Debug, Clone)]
pub struct Judged {
    pub value: Value,
    pub source: Source,
}

/// All that is allowed, by full dotted name; `gateway.keys.0.name`, `types.hello.timeout`.
#[derive(Debug, Default)]
pub struct Settings(pub BTreeMap<String, Judged>);

impl Settings {
    /// Judges every value; what is not allowed is a fault, and the weaker layer's value stays.
    pub fn judge(raw: impl Iterator<Item = raw::Setting>, faults: &mut Vec<Fault>) -> Settings {
        let mut settings = Settings::defaults();
        for setting in raw {
            match judge(&setting) {
                Ok(Some(judged)) => settings.put(setting.path.join("."), judged, faults),
                Ok(None) => {}
                Err(fault) => faults.push(fault),
            }
        }
        settings
    }

    fn defaults() -> Settings {
        let judged = KEYS.iter().filter_map(|key| {
            let value = key.kind.read(&toml::Value::String(key.default?.into()))?;
            Some((key.name.to_owned(), Judged { value, source: Source::Default }))
        });
        Settings(judged.collect())
    }

    /// Two variables for one key (a short and a long name) must agree: which one was meant cannot be known.
    fn put(&mut self, name: String, judged: Judged, faults: &mut Vec<Fault>) {
        if let Some(before) = self.0.get(&name)
            && let (Source::Environment(first), Source::Environment(second)) = (&before.source, &judged.source)
            && before.value != judged.value
        {
            faults.push(Fault {
                source: judged.source.clone(),
                found: format!("{}, while {first} says {}", judged.value.show(), before.value.show()),
                allowed: format!("one of {first} and {second}, or both with the same value"),
                key: name,
            });
            return;
        }
        self.0.insert(name, judged);
    }

    /// The value of `name`, where it is set or has a default.
    pub fn get<T: FromValue>(&self, name: &str) -> Option<T> {
        self.0.get(name).and_then(|judged| T::from_value(&judged.value))
    }

    /// The value of a key that has a default.
    pub fn take<T: FromValue>(&self, name: &str) -> T {
        self.get(name).unwrap_or_else(|| unreachable!("`{name}` has a default of its kind"))
    }

    pub fn source(&self, name: &str) -> Source {
        self.0.get(name).map_or(Source::Default, |judged| judged.source.clone())
    }

    /// A fault of a value that is allowed by itself, but not beside the others.
    pub fn fault(&self, name: &str, allowed: impl Into<String>) -> Fault {
        let found = self.0.get(name).map_or("nothing".into(), |judged| judged.value.show());
        Fault { source: self.source(name), key: name.into(), found, allowed: allowed.into() }
    }

    /// The names directly below `prefix`, such as the types below `types`.
    pub fn below(&self, prefix: &str) -> Vec<String> {
        let prefix = format!("{prefix}.");
        let mut names: Vec<_> = self
            .0
            .keys()
            .filter(|name| !name.contains(['*', '#']))
            .filter_map(|name| name.strip_prefix(&prefix)?.split_once('.').map(|(name, _)| name.to_owned()))
            .collect();
        names.dedup();
        names
    }
}

fn judge(setting: &raw::Setting) -> Result<Option<Judged>, Fault> {
    let Some(key) = keys::find(&setting.path) else { return not_a_key(setting) };
    if key.name.starts_with("types.") && !is_type_name(&setting.path[1]) {
        return Err(fault(
            setting,
            format!("\"{}\"", setting.path[1]),
            "a type name, `[a-z0-9][a-z0-9_-]{0,63}`".into(),
        ));
    }
    match key.kind.read(&setting.value) {
        Some(value) => Ok(Some(Judged { value, source: setting.source.clone() })),
        None => Err(fault(setting, key.kind.quote(&setting.value), refusal(key, &setting.value))),
    }
}

/// What is allowed; with the reason where the value is one of the contract that this build can't serve.
fn refusal(key: &Key, found: &toml::Value) -> String {
    let later: &[&str] = match key.leaf() {
        "kind" => &["command", "http"],
        "isolation" => &["container"],
        _ => &[],
    };
    match found.as_str().filter(|word| later.contains(word)) {
        Some(word) => format!("{} (`{word}` is not supported by this build yet)", key.kind.allowed()),
        None => key.kind.allowed(),
    }
}

/// An empty table of a known name is nothing; everything else that is no key is a fault.
fn not_a_key(setting: &raw::Setting) -> Result<Option<Judged>, Fault> {
    let is_table = KEYS.iter().any(|key| key.is_inside(&setting.path));
    match (&setting.value, is_table) {
        (toml::Value::Table(_), true) => Ok(None),
        (toml::Value::Array(items), true) if items.is_empty() => Ok(None),
        (_, true) => Err(fault(setting, "a single value".into(), "a table of keys".into())),
        (_, false) => Err(fault(setting, "an unknown key".into(), meant(setting))),
    }
}

fn meant(setting: &raw::Setting) -> String {
    let meant = match &setting.source {
        Source::Environment(name) => variables::nearest_variable(name),
        _ => nearest_key(&setting.path),
    };
    match meant {
        Some(name) => format!("the documented keys; did you mean `{name}`?"),
        None => "the documented keys; `windlass config show` lists them".into(),
    }
}

/// Compares with the stars of the table filled in from the path, so that `types.x.timout` finds `types.x.timeout`.
fn nearest_key(path: &[String]) -> Option<String> {
    let fill = |key: &Key| {
        let segments = key.name.split('.').enumerate();
        let filled = segments.map(|(i, it)| match it {
            "*" | "#" => path.get(i).map_or(it, String::as_str),
            it => it,
        });
        filled.collect::<Vec<_>>().join(".")
    };
    let known: Vec<_> = KEYS.iter().map(fill).collect();
    nearest(&path.join("."), known.iter().map(String::as_str)).map(str::to_owned)
}

fn fault(setting: &raw::Setting, found: String, allowed: String) -> Fault {
    Fault { source: setting.source.clone(), key: setting.path.join("."), found, allowed }
}

/// `[a-z0-9][a-z0-9_-]{0,63}`
pub fn is_type_name(name: &str) -> bool {
    name.len() <= 64
        && name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-')
}

/// A Rust type that some [`Value`]s are.
pub trait FromValue: Sized {
    fn from_value(value: &Value) -> Option<Self>;
}

macro_rules! from_value {
    ($($type:ty: $pattern:pat => $result:expr;)*) => {
        $(impl FromValue for $type {
            fn from_value(value: &Value) -> Option<Self> {
                match value {
                    $pattern => Some($result),
                    _ => None,
                }
            }
        })*
    };
}

from_value! {
    String: Value::Text(it) | Value::Url(it) => it.clone();
    Secret: Value::Secret(it) => it.clone();
    PathBuf: Value::Path(it) => it.clone();
    Vec<PathBuf>: Value::Paths(it) => it.clone();
    Duration: Value::Duration(it) => *it;
    SocketAddr: Value::Listen(it) => *it;
    u64: Value::Size(it) | Value::Count(it) => *it;
}
