//! One task, and tasks in pages: reading, cancelling, replaying.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use tokio::time::{Instant, timeout_at};
use utoipa::ToSchema;
use windlass_actors::domain::{Status, TaskId};
use windlass_actors::ports::ledger::{CancelAnswer, Replay, ReplayAnswer};
use windlass_actors::ports::records::{Filter, Page};

use super::Routes;
use crate::gateway::access::Caller;
use crate::gateway::app::App;
use crate::gateway::body::{self, Raw};
use crate::gateway::fields::Reader;
use crate::gateway::hub::{hush, rung};
use crate::gateway::parameters::{Name, Parameters};
use crate::gateway::problem::{Code, Problem};
use crate::gateway::selection::LONGEST_REASON;
use crate::gateway::settings::Role;
use crate::gateway::wire::{TaskBody, TaskItem, TaskPage};

/// How often a waiting call looks at the store if nothing rings.
const LOOK: Duration = Duration::from_secs(1);

pub fn add(routes: Routes) -> Routes {
    routes
        .add::<__path_list_tasks>(get(list_tasks))
        .add::<__path_show_task>(get(show_task))
        .add::<__path_cancel_task>(post(cancel_task))
        .add::<__path_replay_task>(post(replay_task))
}

/// A task.
#[utoipa::path(
    get,
    path = "/api/v1/tasks/{id}",
    tag = "tasks",
    params(
        ("id" = String, Path, description = "The task's id"),
        ("wait" = Option<f64>, Query, description = "Seconds, to 60: answers when the task ends or the time is over")
    ),
    responses(
        (status = 200, body = TaskBody),
        (status = 400, description = "`INVALID_PARAMETER`", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "`TASK_NOT_FOUND`", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn show_task(
    State(app): State<App>,
    caller: Caller,
    name: Name,
    query: Parameters,
) -> Result<Json<TaskBody>, Problem> {
    caller.needs(Role::Read, "read tasks")?;
    let (id, wait) = (name.task()?, query.only(&["wait"])?.wait()?);
    let mut task = app.task(id, &caller).await?;
    if !wait.is_zero() && !task.status.is_terminal() {
        until_end(&app, id, Instant::now() + wait).await?;
        task = app.task(id, &caller).await?;
    }
    Ok(Json(task.into()))
}

/// Waits until the task is at an end, the time is over or the gateway stops.
async fn until_end(app: &App, id: TaskId, deadline: Instant) -> Result<(), Problem> {
    let mut bell = app.hub().watch(id).await;
    loop {
        hush(&mut bell);
        // Past every event: the standing alone is asked for.
        let standing = app.ask(app.store().events(id, i64::MAX, 1)).await?;
        if Instant::now() >= deadline || standing.is_none_or(|s| s.status.is_terminal()) {
            return Ok(());
        }
        let look = deadline.min(Instant::now() + LOOK);
        tokio::select! {
            _ = timeout_at(look, rung(&mut bell)) => {}
            () = app.shutdown().cancelled() => return Ok(()),
        }
    }
}

/// Tasks, newest first.
#[utoipa::path(
    get,
    path = "/api/v1/tasks",
    tag = "tasks",
    params(
        ("status" = Option<String>, Query, description = "One, several with commas, or the parameter again"),
        ("task_type" = Option<String>, Query),
        ("owner" = Option<String>, Query, description = "Other owners need the role `operate`"),
        ("limit" = Option<u32>, Query, description = "1 to 200; 50 if not given"),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before")
    ),
    responses(
        (status = 200, body = TaskPage),
        (status = 400, description = "`INVALID_PARAMETER`", body = Problem, content_type = "application/problem+json"),
        (status = 403, description = "`FORBIDDEN`", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn list_tasks(State(app): State<App>, caller: Caller, query: Parameters) -> Result<Json<TaskPage>, Problem> {
    caller.needs(Role::Read, "read tasks")?;
    let query = query.only(&["status", "task_type", "owner", "limit", "cursor"])?;
    page(&app, &query.filter(&caller)?, query.page()?).await.map(Json)
}

/// A page of tasks, and the cursor of the next one if there is one.
pub async fn page(app: &App, filter: &Filter, page: Page) -> Result<TaskPage, Problem> {
    let most = page.limit as usize;
    let one_more = Page { limit: page.limit + 1, ..page };
    let mut tasks = app.ask(app.store().tasks(filter, one_more)).await?;
    let more = tasks.len() > most;
    tasks.truncate(most);
    let next_cursor = tasks.last().filter(|_| more).map(|task| task.id.0.simple().to_string());
    Ok(TaskPage { tasks: tasks.into_iter().map(TaskItem::from).collect(), next_cursor })
}

/// Why a task is cancelled.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the shape for OpenAPI; a `Reader` reads the text, to name every fault")]
struct CancelRequest {
    #[schema(required = false, max_length = 1000)]
    reason: String,
}

/// Cancels a task: at once if it is queued, else its run is asked to stop.
#[utoipa::path(
    post,
    path = "/api/v1/tasks/{id}/cancel",
    tag = "tasks",
    params(("id" = String, Path, description = "The task's id")),
    request_body(content = Option<CancelRequest>, description = "May be left out"),
    responses(
        (status = 202, description = "Cancelled, or asked to stop", body = TaskBody),
        (status = 200, description = "It was cancelled, or asked to stop, before", body = TaskBody),
        (status = 404, description = "`TASK_NOT_FOUND`", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "`ALREADY_FINISHED`", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn cancel_task(State(app): State<App>, caller: Caller, name: Name, Raw(bytes): Raw) -> Result<Response, Problem> {
    caller.needs(Role::Submit, "cancel tasks")?;
    let id = name.task()?;
    let fields = body::object_or_nothing(&bytes)?;
    let mut reader = Reader::new(&fields, &["reason"]);
    let reason = reader.text("reason", LONGEST_REASON);
    reader.finish()?;
    app.may_see(id, &caller).await?;
    let (code, task) = match app.ask(app.store().cancel(id, reason)).await? {
        CancelAnswer::Accepted(task) => (StatusCode::ACCEPTED, task),
        // asked for before, and not stopped yet
        CancelAnswer::Already(task) if task.status == Status::Running => (StatusCode::ACCEPTED, task),
        CancelAnswer::Already(task) => (StatusCode::OK, task),
        CancelAnswer::Finished(task) if task.status == Status::Cancelled => (StatusCode::OK, task),
        CancelAnswer::Finished(task) => {
            let detail = format!("the task has {} already", ended(task.status));
            return Err(Problem::new(Code::AlreadyFinished, detail).about(id));
        }
        CancelAnswer::Unknown => return Err(Problem::no_such_task(&id.to_string())),
    };
    Ok((code, Json(TaskBody::from(*task))).into_response())
}

fn ended(status: Status) -> &'static str {
    match status {
        Status::Failed => "failed",
        Status::Succeeded => "succeeded",
        _ => "ended",
    }
}

/// How a failed task is run again.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the shape for OpenAPI; a `Reader` reads the text, to name every fault")]
struct ReplayRequest {
    /// Instead of the payload it had.
    #[schema(required = false, value_type = Object)]
    payload: serde_json::Value,
    /// Drops the checkpoint and the effects of earlier attempts.
    #[schema(required = false, default = false)]
    fresh: bool,
}

/// Queues a failed task again, with its attempts from 0.
#[utoipa::path(
    post,
    path = "/api/v1/tasks/{id}/replay",
    tag = "tasks",
    params(("id" = String, Path, description = "The task's id")),
    request_body(content = Option<ReplayRequest>, description = "May be left out"),
    responses(
        (status = 202, description = "Queued again", body = TaskBody),
        (status = 404, description = "`TASK_NOT_FOUND`", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "`NOT_FAILED`: only what failed can be replayed", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "`INVALID_REQUEST`, `PAYLOAD_INVALID`", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn replay_task(State(app): State<App>, caller: Caller, name: Name, Raw(bytes): Raw) -> Result<Response, Problem> {
    caller.needs(Role::Submit, "replay tasks")?;
    let id = name.task()?;
    let fields = body::object_or_nothing(&bytes)?;
    let mut reader = Reader::new(&fields, &["payload", "fresh"]);
    let given = reader.any("payload").is_some();
    let (payload, value) = reader.object("payload");
    let fresh = reader.flag("fresh");
    reader.finish()?;
    if payload.len() > app.settings().max_payload {
        return Err(body::too_large(app.settings().max_payload));
    }
    let task = app.task(id, &caller).await?;
    if given && let Some(known) = app.capabilities().find(&task.task_type).await? {
        let faults = known.faults(&value);
        if !faults.is_empty() {
            let detail = format!("the payload does not match the schema of the task type `{}`", task.task_type);
            return Err(Problem::new(Code::PayloadInvalid, detail).with_errors(faults));
        }
    }
    let replay = Replay { task: id, payload: given.then_some(payload), fresh, waiting: false };
    match app.ask(app.store().replay(replay)).await? {
        ReplayAnswer::Queued(task) => Ok((StatusCode::ACCEPTED, Json(TaskBody::from(*task))).into_response()),
        ReplayAnswer::NotFailed(task) => {
            let detail = format!("only what failed can be replayed; the task is {}", task.status);
            Err(Problem::new(Code::NotFailed, detail).about(id))
        }
        ReplayAnswer::Unknown => Err(Problem::no_such_task(&id.to_string())),
    }
}
