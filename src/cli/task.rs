//! `windlass task show | list | events | cancel | replay`

use std::io;

use serde_json::{Map, Value, json};

use super::client::{Client, encoded};
use super::event::Event;
use super::exit::{CliError, Exit};
use super::follow;
use super::json_input::{self, Shape};
use super::output::{Output, table, tell};
use super::task_args::{CancelArgs, EventsArgs, Filter, ListArgs, ReplayArgs, TaskCommand, TaskId};
use super::view::{TASK_HEADINGS, list, task_lines, task_row, text};

pub async fn run(command: &TaskCommand, client: &Client, out: &mut Output) -> Result<Exit, CliError> {
    match command {
        TaskCommand::Show(args) => show(args, client, out).await,
        TaskCommand::List(args) => list_tasks(args, client, out).await,
        TaskCommand::Events(args) => events(args, client, out).await,
        TaskCommand::Cancel(args) if args.ids.is_empty() => cancel_matching(args, client, out).await,
        TaskCommand::Cancel(args) => cancel_each(args, client, out).await,
        TaskCommand::Replay(args) => replay(args, client, out).await,
    }
}

pub async fn show(args: &TaskId, client: &Client, out: &mut Output) -> Result<Exit, CliError> {
    let task: Value = client.get(&format!("/api/v1/tasks/{}", encoded(&args.id)), &[]).await?;
    if args.json.json {
        out.json(&task)?;
    } else {
        out.text(&task_lines(&task))?;
    }
    Ok(Exit::Done)
}

async fn list_tasks(args: &ListArgs, client: &Client, out: &mut Output) -> Result<Exit, CliError> {
    let mut query = Vec::new();
    query.extend(args.filter.status.map(|it| ("status", it.word().to_owned())));
    query.extend(args.filter.task_type.clone().map(|it| ("task_type", it)));
    query.extend(args.filter.owner.clone().map(|it| ("owner", it)));
    print_pages("/api/v1/tasks", query, args.limit as usize, args.json.json, client, out).await
}

/// Reads pages until there are `limit` tasks or no more, and prints them as one.
pub async fn print_pages(
    path: &str,
    query: Vec<(&'static str, String)>,
    limit: usize,
    json: bool,
    client: &Client,
    out: &mut Output,
) -> Result<Exit, CliError> {
    let (mut tasks, mut cursor) = (Vec::new(), None);
    loop {
        let mut page_query = query.clone();
        page_query.push(("limit", (limit - tasks.len()).min(100).to_string()));
        page_query.extend(cursor.take().map(|it: String| ("cursor", it)));
        let page: Value = client.get(path, &page_query).await?;
        let found = list(&page, "tasks");
        tasks.extend_from_slice(found);
        cursor = page.get("next_cursor").and_then(Value::as_str).map(str::to_owned);
        if tasks.len() >= limit || cursor.is_none() || found.is_empty() {
            break;
        }
    }
    tasks.truncate(limit);
    if json {
        out.json(&json!({"tasks": tasks, "next_cursor": cursor}))?;
    } else {
        out.text(&table(TASK_HEADINGS, &tasks.iter().map(task_row).collect::<Vec<_>>()))?;
    }
    Ok(Exit::Done)
}

async fn events(args: &EventsArgs, client: &Client, out: &mut Output) -> Result<Exit, CliError> {
    if args.follow {
        return Ok(follow::follow(client, &args.id, args.after, args.json.json, out).await?.into());
    }
    let path = format!("/api/v1/tasks/{}/events", encoded(&args.id));
    let mut after = args.after;
    loop {
        let page: Value = client.get(&path, &[("after", after.to_string())]).await?;
        let events: Vec<Event> =
            list(&page, "events").iter().filter_map(|it| serde_json::from_value(it.clone()).ok()).collect();
        let Some(last) = events.last().map(|event| event.seq).filter(|last| *last > after) else {
            return Ok(Exit::Done);
        };
        after = last;
        for event in &events {
            let line =
                if args.json.json { serde_json::to_string(event).map_err(io::Error::other)? } else { event.line() };
            out.line(&line)?;
        }
    }
}

/// Each id by itself: one that has finished already does not keep the others from being cancelled.
async fn cancel_each(args: &CancelArgs, client: &Client, out: &mut Output) -> Result<Exit, CliError> {
    let mut exit = Exit::Done;
    let body = args.reason.as_ref().map_or(json!({}), |reason| json!({"reason": reason}));
    for id in &args.ids {
        let path = format!("/api/v1/tasks/{}/cancel", encoded(id));
        match client.post::<Value>(&path, &body).await {
            Ok(task) if args.json.json => out.json(&task)?,
            Ok(task) => {
                let said = if text(&task, "status") == "cancelled" { "cancelled" } else { "cancel asked for" };
                out.line(&format!("{id}  {said}"))?;
            }
            Err(error @ CliError::Refused { .. }) => {
                tell(&format!("{id}: {error}"));
                exit = Exit::Failed;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(exit)
}

async fn cancel_matching(args: &CancelArgs, client: &Client, out: &mut Output) -> Result<Exit, CliError> {
    let body = json!({"filter": filter(&args.filter), "dry_run": args.dry_run});
    let answer: Value = client.post("/api/v1/tasks/cancel", &body).await?;
    print_many(&answer, "cancelled", args.json.json, out)
}

/// The fields that were given, so that an absent one means "any".
pub fn filter(filter: &Filter) -> Map<String, Value> {
    let fields = [
        ("status", filter.status.map(|it| it.word().to_owned())),
        ("task_type", filter.task_type.clone()),
        ("owner", filter.owner.clone()),
    ];
    fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), Value::String(value?)))).collect()
}

/// The ids as data, one a line; the sum as a message.
pub fn print_many(answer: &Value, done: &str, json: bool, out: &mut Output) -> Result<Exit, CliError> {
    if json {
        out.json(answer)?;
        return Ok(Exit::Done);
    }
    for id in list(answer, "ids") {
        out.line(id.as_str().unwrap_or_default())?;
    }
    let is_dry = answer.get("dry_run").and_then(Value::as_bool).unwrap_or(false);
    let would = if is_dry { "would be " } else { "" };
    tell(&format!("{} {would}{done}", text(answer, "matched")));
    Ok(Exit::Done)
}

async fn replay(args: &ReplayArgs, client: &Client, out: &mut Output) -> Result<Exit, CliError> {
    let payload =
        args.payload.as_deref().map(|it| json_input::read("--payload", it, Shape::Any, io::stdin())).transpose()?;
    let body = match &payload {
        Some(payload) => json!({"fresh": args.fresh, "payload": payload}),
        None => json!({"fresh": args.fresh}),
    };
    let task: Value = client.post(&format!("/api/v1/tasks/{}/replay", encoded(&args.id)), &body).await?;
    if args.json.json {
        out.json(&task)?;
    } else {
        out.line(&format!("{}  {}", args.id, text(&task, "status")))?;
    }
    Ok(Exit::Done)
}
