//! `windlass submit`

use std::io;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::client::Client;
use super::exit::{CliError, Exit};
use super::follow;
use super::json_input::{self, Shape};
use super::output::{Output, tell};
use super::task_args::SubmitArgs;

#[derive(Serialize)]
struct Request<'a> {
    task_type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model_spec: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inference_params: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<u8>,
}

pub async fn run(args: &SubmitArgs, client: &Client, out: &mut Output) -> Result<Exit, CliError> {
    let request = request(args)?;
    let created: Value = client.post_once("/api/v1/tasks", args.idempotency_key.as_deref(), &request).await?;
    let Some(id) = created.get("task_id").and_then(Value::as_str) else {
        return Err(CliError::Failed("the gateway answered without a `task_id`".into()));
    };
    if created.get("created") == Some(&Value::Bool(false)) {
        tell("the same task was submitted before; this is its id");
    }
    announce(args, id, &created, out)?;
    finish(args, id, client, out).await
}

fn request(args: &SubmitArgs) -> Result<Request<'_>, CliError> {
    let given = [&args.payload, &args.model_spec, &args.params];
    if given.iter().filter(|it| it.as_deref() == Some("-")).count() > 1 {
        return Err(CliError::Usage("only one argument can be read from standard input".into()));
    }
    let read = |flag, argument: &Option<String>, shape| {
        argument.as_deref().map(|it| json_input::read(flag, it, shape, io::stdin())).transpose()
    };
    Ok(Request {
        task_type: &args.task_type,
        payload: read("--payload", &args.payload, Shape::Any)?,
        model_spec: read("--model-spec", &args.model_spec, Shape::Object)?,
        inference_params: read("--params", &args.params, Shape::Object)?,
        priority: args.priority,
    })
}

/// The id at once, on a line of its own. With `--json`, standard output holds JSON only.
fn announce(args: &SubmitArgs, id: &str, created: &Value, out: &mut Output) -> Result<(), CliError> {
    match (args.json.json, args.wait || args.follow) {
        (false, _) => out.line(id),
        (true, false) => out.json(created),
        (true, true) => {
            tell(id);
            Ok(())
        }
    }
}

async fn finish(args: &SubmitArgs, id: &str, client: &Client, out: &mut Output) -> Result<Exit, CliError> {
    let mut exit = Exit::Done;
    if args.follow {
        exit = follow::follow(client, id, 0, args.json.json, out).await?.into();
    }
    if args.wait {
        let (task, ending) = follow::wait(client, id).await?;
        out.json(&task)?;
        exit = ending.into();
    }
    Ok(exit)
}
