//! Holds every source file against the rules.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use super::imports::{Import, imports};
use super::rules::{Crate, EXEMPT, HOMES, NOT_IN_ACTORS, Room, home, room_of};
use super::scan::tokens;

/// A source file: where it is, and its module within its crate.
struct Source {
    inside: Crate,
    path: PathBuf,
    module: Vec<String>,
    text: String,
}

impl Source {
    fn module(&self) -> Vec<&str> {
        self.module.iter().map(String::as_str).collect()
    }

    fn is_exempt(&self) -> bool {
        let tests = self.module.iter().any(|name| name == "tests");
        tests
            || EXEMPT
                .iter()
                .any(|(inside, name)| *inside == self.inside && self.module.first().is_some_and(|m| m == name))
    }

    fn says(&self, line: usize, what: &str) -> String {
        format!("{}:{line}: {what}", self.path.display())
    }
}

fn sources(inside: Crate) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(inside.folder());
    let mut files = Vec::new();
    collect(&root, &mut files);
    assert!(files.len() > 20, "the source of {} is in {}", inside.name(), root.display());
    files.into_iter().map(|file| source(inside, &root, &file)).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.extension().and_then(|e| e.to_str()) {
            Some("rs") => files.push(path),
            _ if path.is_dir() => collect(&path, files),
            _ => {}
        }
    }
}

fn source(inside: Crate, root: &Path, file: &Path) -> Source {
    let below = file.strip_prefix(root).unwrap();
    let mut module: Vec<String> =
        below.with_extension("").iter().map(|name| name.to_string_lossy().into_owned()).collect();
    if module.last().is_some_and(|name| name == "mod") {
        module.pop();
    }
    Source { inside, path: Path::new(inside.folder()).join(below), module, text: fs::read_to_string(file).unwrap() }
}

/// What a file imports against the rules.
fn violations(source: &Source) -> Vec<String> {
    let module = source.module();
    let found = imports(&source.text, &module);
    let room = room_of(source.inside, &module);
    if room.is_none() && !source.is_exempt() {
        return vec![source.says(1, "it is in no room: give it one in tests/rooms/rules.rs")];
    }
    let seen = room.filter(|_| !source.is_exempt());
    let wrong = |import: &Import| {
        banned(source, import).or_else(|| seen.as_ref().and_then(|room| not_allowed(source, room, import)))
    };
    found.iter().filter_map(wrong).collect()
}

/// Names a crate that is nothing to the executor, or that has its home elsewhere.
fn banned(source: &Source, import: &Import) -> Option<String> {
    let written = import.path.join("::");
    let names = |what: &str| !import.ours && within(&written, what);
    if source.inside == Crate::Actors && NOT_IN_ACTORS.iter().any(|what| names(what)) {
        let what = "the executor knows no database, broker, process, socket or file: that is an adapter's, in src/";
        return Some(source.says(import.line, &format!("imports `{written}`; {what}")));
    }
    let here = home(&source.module());
    let (_, homes) = HOMES.iter().find(|(what, homes)| names(what) && !homes.contains(&here.as_str()))?;
    Some(source.says(import.line, &format!("`{here}` imports `{written}`; allowed only in {}", list(homes))))
}

/// Names a room, or a crate, that its own room does not see.
fn not_allowed(source: &Source, room: &Room, import: &Import) -> Option<String> {
    let written = import.path.join("::");
    let here = home(&source.module());
    if import.ours {
        let own = written.replace("::", "/");
        let fits = within_path(&own, &here) || sees(room.rooms, import.path.first());
        return (!fits).then(|| source.says(import.line, &told(&here, &written, room.rooms)));
    }
    let mut path = import.path.iter();
    match path.next().map(String::as_str) {
        Some("windlass_actors") => {
            let fits = sees(room.actors, path.next());
            (!fits).then(|| source.says(import.line, &told(&here, &written, room.actors)))
        }
        Some(first) if is_crate(first) && !room.crates.is_empty() => {
            let fits = room.crates.iter().any(|allowed| within(&written, allowed));
            (!fits).then(|| source.says(import.line, &told(&here, &written, room.crates)))
        }
        _ => None,
    }
}

fn told(here: &str, written: &str, allowed: &[&str]) -> String {
    format!("`{here}` imports `{written}`; allowed is {}", list(allowed))
}

fn list(allowed: &[&str]) -> String {
    if allowed.is_empty() { "nothing of that kind".to_owned() } else { format!("`{}`", allowed.join("`, `")) }
}

fn sees(rooms: &[&str], name: Option<&String>) -> bool {
    rooms.contains(&"*") || name.is_some_and(|name| rooms.contains(&name.as_str()))
}

fn within(written: &str, what: &str) -> bool {
    written == what || written.strip_prefix(what).is_some_and(|rest| rest.starts_with("::"))
}

fn within_path(written: &str, what: &str) -> bool {
    written == what || written.strip_prefix(what).is_some_and(|rest| rest.starts_with('/'))
}

/// Whether a path's first word is a crate: what a manifest lists, or comes with the compiler.
fn is_crate(name: &str) -> bool {
    static LISTED: LazyLock<HashSet<String>> = LazyLock::new(|| {
        let lines = [include_str!("../../Cargo.toml"), include_str!("../../actors/Cargo.toml")].map(str::lines);
        let keys = lines.into_iter().flatten().filter_map(|line| line.split(['=', '.']).next());
        keys.map(|key| key.trim().replace('-', "_")).collect()
    });
    ["std", "core", "alloc"].contains(&name) || LISTED.contains(name)
}

#[test]
fn every_room_imports_only_what_it_sees() {
    let wrong: Vec<String> =
        [Crate::Actors, Crate::Node].into_iter().flat_map(sources).flat_map(|source| violations(&source)).collect();
    assert!(wrong.is_empty(), "the import rule (ARCHITECTURE.md) is broken:\n{}", wrong.join("\n"));
}

#[test]
fn nothing_awaits_in_domain_and_decide() {
    for source in sources(Crate::Actors) {
        if ["domain", "decide"].iter().any(|room| source.module.first().is_some_and(|m| m == room)) {
            let waits = tokens(&source.text).into_iter().find(|token| token.is("await") || token.is("async"));
            assert!(waits.is_none(), "{}", source.says(waits.map_or(0, |t| t.line), "a decision waits for nothing"));
        }
    }
}

/// What the check says to a line in a file.
fn said(inside: Crate, module: &str, line: &str) -> Vec<String> {
    let path = Path::new(inside.folder()).join(module).with_extension("rs");
    let module = module.split('/').map(str::to_owned).collect();
    violations(&Source { inside, path, module, text: line.to_owned() })
}

#[test]
fn what_breaks_the_rule_is_named_with_file_line_and_what_is_allowed() {
    let found = said(Crate::Actors, "decide/credit", "\nuse crate::{domain::Task, ports::Ledger};");
    assert_eq!(found, ["actors/src/decide/credit.rs:2: `decide` imports `ports::Ledger`; allowed is `domain`"]);
    let broken = [
        (Crate::Actors, "domain/task", "use crate::decide;"),
        (Crate::Actors, "domain/task", "use tokio::time::Instant;"),
        (Crate::Actors, "ports/ledger", "fn f() { crate::decide::retry::delay() }"),
        (Crate::Actors, "ports/ledger", "use tokio::time::sleep;"),
        (Crate::Actors, "supervise/child", "use super::super::domain::Task;"),
        (Crate::Actors, "tree/node", "use ractor::Actor;"),
        (Crate::Actors, "tree/node", "use std::{fs, sync::Arc};"),
        (Crate::Actors, "testkit/memory", "use std::fs::File;"),
        (Crate::Actors, "news", "use std::sync::Arc;"),
        (Crate::Node, "adapters/runner/host", "use crate::adapters::sqlite::SqliteStore;"),
        (Crate::Node, "adapters/runner/host", "use windlass_actors::decide::retry;"),
        (Crate::Node, "adapters/runner/host", "use crate::config::Settings;"),
        (Crate::Node, "gateway/app", "use windlass_actors::tree::Node;"),
        (Crate::Node, "gateway/app", "use windlass_actors::*;"),
        (Crate::Node, "gateway/app", "use crate::adapters::sqlite::SqliteStore;"),
        (Crate::Node, "gateway/app", "fn f() -> sqlx::Result<()> {}"),
        (Crate::Node, "boot/embedded", "use sqlx::Row;"),
    ];
    for (inside, module, line) in broken {
        assert_eq!(said(inside, module, line).len(), 1, "{module}: {line}");
    }
}

#[test]
fn what_the_rule_allows_is_not_complained_of() {
    let fine = [
        (Crate::Actors, "domain/task", "use super::Epoch; use serde::Serialize; use uuid::Uuid;"),
        (Crate::Actors, "decide/verdict", "use super::retry::delay; use crate::domain::Task;"),
        (Crate::Actors, "tree/node", "use crate::{decide::retry, supervise::Root}; use super::pools::PoolMsg;"),
        (Crate::Actors, "domain/task", "#[cfg(test)] mod tests { use crate::tree::Node; }"),
        (Crate::Node, "adapters/sqlite/row", "use crate::adapters::sqlite::verb::Verb; use sqlx::Row;"),
        (Crate::Node, "adapters/sqlite/row", "use windlass_actors::{domain::Task, ports::Ledger};"),
        (Crate::Node, "boot/embedded", "use windlass_actors::tree::Node; use crate::gateway::App;"),
    ];
    for (inside, module, line) in fine {
        assert_eq!(said(inside, module, line), [""; 0], "{module}: {line}");
    }
}
