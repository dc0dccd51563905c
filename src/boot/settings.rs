//! From the configuration to what tree, gateway and discovery are told.

use std::collections::BTreeMap;
use std::time::Duration;

use uuid::Uuid;
use windlass_actors::decide::retry::RetryPolicy;
use windlass_actors::domain::{Incarnation, NodeId, Owner};
use windlass_actors::ports::rules::Sizes;
use windlass_actors::tree;

use crate::adapters::runner::{DiscoverOptions, TypeOverride};
use crate::adapters::sqlite;
use crate::config::{self, Config};
use crate::gateway;

/// How long describing a folder of plugins may take: an import may load a framework.
const DESCRIBING: Duration = Duration::from_secs(60);

pub fn tree(config: &Config, data_uuid: Uuid) -> tree::Settings {
    let node = &config.node;
    let owner = Owner { node: NodeId(node.id.clone()), incarnation: Incarnation(Uuid::now_v7()), lease: node.lease };
    tree::Settings {
        owner,
        data_uuid,
        renew: node.renew,
        reap: node.reap,
        reap_grace: node.reap_grace,
        cancel_grace: node.cancel_grace,
        neighbour_grace: node.neighbour_grace,
        drain_grace: node.drain_grace,
        idle_claim: node.idle_claim,
        heartbeat: node.heartbeat,
        keep: node.keep,
        retry: RetryPolicy { base: config.retry.base, cap: config.retry.cap },
    }
}

pub fn store(config: &Config) -> sqlite::Options {
    let sizes = Sizes { event: config.gateway.max_event, result: config.gateway.max_result, ..Sizes::default() };
    let readers = config.database.max_connections.max(1);
    sqlite::Options { readers, busy_for: config.database.statement_timeout, sizes, ..sqlite::Options::default() }
}

pub fn gateway(config: &Config) -> gateway::Settings {
    let from = &config.gateway;
    gateway::Settings {
        keys: from.keys.iter().map(key).collect(),
        offline: match from.offline {
            config::Offline::Reject => gateway::Offline::Reject,
            config::Offline::Accept => gateway::Offline::Accept,
        },
        max_payload: from.max_payload,
        max_connections: from.max_connections,
        max_streams: from.max_streams,
        believed: config.node.believed,
        ..gateway::Settings::default()
    }
}

fn key(from: &config::ApiKey) -> gateway::ApiKey {
    let role = match from.role {
        config::Role::Read => gateway::Role::Read,
        config::Role::Submit => gateway::Role::Submit,
        config::Role::Operate => gateway::Role::Operate,
    };
    let key = gateway::ApiKey::new(&from.name, from.key.reveal(), &from.owner, role);
    gateway::ApiKey { client_role: from.client_role.clone(), ..key }
}

pub fn discovery(config: &Config) -> DiscoverOptions {
    let is_there = |folder: &&std::path::PathBuf| !config.node.plugins_by_default || folder.exists();
    DiscoverOptions {
        folders: config.node.plugins.iter().filter(is_there).cloned().collect(),
        overrides: overrides(config),
        max_attempts: config.retry.max_attempts,
        timeout: DESCRIBING,
    }
}

fn overrides(config: &Config) -> BTreeMap<String, TypeOverride> {
    config.types.iter().map(|(name, from)| (name.clone(), of_type(from))).collect()
}

fn of_type(from: &config::TypeOverride) -> TypeOverride {
    TypeOverride {
        python: from.python.as_ref().map(|path| path.to_string_lossy().into_owned()),
        host_group: from.host_group.clone(),
        timeout: from.timeout,
        max_timeout: from.max_timeout,
        max_attempts: from.max_attempts,
        processes: from.processes,
        worker_threads: from.worker_threads,
        memory_mb: from.memory_mb,
        max_running: from.max_running,
        starts_per_minute: from.starts_per_minute,
        max_tasks_per_process: from.max_tasks_per_process.map(u64::from),
        start_timeout: from.start_timeout,
    }
}
