//! Follows a task: its events in order and once each, over connections that break, until it ends.

use std::time::Duration;

use super::client::{Client, encoded};
use super::event::{Ending, Event};
use super::exit::{CliError, Exit};
use super::output::Output;
use super::progress::Bar;
use super::sse::{Frame, Parser};

/// How long a gateway may be away, as in a deploy, before following ends with "unreachable".
const PATIENCE: Duration = Duration::from_secs(60);
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Refusals that a restart of the gateway or of what is before it explains, or that pass by themselves.
const PASSING: &[&str] = &["HTTP_502", "HTTP_503", "HTTP_504", "STORE_UNAVAILABLE", "TOO_MANY_STREAMS", "NOT_READY"];

impl From<Ending> for Exit {
    fn from(ending: Ending) -> Exit {
        match ending {
            Ending::Succeeded => Exit::Done,
            Ending::Failed => Exit::Failed,
            Ending::Cancelled => Exit::Cancelled,
        }
    }
}

/// Where following stands.
struct Position {
    last: u64,
    /// Set by a terminal event that nothing came after.
    ending: Option<Ending>,
    /// Sum of the pauses since something was heard.
    paused: Duration,
}

/// Prints the events after `after` as they come, and answers how the task ended.
pub async fn follow(client: &Client, id: &str, after: u64, json: bool, out: &mut Output) -> Result<Ending, CliError> {
    let mut at = Position { last: after, ending: None, paused: Duration::ZERO };
    let mut bar = Bar::on_terminal(out.is_terminal);
    loop {
        let broken = match read_stream(client, id, &mut at, json, out, &mut bar).await {
            Ok(true) => return ended(client, id, &at).await,
            Ok(false) => None,
            Err(error @ CliError::Unreachable { .. }) => Some(error),
            Err(error @ CliError::Refused { .. }) if at.ending.is_none() && is_passing(&error) => Some(error),
            Err(error) => return Err(error),
        };
        pause(&mut at, broken).await?;
    }
}

/// Waits until the task has ended, over connections that break, and answers it.
pub async fn wait(client: &Client, id: &str) -> Result<(serde_json::Value, Ending), CliError> {
    let mut at = Position { last: 0, ending: None, paused: Duration::ZERO };
    loop {
        let path = format!("/api/v1/tasks/{}", encoded(id));
        match client.get_waiting::<serde_json::Value>(&path, Duration::from_secs(30)).await {
            Ok(task) => {
                at.paused = Duration::ZERO;
                if let Some(ending) = task.get("status").and_then(|it| it.as_str()).and_then(Ending::of_status) {
                    return Ok((task, ending));
                }
            }
            Err(error) if is_passing(&error) => pause(&mut at, Some(error)).await?,
            Err(error) => return Err(error),
        }
    }
}

fn is_passing(error: &CliError) -> bool {
    match error {
        CliError::Unreachable { .. } => true,
        CliError::Refused { code, .. } => PASSING.contains(&code.as_str()),
        _ => false,
    }
}

/// Reads one connection to its end; `true`: the server closed it behind the task's last event.
async fn read_stream(
    client: &Client,
    id: &str,
    at: &mut Position,
    json: bool,
    out: &mut Output,
    bar: &mut Bar,
) -> Result<bool, CliError> {
    let path = format!("/api/v1/tasks/{}/events", encoded(id));
    let Some(mut response) = client.stream(&path, at.last).await? else { return Ok(true) };
    let mut parser = Parser::default();
    while let Some(piece) = client.next_piece(&mut response).await? {
        at.paused = Duration::ZERO;
        for frame in parser.push(&piece) {
            take(&frame, at, json, out, bar)?;
        }
    }
    Ok(at.ending.is_some())
}

/// An event that was seen before (a server that starts from the beginning) is passed over.
fn take(frame: &Frame, at: &mut Position, json: bool, out: &mut Output, bar: &mut Bar) -> Result<(), CliError> {
    let event: Event = serde_json::from_str(&frame.data)
        .map_err(|error| CliError::Failed(format!("the event stream holds something else than events ({error})")))?;
    if event.seq <= at.last {
        return Ok(());
    }
    at.last = event.seq;
    at.ending = event.ending();
    bar.show(&event);
    if json {
        return bar.beside(|| out.line(&serde_json::to_string(&event).map_err(std::io::Error::other)?));
    }
    if bar.tells(&event) { Ok(()) } else { bar.beside(|| out.line(&event.line())) }
}

async fn pause(at: &mut Position, broken: Option<CliError>) -> Result<(), CliError> {
    if at.paused >= PATIENCE {
        return Err(broken
            .unwrap_or_else(|| CliError::Failed("the event stream ends again and again before the task does".into())));
    }
    let pause = (at.paused / 2).clamp(FIRST_PAUSE, LONGEST_PAUSE);
    tokio::time::sleep(pause).await;
    at.paused += pause;
    Ok(())
}

/// Without a terminal event of our own (all were before `after`), the task's status says it.
async fn ended(client: &Client, id: &str, at: &Position) -> Result<Ending, CliError> {
    match at.ending {
        Some(ending) => Ok(ending),
        None => wait(client, id).await.map(|(_, ending)| ending),
    }
}
