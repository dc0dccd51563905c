//! The waiting room of tasks that failed for good and that somebody has to decide about.

use axum::Json;
use axum::extract::State;
use axum::routing::{get, post};
use windlass_actors::ports::records::Filter;

use super::{Routes, tasks};
use crate::gateway::access::Caller;
use crate::gateway::app::App;
use crate::gateway::body::{self, Raw};
use crate::gateway::parameters::Parameters;
use crate::gateway::problem::Problem;
use crate::gateway::selection::{Act, SelectionRequest};
use crate::gateway::settings::Role;
use crate::gateway::wire::{Selected, TaskPage};

pub fn add(routes: Routes) -> Routes {
    routes
        .add::<__path_list_dead_letters>(get(list_dead_letters))
        .add::<__path_replay_dead_letters>(post(replay_dead_letters))
        .add::<__path_discard_dead_letters>(post(discard_dead_letters))
}

/// Dead letters, newest first.
#[utoipa::path(
    get,
    path = "/api/v1/dead-letters",
    tag = "dead letters",
    params(
        ("task_type" = Option<String>, Query),
        ("owner" = Option<String>, Query, description = "Other owners need the role `operate`"),
        ("limit" = Option<u32>, Query, description = "1 to 200; 50 if not given"),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before")
    ),
    responses(
        (status = 200, body = TaskPage),
        (status = 400, description = "`INVALID_PARAMETER`", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn list_dead_letters(
    State(app): State<App>,
    caller: Caller,
    query: Parameters,
) -> Result<Json<TaskPage>, Problem> {
    caller.needs(Role::Read, "read tasks")?;
    let query = query.only(&["task_type", "owner", "limit", "cursor"])?;
    let filter = Filter { dead_lettered: true, ..query.filter(&caller)? };
    tasks::page(&app, &filter, query.page()?).await.map(Json)
}

/// Queues dead letters again. What is no dead letter (any more) is left alone, so it can be repeated.
#[utoipa::path(
    post,
    path = "/api/v1/dead-letters/replay",
    tag = "dead letters",
    request_body = SelectionRequest,
    responses(
        (status = 200, body = Selected),
        (status = 422, description = "`INVALID_REQUEST`", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn replay_dead_letters(
    State(app): State<App>,
    caller: Caller,
    Raw(bytes): Raw,
) -> Result<Json<Selected>, Problem> {
    select(&app, &caller, &bytes, Act::Replay).await
}

/// Takes dead letters out of the waiting room; the tasks stay failed. It can be repeated.
#[utoipa::path(
    post,
    path = "/api/v1/dead-letters/discard",
    tag = "dead letters",
    request_body = SelectionRequest,
    responses(
        (status = 200, body = Selected),
        (status = 422, description = "`INVALID_REQUEST`", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn discard_dead_letters(
    State(app): State<App>,
    caller: Caller,
    Raw(bytes): Raw,
) -> Result<Json<Selected>, Problem> {
    select(&app, &caller, &bytes, Act::Discard).await
}

async fn select(app: &App, caller: &Caller, bytes: &[u8], act: Act) -> Result<Json<Selected>, Problem> {
    caller.needs(Role::Submit, "decide about dead letters")?;
    let request: SelectionRequest = body::shape(bytes)?;
    request.check(act, caller)?.run(app, act).await.map(Json)
}
