//! `windlass demo`: the embedded default in a temporary folder, the `ingest` example on real documents, each step shown.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use windlass_actors::tree::Node;

use super::args::DemoArgs;
use super::client::Client;
use super::event::Ending;
use super::exit::{CliError, Exit};
use super::follow;
use super::output::{Output, tell};
use crate::adapters::runner::sdk;
use crate::boot::{Embedded, Signals};
use crate::config::{self, Config};

/// How long the node may take until it can serve.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// The document of a demo that was given none.
const README: &str = include_str!("../../README.md");

pub async fn run(args: &DemoArgs, mut config: Config, out: &mut Output) -> Result<Exit, CliError> {
    let folder = tempfile::Builder::new().prefix("windlass-demo-").tempdir()?;
    let files = documents(args, folder.path())?;
    place(&mut config, folder.path())?;
    let signals = Signals::listen()?;
    let (stop, hurry) = (CancellationToken::new(), CancellationToken::new());
    let passing = signals.pass_on(stop.clone(), hurry.clone());
    let showing = async {
        let embedded = Embedded::start(&config, false).await?;
        let url = format!("http://{}", embedded.address());
        let done = {
            let work = ingest_all(&files, &url, folder.path(), out, until_ready(embedded.node()));
            tokio::select! {
                done = work => done,
                () = stop.cancelled() => Ok(Exit::Cancelled),
            }
        };
        if args.keep && done.is_ok() && !stop.is_cancelled() {
            tell(&format!(
                "windlass: still running on {url} with its data in {}; Ctrl-C ends it",
                folder.path().display()
            ));
        } else {
            stop.cancel();
        }
        embedded.run(stop.clone(), hurry.clone()).await;
        done
    };
    tokio::select! {
        () = passing => Ok(Exit::Done),
        done = showing => done,
    }
}

fn documents(args: &DemoArgs, folder: &Path) -> Result<Vec<PathBuf>, CliError> {
    if args.files.is_empty() {
        let readme = folder.join("README.md");
        std::fs::write(&readme, README)?;
        return Ok(vec![readme]);
    }
    // the plugin runs elsewhere, and says itself what is wrong with a file
    Ok(args.files.iter().map(std::path::absolute).collect::<Result<_, _>>()?)
}

/// Everything in the folder, on a free port, with the examples as the only plugins.
fn place(config: &mut Config, folder: &Path) -> Result<(), CliError> {
    config.node.data = folder.join("data");
    config.database.path = folder.join("data/windlass.db");
    config.node.plugins = vec![sdk::materialise_examples(folder)?];
    config.node.plugins_by_default = false;
    config.node.on_plugin_error = config::OnPluginError::Fail;
    config.types.clear();
    config.gateway.keys.clear();
    config.gateway.listen = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    Ok(())
}

/// An error with the reasons once waiting is of no use.
async fn until_ready(node: &Node) -> Result<(), CliError> {
    let health = &node.shared().health;
    let reasons = || health.readiness().reasons.join("; ");
    let settled = async {
        loop {
            if health.readiness().ready {
                return Ok(());
            }
            if health.types().values().any(|health| health.parked.is_some()) {
                return Err(CliError::Failed(format!("the node cannot serve: {}", reasons())));
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        settled = settled => settled,
        exit = node.ended() => Err(CliError::Failed(format!("the supervision tree ended: {exit:?}; {}", reasons()))),
        () = tokio::time::sleep(READY_WITHIN) => {
            Err(CliError::Failed(format!("the node was not ready within {} s: {}", READY_WITHIN.as_secs(), reasons())))
        }
    }
}

async fn ingest_all(
    files: &[PathBuf],
    url: &str,
    folder: &Path,
    out: &mut Output,
    ready: impl Future<Output = Result<(), CliError>>,
) -> Result<Exit, CliError> {
    let client = Client::new(&config::Client { url: url.to_owned(), api_key: None })?;
    ready.await?;
    let index = folder.join("index.sqlite");
    let mut exit = Exit::Done;
    for file in files {
        if ingest(&client, file, &index, out).await? != Ending::Succeeded {
            exit = Exit::Failed;
        }
    }
    Ok(exit)
}

async fn ingest(client: &Client, file: &Path, index: &Path, out: &mut Output) -> Result<Ending, CliError> {
    let request = json!({
        "task_type": "ingest",
        "payload": { "path": file, "index": index },
        "max_attempts": 1,
    });
    let created: Value = client.post_once("/api/v1/tasks", None, &request).await?;
    let id = created["task_id"].as_str().unwrap_or_default();
    tell(&format!("windlass: ingesting {} as task {id}", file.display()));
    let ending = follow::follow(client, id, 0, false, out).await?;
    let task: Value = client.get(&format!("/api/v1/tasks/{id}"), &[]).await?;
    show(&task, file, out)?;
    Ok(ending)
}

fn show(task: &Value, file: &Path, out: &mut Output) -> Result<(), CliError> {
    if let Some(error) = task.get("error").filter(|error| !error.is_null()) {
        let text = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        tell(&format!("windlass: {} failed: {}: {}", file.display(), text("code"), text("detail")));
        return Ok(());
    }
    let result = &task["result"];
    out.json(result)?;
    let chunks = result["chunks"].as_u64().unwrap_or(0);
    out.line(&format!("{}: {chunks} chunks", file.display()))
}
