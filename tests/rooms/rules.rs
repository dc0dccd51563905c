//! Who may see whom. Read it beside the drawing in ARCHITECTURE.md; a new room is a row here.

/// A crate of this workspace and where its source is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Crate {
    Actors,
    Node,
}

impl Crate {
    /// The name that others import it by.
    pub fn name(self) -> &'static str {
        match self {
            Crate::Actors => "windlass_actors",
            Crate::Node => "windlass",
        }
    }

    pub fn folder(self) -> &'static str {
        match self {
            Crate::Actors => "actors/src",
            Crate::Node => "src",
        }
    }
}

/// One room: a folder (or file), and what it may see besides itself.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    pub inside: Crate,
    pub path: &'static str,
    /// Other rooms of the same crate.
    pub rooms: &'static [&'static str],
    /// Rooms of `windlass_actors`, for those of the node.
    pub actors: &'static [&'static str],
    /// Crates, or modules of them; empty: any that has no other home ([`HOMES`]).
    pub crates: &'static [&'static str],
}

const ANY: &[&str] = &["*"];
const CORE: &[&str] = &["domain", "ports"];

pub const ROOMS: &[Room] = &[
    actors("domain", &[], &["std", "serde", "uuid"]),
    actors("decide", &["domain"], &["std", "serde", "uuid"]),
    actors("ports", &["domain"], PORTS_SEE),
    actors("supervise", &[], SUPERVISE_SEES),
    actors("tree", &["domain", "decide", "ports", "supervise"], TREE_SEES),
    actors("invariants", &["domain", "ports"], &["std"]),
    node("gateway", &[], CORE),
    node("config", &[], &["domain"]),
    node("telemetry", &["config"], &[]),
    node("boot", ANY, ANY),
    node("cli", ANY, ANY),
    node("main", ANY, ANY),
];

/// Waiting, telling and giving up are part of what a port promises, so it names tokio's types for them. JSON is cut
/// and cleaned in `ports::rules`, the same for every store.
const PORTS_SEE: &[&str] = &[
    "std",
    "async_trait",
    "serde",
    "serde_json",
    "thiserror",
    "tokio::sync",
    "tokio::time::Instant",
    "tokio_util::sync::CancellationToken",
    "uuid",
];

const SUPERVISE_SEES: &[&str] =
    &["std", "futures_util", "ractor", "serde", "serde_json", "thiserror", "tokio", "tokio_util", "tracing"];

const TREE_SEES: &[&str] =
    &["std", "async_trait", "futures_util", "serde", "serde_json", "tokio", "tokio_util", "tracing", "uuid"];

/// Crates and modules that have a home, and are named nowhere else. `actors` names none but its own.
pub const HOMES: &[(&str, &[&str])] = &[
    ("ractor", &["supervise"]),
    ("sqlx", &["adapters/sqlite", "adapters/postgres"]),
    ("lapin", &["adapters/rabbitmq"]),
    ("axum", &["gateway"]),
    ("utoipa", &["gateway"]),
    ("clap", &["cli"]),
];

/// What no file of the executor names, its tests and its testkit included.
pub const NOT_IN_ACTORS: &[&str] = &[
    "axum",
    "hyper",
    "lapin",
    "libc",
    "reqwest",
    "rustix",
    "sqlx",
    "std::env",
    "std::fs",
    "std::net",
    "std::os",
    "std::process",
    "tokio::fs",
    "tokio::net",
    "tokio::process",
    "tokio::signal",
];

/// Modules that only tests see, and the roots that only say what there is.
pub const EXEMPT: &[(Crate, &str)] = &[(Crate::Actors, "testkit"), (Crate::Actors, "lib"), (Crate::Node, "lib")];

const fn actors(path: &'static str, rooms: &'static [&'static str], crates: &'static [&'static str]) -> Room {
    Room { inside: Crate::Actors, path, rooms, actors: &[], crates }
}

const fn node(path: &'static str, rooms: &'static [&'static str], actors: &'static [&'static str]) -> Room {
    Room { inside: Crate::Node, path, rooms, actors, crates: &[] }
}

/// The room of a module. Each adapter is a room of its own: it sees neither its neighbours nor what joins them.
pub fn room_of(inside: Crate, module: &[&str]) -> Option<Room> {
    match (inside, module) {
        (Crate::Node, ["adapters"]) => Some(node("adapters", &[], &[])),
        (Crate::Node, ["adapters", ..]) => Some(node("adapters", &[], CORE)),
        _ => ROOMS.iter().copied().find(|room| room.inside == inside && module.first() == Some(&room.path)),
    }
}

/// What a module may call itself: its room, or its adapter.
pub fn home(module: &[&str]) -> String {
    match module {
        ["adapters", adapter, ..] => format!("adapters/{adapter}"),
        [room, ..] => (*room).to_owned(),
        [] => String::new(),
    }
}
