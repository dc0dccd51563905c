//! The effective configuration, as `windlass config show` prints it: each key, value, source; secrets masked.

use serde::Serialize;

use super::fault::Source;
use super::keys::KEYS;
use super::resolved::Config;
use super::settings::Settings;

/// One line of `config show`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    pub key: String,
    /// `None`: not set, and there is no default.
    pub value: Option<String>,
    /// `default`, `file windlass.toml`, `environment WINDLASS_…`, `flag --…`.
    pub source: String,
}

/// Every key of the table in its order, then what was set below `types` and `gateway.keys`.
pub(super) fn entries(settings: &Settings, config: &Config) -> Vec<Entry> {
    let single = KEYS.iter().filter(|key| !key.name.contains(['*', '#']));
    let mut entries: Vec<_> = single.map(|key| entry(key.name, settings)).collect();
    let many = settings.0.keys().filter(|name| name.starts_with("types.") || name.starts_with("gateway.keys."));
    entries.extend(many.map(|name| entry(name, settings)));
    derived(&mut entries, "database.url", format!("sqlite://{}", config.database.path.display()));
    derived(&mut entries, "node.id", config.node.id.clone());
    entries
}

fn entry(name: &str, settings: &Settings) -> Entry {
    let judged = settings.0.get(name);
    Entry {
        key: name.into(),
        value: judged.map(|judged| judged.value.show()),
        source: judged.map_or(Source::Default, |judged| judged.source.clone()).to_string(),
    }
}

/// A default that follows from another key or from the host.
fn derived(entries: &mut [Entry], key: &str, value: String) {
    if let Some(entry) = entries.iter_mut().find(|entry| entry.key == key && entry.value.is_none()) {
        entry.value = Some(value);
    }
}

/// The effective value of every key, and where it came from.
pub fn entries_of(config: &Config) -> &[Entry] {
    &config.entries
}
