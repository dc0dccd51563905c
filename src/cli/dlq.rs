//! `windlass dlq list | show | replay | discard`: the waiting room.

use serde_json::{Value, json};

use super::client::Client;
use super::exit::{CliError, Exit};
use super::output::Output;
use super::task;
use super::task_args::{DlqActArgs, DlqCommand, DlqListArgs, Filter};

pub async fn run(command: &DlqCommand, client: &Client, out: &mut Output) -> Result<Exit, CliError> {
    match command {
        DlqCommand::List(args) => list(args, client, out).await,
        DlqCommand::Show(args) => task::show(args, client, out).await,
        DlqCommand::Replay(args) => act("replay", "queued again", args, client, out).await,
        DlqCommand::Discard(args) => act("discard", "discarded", args, client, out).await,
    }
}

async fn list(args: &DlqListArgs, client: &Client, out: &mut Output) -> Result<Exit, CliError> {
    let mut query = Vec::new();
    query.extend(args.task_type.clone().map(|it| ("task_type", it)));
    query.extend(args.owner.clone().map(|it| ("owner", it)));
    task::print_pages("/api/v1/dead-letters", query, args.limit as usize, args.json.json, client, out).await
}

async fn act(verb: &str, done: &str, args: &DlqActArgs, client: &Client, out: &mut Output) -> Result<Exit, CliError> {
    let answer: Value = client.post(&format!("/api/v1/dead-letters/{verb}"), &which(args)).await?;
    task::print_many(&answer, done, args.json.json, out)
}

/// Ids, or a filter; the empty filter of `--all` means everything.
fn which(args: &DlqActArgs) -> Value {
    if !args.ids.is_empty() {
        return json!({"ids": args.ids, "dry_run": args.dry_run});
    }
    let filter = Filter { status: None, task_type: args.task_type.clone(), owner: args.owner.clone() };
    json!({"filter": task::filter(&filter), "dry_run": args.dry_run})
}
