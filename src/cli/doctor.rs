//! `windlass doctor`: checks the deployment, a line each, with the remedy.

use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use super::args::Json;
use super::exit::{CliError, Exit};
use super::migrate;
use super::output::{Output, table};
use crate::adapters::sqlite::{Schema, schema};
use crate::boot::{DataFolder, FolderState, Plugins};
use crate::config::Config;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Ok,
    Warn,
    Fail,
}

#[derive(Debug, Serialize)]
struct Check {
    check: &'static str,
    verdict: Verdict,
    found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

/// Free space below which a node warns, and below which it should not start.
const LOW: u64 = 1 << 30;
const TOO_LOW: u64 = 100 << 20;

pub async fn run(json: Json, config: &Config, out: &mut Output) -> Result<Exit, CliError> {
    let mut checks = vec![data_folder(config), disk(config), database(config).await, gateway(config), keys(config)];
    checks.extend(plugins(config).await);
    if json.json {
        out.json(&checks)?;
    } else {
        let rows: Vec<Vec<String>> = checks.iter().map(row).collect();
        out.text(&table(&["", "check", "found"], &rows))?;
    }
    Ok(if checks.iter().any(|check| check.verdict == Verdict::Fail) { Exit::Failed } else { Exit::Done })
}

fn row(check: &Check) -> Vec<String> {
    let verdict = match check.verdict {
        Verdict::Ok => "ok",
        Verdict::Warn => "warn",
        Verdict::Fail => "fail",
    };
    let remedy = check.remedy.as_ref().map(|remedy| format!("; remedy: {remedy}")).unwrap_or_default();
    vec![verdict.to_owned(), check.check.to_owned(), format!("{}{remedy}", check.found)]
}

fn ok(check: &'static str, found: impl Into<String>) -> Check {
    Check { check, verdict: Verdict::Ok, found: found.into(), remedy: None }
}

fn warn(check: &'static str, found: impl Into<String>, remedy: &str) -> Check {
    Check { check, verdict: Verdict::Warn, found: found.into(), remedy: Some(remedy.to_owned()) }
}

fn fail(check: &'static str, found: impl Into<String>, remedy: &str) -> Check {
    Check { check, verdict: Verdict::Fail, found: found.into(), remedy: Some(remedy.to_owned()) }
}

fn data_folder(config: &Config) -> Check {
    let path = &config.node.data;
    let shown = path.display();
    match DataFolder::look(path) {
        Ok(FolderState::Free) => ok("data folder", format!("{shown} can be written, no node uses it now")),
        Ok(FolderState::InUse) => ok("data folder", format!("{shown} is in use by a running node")),
        Ok(FolderState::Missing) => ok("data folder", format!("{shown} is made at the first start")),
        Err(error) => fail("data folder", error.to_string(), "choose a folder with `--data DIR`"),
    }
}

fn disk(config: &Config) -> Check {
    let path = existing(&config.node.data);
    match rustix::fs::statvfs(path) {
        Ok(stat) => {
            let free = stat.f_bavail * stat.f_frsize;
            let found = format!("{} MiB free on the disk of {}", free >> 20, path.display());
            match free {
                0..TOO_LOW => fail("disk", found, "free space: a full disk stops every task"),
                TOO_LOW..LOW => warn("disk", found, "free space soon"),
                _ => ok("disk", found),
            }
        }
        Err(error) => warn("disk", format!("{}: {error}", path.display()), "look at the mount"),
    }
}

fn existing(path: &Path) -> &Path {
    path.ancestors().find(|path| path.exists()).unwrap_or_else(|| Path::new("."))
}

async fn database(config: &Config) -> Check {
    let path = &config.database.path;
    match schema(path).await {
        Ok(Schema::Absent) => ok("database", format!("{} is made at the first start", path.display())),
        Ok(found) => match migrate::describe(&found) {
            (true, says) => ok("database", format!("{}: {says}", path.display())),
            (false, says) => fail("database", format!("{}: {says}", path.display()), "as it says"),
        },
        Err(error) => fail("database", error.to_string(), "look at the file and its folder's permissions"),
    }
}

fn gateway(config: &Config) -> Check {
    let address = config.gateway.listen;
    match TcpStream::connect_timeout(&address, Duration::from_millis(500)) {
        Ok(_) => ok("gateway", format!("something answers on {address}")),
        Err(_) => ok("gateway", format!("nothing listens on {address} now: `windlass up` can")),
    }
}

fn keys(config: &Config) -> Check {
    match config.gateway.keys.len() {
        0 => warn(
            "api keys",
            "none: whoever reaches the loopback address may do everything",
            "add `[[gateway.keys]]` before others share this host",
        ),
        count => ok("api keys", format!("{count} configured")),
    }
}

async fn plugins(config: &Config) -> Vec<Check> {
    let scratch = match tempfile::tempdir() {
        Ok(folder) => folder,
        Err(error) => return vec![fail("plugins", error.to_string(), "make the temporary folder writable")],
    };
    let found = match Plugins::find(config, scratch.path(), uuid::Uuid::new_v4().to_string()).await {
        Ok(plugins) => plugins.found,
        Err(error) => return vec![fail("plugins", error.to_string(), "as it says")],
    };
    let mut checks = Vec::new();
    if let Some((path, version)) = &found.python {
        checks.push(ok("python", format!("{version} ({path})")));
    }
    checks.push(match Plugins::names(&found.types) {
        names if names.is_empty() => {
            warn("plugins", "no task types", "put a plugin into a folder and name it with `--plugins DIR`")
        }
        names => ok("plugins", format!("task types: {}", names.join(", "))),
    });
    let broken = found
        .faults
        .iter()
        .map(|fault| fail("plugins", fault.to_string(), "`windlass plugins check` shows the traceback"));
    checks.extend(broken);
    checks
}
