//! The one conversion: settings that are allowed by themselves to a [`Config`] that is allowed as a whole.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use super::fault::{Fault, Source};
use super::keys::{MAX_SLOTS, MIN_KEY};
use super::resolved::*;
use super::secret::Secret;
use super::settings::Settings;

/// Builds the configuration; what does not go together is added to `faults`.
pub fn resolve(settings: &Settings, host_name: &str, faults: &mut Vec<Fault>) -> Config {
    check_pairs(settings, faults);
    let data: PathBuf = settings.take("node.data");
    let config = Config {
        database: Database {
            path: database_path(settings, &data, faults),
            max_connections: settings.take::<u64>("database.max_connections") as u32,
            statement_timeout: settings.take("database.statement_timeout"),
        },
        node: node(settings, data, host_name),
        gateway: gateway(settings, faults),
        retry: Retry {
            base: settings.take("retry.base"),
            cap: settings.take("retry.cap"),
            max_attempts: settings.take::<u64>("retry.max_attempts") as u32,
        },
        types: settings
            .below("types")
            .into_iter()
            .map(|name| (name.clone(), type_override(settings, &name, faults)))
            .collect(),
        log: Log { filter: settings.take("log.filter"), format: log_format(&settings.take::<String>("log.format")) },
        client: Client { url: client_url(settings, faults), api_key: settings.get("client.api_key") },
        entries: Vec::new(),
    };
    check_listen(settings, &config.gateway, faults);
    config
}

/// `sqlite://FILE`, `sqlite:FILE`; the other urls of the contract are refused by name.
fn database_path(settings: &Settings, data: &std::path::Path, faults: &mut Vec<Fault>) -> PathBuf {
    let Some(url) = settings.get::<String>("database.url") else { return data.join("windlass.db") };
    let file = url.strip_prefix("sqlite://").or_else(|| url.strip_prefix("sqlite:"));
    match file.filter(|file| !file.is_empty() && !file.contains(['?', '#']) && *file != ":memory:") {
        Some(file) => file.into(),
        None => {
            let scheme = url.split(':').next().unwrap_or_default();
            let known = matches!(scheme, "postgres" | "postgresql" | "http" | "https");
            let reason =
                if known { format!(" (`{scheme}` is not supported by this build yet)") } else { String::new() };
            faults.push(settings.fault("database.url", format!("`sqlite://FILE`, without a query{reason}")));
            PathBuf::new()
        }
    }
}

fn node(settings: &Settings, data: PathBuf, host_name: &str) -> Node {
    Node {
        id: settings.get("node.id").unwrap_or_else(|| sanitised(host_name)),
        listen: settings.take("node.listen"),
        plugins: settings.take("node.plugins"),
        plugins_by_default: settings.source("node.plugins") == Source::Default,
        on_plugin_error: match settings.take::<String>("node.on_plugin_error").as_str() {
            "fail" => OnPluginError::Fail,
            _ => OnPluginError::Skip,
        },
        lease: settings.take("node.lease"),
        renew: settings.take("node.renew"),
        reap: settings.take("node.reap"),
        reap_grace: settings.take("node.reap_grace"),
        cancel_grace: settings.take("node.cancel_grace"),
        drain_grace: settings.take("node.drain_grace"),
        neighbour_grace: settings.take("node.neighbour_grace"),
        idle_claim: settings.take("node.idle_claim"),
        heartbeat: settings.take("node.heartbeat"),
        believed: settings.take("node.believed"),
        keep: settings.take("node.keep"),
        data,
    }
}

/// A host's name as a node's name: what is not allowed becomes `-`.
fn sanitised(host_name: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() || ".-_".contains(c) { c } else { '-' };
    let name: String =
        host_name.trim().chars().map(allowed).skip_while(|c| !c.is_ascii_alphanumeric()).take(64).collect();
    if name.is_empty() { "node".into() } else { name }
}

fn gateway(settings: &Settings, faults: &mut Vec<Fault>) -> Gateway {
    Gateway {
        listen: settings.take("gateway.listen"),
        offline: match settings.take::<String>("gateway.offline").as_str() {
            "accept" => Offline::Accept,
            _ => Offline::Reject,
        },
        max_payload: settings.take::<u64>("gateway.max_payload") as usize,
        max_result: settings.take::<u64>("gateway.max_result") as usize,
        max_event: settings.take::<u64>("gateway.max_event") as usize,
        max_connections: settings.take::<u64>("gateway.max_connections") as usize,
        max_streams: settings.take::<u64>("gateway.max_streams") as usize,
        keys: api_keys(settings, faults),
    }
}

fn api_keys(settings: &Settings, faults: &mut Vec<Fault>) -> Vec<ApiKey> {
    let (mut names, mut texts) = (BTreeSet::new(), BTreeSet::new());
    let mut positions = settings.below("gateway.keys");
    positions.sort_by_key(|it| it.parse::<usize>().unwrap_or(usize::MAX));
    let keys = positions.iter().filter_map(|position| {
        let key = api_key(settings, &format!("gateway.keys.{position}"), faults)?;
        let at = |leaf| format!("gateway.keys.{position}.{leaf}");
        if !names.insert(key.name.clone()) {
            faults.push(settings.fault(&at("name"), "a name that no other key has"));
        }
        if !texts.insert(key.key.reveal().to_owned()) {
            faults.push(settings.fault(&at("key"), "a key that no other name has"));
        }
        if key.key.reveal().chars().count() < MIN_KEY {
            faults.push(settings.fault(&at("key"), format!("{MIN_KEY} characters or more")));
        }
        Some(key)
    });
    keys.collect()
}

/// `None` if a part is missing. A part that was there and not allowed has its fault already; a second one is harmless.
fn api_key(settings: &Settings, at: &str, faults: &mut Vec<Fault>) -> Option<ApiKey> {
    let name = settings.get::<String>(&format!("{at}.name"));
    let key = settings.get::<Secret>(&format!("{at}.key"));
    let role = settings.get::<String>(&format!("{at}.role"));
    for (leaf, is_missing) in [("name", name.is_none()), ("key", key.is_none()), ("role", role.is_none())] {
        let full = format!("{at}.{leaf}");
        if is_missing && !faults.iter().any(|fault| fault.key == full) {
            faults.push(settings.fault(&full, "each of `name`, `key` and `role` in a `[[gateway.keys]]`"));
        }
    }
    let name = name?;
    Some(ApiKey {
        owner: settings.get(&format!("{at}.owner")).unwrap_or_else(|| name.clone()),
        key: key?,
        role: match role?.as_str() {
            "operate" => Role::Operate,
            "read" => Role::Read,
            _ => Role::Submit,
        },
        client_role: settings.get(&format!("{at}.client_role")),
        name,
    })
}

fn type_override(settings: &Settings, name: &str, faults: &mut Vec<Fault>) -> TypeOverride {
    let at = |leaf: &str| format!("types.{name}.{leaf}");
    let count = |leaf| settings.get::<u64>(&at(leaf)).map(|it| it as u32);
    let duration = |leaf| settings.get::<Duration>(&at(leaf));
    let it = TypeOverride {
        python: settings.get(&at("python")),
        host_group: settings.get(&at("host_group")),
        timeout: duration("timeout"),
        max_timeout: duration("max_timeout"),
        max_attempts: count("max_attempts"),
        processes: count("processes"),
        worker_threads: count("worker_threads"),
        memory_mb: settings.get(&at("memory_mb")),
        max_running: count("max_running"),
        starts_per_minute: count("starts_per_minute"),
        max_tasks_per_process: count("max_tasks_per_process"),
        start_timeout: duration("start_timeout"),
    };
    let slots = u64::from(it.processes.unwrap_or(1)) * u64::from(it.worker_threads.unwrap_or(1));
    if slots > MAX_SLOTS {
        faults.push(
            settings
                .fault(&at("processes"), format!("`processes × worker_threads` of {MAX_SLOTS} at most, not {slots}")),
        );
    }
    if let (Some(timeout), Some(most)) = (it.timeout, it.max_timeout)
        && timeout > most
    {
        faults.push(
            settings.fault(&at("timeout"), format!("at most `max_timeout`, {}", humantime::format_duration(most))),
        );
    }
    it
}

fn log_format(word: &str) -> LogFormat {
    match word {
        "text" => LogFormat::Text,
        "json" => LogFormat::Json,
        _ => LogFormat::Auto,
    }
}

fn client_url(settings: &Settings, faults: &mut Vec<Fault>) -> String {
    let url: String = settings.take("client.url");
    if !["http://", "https://"].iter().any(|scheme| url.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty())) {
        faults.push(settings.fault("client.url", "`http://HOST:PORT` or `https://HOST:PORT`"));
    }
    url.trim_end_matches('/').to_owned()
}

/// Pairs of durations whose order keeps the promises: a lease is renewed twice before it is over, and so on.
fn check_pairs(settings: &Settings, faults: &mut Vec<Fault>) {
    let pairs =
        [("node.renew", 2, "node.lease"), ("node.heartbeat", 2, "node.believed"), ("retry.base", 1, "retry.cap")];
    for (small, times, large) in pairs {
        let (little, much): (Duration, Duration) = (settings.take(small), settings.take(large));
        if little * times > much {
            let part = if times == 2 { "half of " } else { "" };
            let much = humantime::format_duration(much);
            faults.push(settings.fault(small, format!("at most {part}`{large}`, which is {much}")));
        }
    }
}

fn check_listen(settings: &Settings, gateway: &Gateway, faults: &mut Vec<Fault>) {
    if !gateway.listen.ip().is_loopback() && settings.below("gateway.keys").is_empty() {
        let allowed = "a loopback address such as `127.0.0.1:7420`, or any address together with `[[gateway.keys]]`";
        faults.push(settings.fault("gateway.listen", allowed));
    }
}

#[cfg(test)]
mod tests {
    use super::sanitised;

    #[test]
    fn a_host_name_becomes_an_allowed_node_name() {
        assert_eq!(sanitised("gpu-7.example.org\n"), "gpu-7.example.org");
        assert_eq!(sanitised("_böx 1"), "b-x-1");
        assert_eq!(sanitised(""), "node");
        assert_eq!(sanitised(&"a".repeat(200)).len(), 64);
    }
}
