//! `windlass types`, `windlass nodes`, `windlass type pause | resume`: what serves, and what it serves.

use serde_json::{Value, json};

use super::args::{Json, TypeArg, TypeCommand};
use super::client::{Client, encoded};
use super::exit::{CliError, Exit};
use super::output::{Output, harmless, table};
use super::view::{age, list, text};

pub async fn types(args: Json, client: &Client, out: &mut Output) -> Result<Exit, CliError> {
    let answer: Value = client.get("/api/v1/task-types", &[]).await?;
    let headings = ["type", "available", "instances", "paused", "description"];
    print(args, &answer, &headings, list(&answer, "task_types"), type_row, out)
}

fn type_row(item: &Value) -> Vec<String> {
    let name = if item.get("task_type").is_some() { "task_type" } else { "type" };
    let word = |field| match item.get(field).and_then(Value::as_bool) {
        Some(true) => "yes".to_owned(),
        Some(false) => "no".to_owned(),
        None => text(item, field),
    };
    let description = text(item.get("metadata").unwrap_or(&Value::Null), "description");
    vec![text(item, name), word("available"), text(item, "instances"), word("paused"), description]
}

pub async fn nodes(args: Json, client: &Client, out: &mut Output) -> Result<Exit, CliError> {
    let answer: Value = client.get("/api/v1/nodes", &[]).await?;
    let headings = ["node", "state", "heard", "types", "slots (busy/all)"];
    print(args, &answer, &headings, list(&answer, "nodes"), node_row, out)
}

fn node_row(node: &Value) -> Vec<String> {
    let heard = node.get("heartbeat_age_seconds").and_then(Value::as_f64);
    let types: Vec<_> = list(node, "capabilities").iter().filter_map(Value::as_str).map(harmless).collect();
    let heard = heard.map_or("-".into(), |seconds| format!("{} ago", age(seconds)));
    vec![text(node, "id"), text(node, "state"), heard, types.join(","), slots(node)]
}

/// `hello 1/4, ingest 0/2`
fn slots(node: &Value) -> String {
    let Some(by_type) = node.get("slots").and_then(Value::as_object) else { return "-".into() };
    let each =
        by_type.iter().map(|(name, it)| format!("{} {}/{}", harmless(name), text(it, "busy"), text(it, "slots")));
    each.collect::<Vec<_>>().join(", ")
}

fn print(
    args: Json,
    answer: &Value,
    headings: &[&str],
    items: &[Value],
    row: fn(&Value) -> Vec<String>,
    out: &mut Output,
) -> Result<Exit, CliError> {
    if args.json {
        out.json(answer)?;
    } else {
        out.text(&table(headings, &items.iter().map(row).collect::<Vec<_>>()))?;
    }
    Ok(Exit::Done)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_a_row_of_words() {
        let item = json!({"task_type": "hello", "available": true, "instances": 2, "paused": false,
            "metadata": {"description": "echo"}});
        assert_eq!(type_row(&item), ["hello", "yes", "2", "no", "echo"]);
    }

    #[test]
    fn a_node_is_a_row_with_its_slots() {
        let node = json!({"id": "n-1", "state": "serving", "heartbeat_age_seconds": 3.2, "capabilities": ["a", "b"],
            "slots": {"a": {"slots": 4, "busy": 1}, "b": {"slots": 2, "busy": 0}}});
        assert_eq!(node_row(&node), ["n-1", "serving", "3s ago", "a,b", "a 1/4, b 0/2"]);
    }
}
