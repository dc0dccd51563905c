//! The table of keys: names, kinds, defaults, meanings. Reading, `config show` and `docs/configuration.md` all follow it.

use windlass_actors::domain::TaskType;

use super::value::Kind;

/// One key of `windlass.toml`.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Dotted name. A `*` stands for a type's name, a `#` for a position in a list.
    pub name: &'static str,
    pub kind: Kind,
    /// As it would be written in the environment; `None`: absent unless it is set.
    pub default: Option<&'static str>,
    /// A short name in the environment beside `WINDLASS_` + the dotted name with `__`.
    pub variable: Option<&'static str>,
    pub doc: &'static str,
}

const fn key(name: &'static str, kind: Kind, default: &'static str, doc: &'static str) -> Key {
    Key { name, kind, default: Some(default), variable: None, doc }
}

const fn optional(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { name, kind, default: None, variable: None, doc }
}

impl Key {
    const fn variable(mut self, name: &'static str) -> Key {
        self.variable = Some(name);
        self
    }
}

use Kind::{Choice, Count, Duration, Listen, Name, Path, Paths, Secret, Size, Text, Unsupported, Url};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const NO_BROKER: &str =
    "nothing: a broker is not supported by this build yet; leave the key out, and the task table is the queue";
const NO_PULSE: &str = "nothing: pulses are not supported by this build yet; leave the key out, and a lost owner's task is taken when its lease is over";
const NO_CLUSTER: &str =
    "nothing: gateways that call each other are not supported by this build yet; leave the key out";
const NO_VAULT: &str = "nothing: stored credentials are not supported by this build yet; leave the key out";
const NO_GPU: &str = "nothing: GPU slots are not supported by this build yet; leave the key out";

/// Each key, in the order in which it is documented.
pub const KEYS: &[Key] = &[
    optional("database.url", Url, "Where tasks live: `sqlite://FILE`. Without it, `windlass.db` in `node.data`.")
        .variable("WINDLASS_DATABASE_URL"),
    key("database.max_connections", Count(1, 64), "8", "Connections kept to the database."),
    key(
        "database.statement_timeout",
        Duration("100ms", "5m"),
        "5s",
        "A call that waits longer for another process's lock, or for a free connection, is given up; no statement is cut short.",
    ),
    optional("broker.url", Unsupported(NO_BROKER), "`amqp://…` or `amqps://…`; not served by this build.")
        .variable("WINDLASS_BROKER_URL"),
    optional("broker.host", Unsupported(NO_BROKER), "In place of `broker.url`; not served by this build."),
    optional("broker.port", Unsupported(NO_BROKER), "As `broker.host`."),
    optional("broker.vhost", Unsupported(NO_BROKER), "As `broker.host`."),
    optional("broker.user", Unsupported(NO_BROKER), "As `broker.host`."),
    optional("broker.password", Unsupported(NO_BROKER), "As `broker.host`; any character, not encoded."),
    optional(
        "broker.retry_ttl",
        Unsupported(NO_BROKER),
        "Time a delivery waits in the retry queue; not served by this build.",
    ),
    optional(
        "broker.ack_horizon",
        Unsupported(NO_BROKER),
        "Age at which a delivery is acknowledged early; not served by this build.",
    ),
    optional("node.id", Name, "The node's name, unique in the cluster. Without it, the host's name.")
        .variable("WINDLASS_NODE_ID"),
    key(
        "node.data",
        Path,
        "./.windlass",
        "Folder of the lock, scratch files, artifacts and, by default, the database.",
    ),
    key(
        "node.listen",
        Listen,
        "127.0.0.1:7421",
        "Admin address of `windlass node`; `up` serves the same on its one listener.",
    ),
    key("node.plugins", Paths, "plugins", "Folders of plugins; a folder that is not there has none."),
    key(
        "node.on_plugin_error",
        Choice(&["skip", "fail"]),
        "skip",
        "A broken plugin file: serve the other types, or do not start.",
    ),
    key("node.lease", Duration("1s", "1h"), "30s", "How long an attempt may write without renewing."),
    key("node.renew", Duration("100ms", "30m"), "10s", "Period of renewals; at most half of `node.lease`."),
    key("node.reap", Duration("100ms", "10m"), "5s", "Period of the search for leases that ran out."),
    key("node.reap_grace", Duration("0s", "10m"), "5s", "A lease is taken only when it has been over for this long."),
    optional(
        "node.owner_grace",
        Unsupported(NO_PULSE),
        "A pulse must be gone for this long before its owner is; not served by this build.",
    ),
    key("node.cancel_grace", Duration("100ms", "1h"), "5s", "Time between asking a run to stop and killing it."),
    key(
        "node.drain_grace",
        Duration("100ms", "24h"),
        "20s",
        "Time that running attempts get at shutdown before they are cancelled.",
    ),
    key(
        "node.neighbour_grace",
        Duration("0s", "24h"),
        "10s",
        "Time that the neighbours of a run get before its host is killed.",
    ),
    key("node.idle_claim", Duration("100ms", "5m"), "5s", "A free slot looks for due work at least this often."),
    key(
        "node.heartbeat",
        Duration("100ms", "5m"),
        "10s",
        "Period at which a node posts its types; at most half of `node.believed`.",
    ),
    key("node.believed", Duration("1s", "1h"), "30s", "A node that is silent for longer is not believed to be there."),
    key("node.keep", Duration("1m", "3650days"), "7days", "Ended tasks are kept for this long."),
    key("gateway.listen", Listen, "127.0.0.1:7420", "Address of the API. Off loopback it needs keys."),
    key(
        "gateway.offline",
        Choice(&["reject", "accept"]),
        "reject",
        "A task of a known type that nobody serves now: refuse it, or let it wait.",
    ),
    key("gateway.max_payload", Size(KIB, 64 * MIB), "1MiB", "Largest payload of a task."),
    key("gateway.max_result", Size(KIB, 64 * MIB), "4MiB", "Largest result that is kept whole."),
    key("gateway.max_event", Size(KIB, 16 * MIB), "64KiB", "Largest event that is kept whole."),
    key("gateway.max_connections", Count(1, 100_000), "1024", "Connections held open at once."),
    key("gateway.max_streams", Count(1, 100_000), "512", "Event streams held open at once."),
    optional(
        "gateway.internal_key",
        Unsupported(NO_CLUSTER),
        "What processes of the deployment show each other; not served by this build.",
    )
    .variable("WINDLASS_INTERNAL_KEY"),
    optional("gateway.secret_key", Unsupported(NO_VAULT), "Seals stored credentials; not served by this build.")
        .variable("WINDLASS_SECRET_KEY"),
    optional("gateway.keys.#.name", Name, "Name of an API key, unique."),
    optional("gateway.keys.#.key", Secret, "The key itself, 16 characters or more, unique."),
    optional("gateway.keys.#.owner", Name, "Owner of what the key submits. Without it, the key's name."),
    optional("gateway.keys.#.role", Choice(&["submit", "read", "operate"]), "What the key may do."),
    optional("gateway.keys.#.client_role", Text, "Handed to plugins as `client_role`."),
    key("retry.base", Duration("1ms", "24h"), "2s", "The first pause between attempts; it doubles with each."),
    key("retry.cap", Duration("1ms", "30days"), "300s", "The longest pause between attempts."),
    key("retry.max_attempts", Count(1, 1000), "3", "Attempts of a task, unless its type or the task says otherwise."),
    optional("gpu.discover", Unsupported(NO_GPU), "`nvml`; not served by this build."),
    optional("gpu.devices", Unsupported(NO_GPU), "A list of `{ index, memory_mb, slots }`; not served by this build."),
    key("log.filter", Text, "info", "What is logged: a level, or `target=level` pairs.").variable("WINDLASS_LOG"),
    key("log.format", Choice(&["auto", "text", "json"]), "auto", "`auto` is text on a terminal and JSON elsewhere.")
        .variable("WINDLASS_LOG_FORMAT"),
    key("client.url", Url, "http://127.0.0.1:7420", "The gateway that client commands talk to.")
        .variable("WINDLASS_URL"),
    optional("client.api_key", Secret, "The key that client commands show.").variable("WINDLASS_API_KEY"),
    optional(
        "types.*.kind",
        Choice(&["python"]),
        "How the type is called (`command` and `http` are not supported by this build yet).",
    ),
    optional(
        "types.*.isolation",
        Choice(&["process"]),
        "Where the type runs (`container` is not supported by this build yet).",
    ),
    optional("types.*.python", Path, "The interpreter of the type, such as `/venv/bin/python`."),
    optional(
        "types.*.command",
        Unsupported("nothing: `kind = \"command\"` is not supported by this build yet"),
        "The program of a `command` type; not served by this build.",
    ),
    optional(
        "types.*.url",
        Unsupported("nothing: `kind = \"http\"` is not supported by this build yet"),
        "The server of an `http` type; not served by this build.",
    ),
    optional("types.*.host_group", Name, "Types of one group share their host processes."),
    optional("types.*.timeout", Duration("1ms", "30days"), "Timeout of an attempt, unless the task says otherwise."),
    optional("types.*.max_timeout", Duration("1ms", "30days"), "The most that a task may ask for."),
    optional("types.*.max_attempts", Count(1, 1000), "In place of `retry.max_attempts`."),
    optional("types.*.processes", Count(1, 256), "Host processes of the type."),
    optional("types.*.worker_threads", Count(1, 256), "Attempts that one host process runs at once."),
    optional("types.*.memory_mb", Count(16, 16_777_216), "Memory limit of a host process, in MiB."),
    optional("types.*.max_running", Count(1, 1_000_000), "Attempts that run at once in the whole cluster."),
    optional(
        "types.*.starts_per_minute",
        Count(1, 10_000_000),
        "Attempts that start in a minute in the whole cluster.",
    ),
    optional(
        "types.*.takeover",
        Unsupported(NO_PULSE),
        "When a lost owner's task is taken: `pulse` or `lease`; not served by this build, which waits for the lease.",
    ),
    optional(
        "types.*.max_tasks_per_process",
        Count(1, 1_000_000_000),
        "A host process is replaced after this many tasks.",
    ),
    optional(
        "types.*.idle_time",
        Unsupported("nothing: stopping idle hosts is not supported by this build yet; leave the key out"),
        "A host process that is idle for longer is stopped; not served by this build.",
    ),
    optional("types.*.start_timeout", Duration("100ms", "24h"), "Time that a host process has to load."),
];

/// Most attempts of one type that a node runs at once: `processes × worker_threads`.
pub const MAX_SLOTS: u64 = TaskType::MAX_SLOTS as u64;

/// Least length of an API key, in characters.
pub const MIN_KEY: usize = 16;

impl Key {
    /// Does the path of a setting mean this key?
    pub fn matches(&self, path: &[String]) -> bool {
        let mut segments = self.name.split('.');
        path.iter().all(|found| segments.next().is_some_and(|segment| fits(segment, found)))
            && segments.next().is_none()
    }

    /// Does the path name a table that holds this key?
    pub fn is_inside(&self, path: &[String]) -> bool {
        let segments: Vec<_> = self.name.split('.').collect();
        path.len() < segments.len() && path.iter().zip(&segments).all(|(found, segment)| fits(segment, found))
    }

    /// The last part of the name.
    pub fn leaf(&self) -> &'static str {
        self.name.rsplit('.').next().unwrap_or(self.name)
    }
}

fn fits(segment: &str, found: &str) -> bool {
    match segment {
        "*" => true,
        "#" => found.parse::<usize>().is_ok(),
        name => name == found,
    }
}

/// The key that a path means.
pub fn find(path: &[String]) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.matches(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_allowed_by_its_own_key() {
        for key in KEYS {
            if let Some(default) = key.default {
                assert!(key.kind.read(&toml::Value::String(default.into())).is_some(), "{}", key.name);
            }
        }
    }
}
