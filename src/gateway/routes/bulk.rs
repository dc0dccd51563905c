//! `POST /api/v1/tasks/cancel`.

use axum::Json;
use axum::extract::State;
use axum::routing::post;

use super::Routes;
use crate::gateway::access::Caller;
use crate::gateway::app::App;
use crate::gateway::body::{self, Raw};
use crate::gateway::problem::Problem;
use crate::gateway::selection::{Act, SelectionRequest};
use crate::gateway::settings::Role;
use crate::gateway::wire::Selected;

pub fn add(routes: Routes) -> Routes {
    routes.add::<__path_cancel_tasks>(post(cancel_tasks))
}

/// Cancels all tasks that match and have not ended.
#[utoipa::path(
    post,
    path = "/api/v1/tasks/cancel",
    tag = "tasks",
    request_body = SelectionRequest,
    responses(
        (status = 200, body = Selected),
        (status = 422, description = "`INVALID_REQUEST`", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn cancel_tasks(State(app): State<App>, caller: Caller, Raw(bytes): Raw) -> Result<Json<Selected>, Problem> {
    caller.needs(Role::Submit, "cancel tasks")?;
    let request: SelectionRequest = body::shape(&bytes)?;
    request.check(Act::Cancel, &caller)?.run(&app, Act::Cancel).await.map(Json)
}
