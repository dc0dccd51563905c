//! `windlass types`, `windlass nodes`, `windlass type pause | resume`: what serves, and what it serves.

use serde_json::{Value, json};

use super::args::{Json, TypeArg, TypeCommand};
use super::client::{Client, encoded};
use super::exit::{CliError, Exit};
use super::output::{Output, table};
use super::view::{list, text};

pub async fn types(args: Json, client: &Client, out: &mut Output) -> Result<Exit, CliError> {
    let columns = ["type", "available", "instances", "metadata"];
    print(args, "/api/v1/task-types", "task_types", &columns, client, out).await
}

pub async fn nodes(args: Json, client: &Client, out: &mut Output) -> Result<Exit, CliError> {
    let columns = ["id", "state", "heartbeat_age_seconds", "capabilities", "slots"];
    print(args, "/api/v1/nodes", "nodes", &columns, client, out).await
}

async fn print(
    args: Json,
    path: &str,
    name: &str,
    columns: &[&str],
    client: &Client,
    out: &mut Output,
) -> Result<Exit, CliError> {
    let answer: Value = client.get(path, &[]).await?;
    if args.json {
        out.json(&answer)?;
    } else {
        let row = |it: &Value| columns.iter().map(|column| field(it, column)).collect();
        out.text(&table(columns, &list(&answer, name).iter().map(row).collect::<Vec<Vec<String>>>()))?;
    }
    Ok(Exit::Done)
}

/// Lists of texts are joined, and of a type's metadata people are told the description alone.
fn field(value: &Value, name: &str) -> String {
    match value.get(name) {
        Some(Value::Array(items)) => items.iter().map(of_item).collect::<Vec<_>>().join(","),
        Some(Value::Object(fields)) if fields.contains_key("description") => text(&value[name], "description"),
        _ => text(value, name),
    }
}

fn of_item(item: &Value) -> String {
    match item.get("type").or(item.get("task_type")) {
        Some(name) => name.as_str().unwrap_or_default().to_owned(),
        None => item.as_str().map_or_else(|| item.to_string(), str::to_owned),
    }
}

pub async fn type_command(command: &TypeCommand, client: &Client, out: &mut Output) -> Result<Exit, CliError> {
    match command {
        TypeCommand::Pause(args) => switch("pause", "paused", args, client, out).await,
        TypeCommand::Resume(args) => switch("resume", "resumed", args, client, out).await,
    }
}

async fn switch(verb: &str, done: &str, args: &TypeArg, client: &Client, out: &mut Output) -> Result<Exit, CliError> {
    let path = format!("/api/v1/task-types/{}/{verb}", encoded(&args.task_type));
    let answer: Value = client.post(&path, &json!({})).await?;
    if args.json.json {
        out.json(&answer)?;
    } else {
        out.line(&format!("{}  {done}", args.task_type))?;
    }
    Ok(Exit::Done)
}
