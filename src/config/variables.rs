//! The one place for names in the environment.

use super::keys::KEYS;
use super::nearest::nearest;

/// What every name of ours begins with.
pub const PREFIX: &str = "WINDLASS_";

/// The configuration file, when no `--config` is given.
pub const CONFIG_FILE: &str = "WINDLASS_CONFIG";

/// The file that is read when nobody names one, if it is there.
pub const DEFAULT_FILE: &str = "windlass.toml";

/// What the node tells its worker processes; a plugin that calls `windlass` inherits them.
const OF_WORKERS: &[&str] =
    &["WINDLASS_FD", "WINDLASS_SOCKET", "WINDLASS_HOST", "WINDLASS_NODE_MARK", "WINDLASS_HOST_MARK", "WINDLASS_FAULTS"];

/// What a variable is to us.
#[derive(Debug, PartialEq)]
pub enum Meaning {
    /// A setting at this path.
    Setting(Vec<String>),
    /// Not a setting: of another program, of an orchestrator, of the worker protocol.
    Ignored,
}

/// Says what the variable `name` with this value means; whether the setting exists is seen later.
pub fn meaning(name: &str, value: &str) -> Meaning {
    let Some(rest) = name.strip_prefix(PREFIX) else { return Meaning::Ignored };
    let named = KEYS.iter().find(|key| key.variable == Some(name));
    if let Some(key) = named {
        return Meaning::Setting(key.name.split('.').map(str::to_owned).collect());
    }
    if name == CONFIG_FILE || OF_WORKERS.contains(&name) || is_injected(rest, value) {
        return Meaning::Ignored;
    }
    Meaning::Setting(path_of(rest))
}

/// Variables that an orchestrator injects for a Service named `windlass`, or `windlass-something`.
fn is_injected(rest: &str, value: &str) -> bool {
    let of_windlass = ["PORT", "SERVICE"].iter().any(|it| rest == *it || rest.starts_with(&format!("{it}_")));
    let link = rest.ends_with("_PORT") && value.contains("://");
    let parts = ["_SERVICE_HOST", "_SERVICE_PORT", "_TCP", "_UDP", "_TCP_PORT", "_TCP_PROTO", "_TCP_ADDR"];
    of_windlass || (!rest.contains("__") && (link || parts.iter().any(|part| rest.ends_with(part))))
}

/// `NODE__DRAIN_GRACE` is `node.drain_grace`. A type's name may hold `__` itself: the key is behind the last one.
fn path_of(rest: &str) -> Vec<String> {
    let lower = rest.to_lowercase();
    if let Some((name, leaf)) = lower.strip_prefix("types__").and_then(|rest| rest.rsplit_once("__")) {
        return vec!["types".into(), name.into(), leaf.into()];
    }
    lower.split("__").map(str::to_owned).collect()
}

/// The long name of a key in the environment.
pub fn name_of(key: &str) -> String {
    format!("{PREFIX}{}", key.to_uppercase().replace('.', "__"))
}

/// The known variable that a misspelt one most likely means.
pub fn nearest_variable(name: &str) -> Option<String> {
    let short = KEYS.iter().filter_map(|key| key.variable.map(str::to_owned));
    let known: Vec<String> = KEYS.iter().map(|key| name_of(key.name)).chain(short).collect();
    let flat = |it: &str| it.replace("__", "_");
    let same = known.iter().find(|it| flat(it) == flat(name));
    same.cloned().or_else(|| nearest(name, known.iter().map(String::as_str)).map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(path: &str) -> Meaning {
        Meaning::Setting(path.split('.').map(str::to_owned).collect())
    }

    #[test]
    fn two_underscores_nest_and_one_does_not() {
        assert_eq!(meaning("WINDLASS_NODE__DRAIN_GRACE", "5s"), setting("node.drain_grace"));
        assert_eq!(meaning("WINDLASS_TYPES__A__B__TIMEOUT", "5s"), setting("types.a__b.timeout"));
        assert_eq!(meaning("WINDLASS_DATABASE_URL", "sqlite://x"), setting("database.url"));
    }

    #[test]
    fn what_an_orchestrator_injects_is_ignored() {
        let injected = [
            ("WINDLASS_PORT", "tcp://10.0.0.1:7420"),
            ("WINDLASS_PORT_7420_TCP_ADDR", "10.0.0.1"),
            ("WINDLASS_SERVICE_HOST", "10.0.0.1"),
            ("WINDLASS_SERVICE_PORT_HTTP", "7420"),
            ("WINDLASS_GATEWAY_PORT", "tcp://10.0.0.1:7420"),
            ("WINDLASS_GATEWAY_SERVICE_HOST", "10.0.0.1"),
            ("WINDLASS_FD", "3"),
            ("PATH", "/bin"),
        ];
        for (name, value) in injected {
            assert_eq!(meaning(name, value), Meaning::Ignored, "{name}");
        }
    }

    #[test]
    fn a_misspelt_variable_finds_the_one_that_is_meant() {
        assert_eq!(nearest_variable("WINDLASS_NODE__LAESE").as_deref(), Some("WINDLASS_NODE__LEASE"));
        assert_eq!(nearest_variable("WINDLASS_NODE_LEASE").as_deref(), Some("WINDLASS_NODE__LEASE"));
        assert_eq!(nearest_variable("WINDLASS_API_KEI").as_deref(), Some("WINDLASS_API_KEY"));
    }
}
