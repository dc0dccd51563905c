//! Task types: who serves them, and pausing.

use axum::Json;
use axum::extract::State;
use axum::routing::{get, post};

use super::Routes;
use crate::gateway::access::Caller;
use crate::gateway::app::App;
use crate::gateway::parameters::Name;
use crate::gateway::problem::{Code, Problem};
use crate::gateway::settings::Role;
use crate::gateway::wire::{Paused, TypeItem, TypePage};

pub fn add(routes: Routes) -> Routes {
    routes
        .add::<__path_list_types>(get(list_types))
        .add::<__path_pause_type>(post(pause_type))
        .add::<__path_resume_type>(post(resume_type))
}

/// Every task type that was ever served, and who serves it now.
#[utoipa::path(get, path = "/api/v1/task-types", tag = "cluster", responses((status = 200, body = TypePage)))]
async fn list_types(State(app): State<App>, caller: Caller) -> Result<Json<TypePage>, Problem> {
    caller.needs(Role::Read, "read task types")?;
    let known = app.capabilities().all().await?;
    Ok(Json(TypePage { task_types: known.iter().map(|known| TypeItem::from(&known.capability)).collect() }))
}

/// Stops claiming of a type, on every node. What runs goes on; what is created waits.
#[utoipa::path(
    post,
    path = "/api/v1/task-types/{type}/pause",
    tag = "cluster",
    params(("type" = String, Path, description = "The type's name")),
    responses(
        (status = 200, body = Paused),
        (status = 404, description = "`TASK_TYPE_NOT_FOUND`: never known", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn pause_type(State(app): State<App>, caller: Caller, name: Name) -> Result<Json<Paused>, Problem> {
    set(&app, &caller, &name, true).await
}

/// Resumes claiming of a type.
#[utoipa::path(
    post,
    path = "/api/v1/task-types/{type}/resume",
    tag = "cluster",
    params(("type" = String, Path, description = "The type's name")),
    responses(
        (status = 200, body = Paused),
        (status = 404, description = "`TASK_TYPE_NOT_FOUND`: never known", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn resume_type(State(app): State<App>, caller: Caller, name: Name) -> Result<Json<Paused>, Problem> {
    set(&app, &caller, &name, false).await
}

async fn set(app: &App, caller: &Caller, name: &Name, paused: bool) -> Result<Json<Paused>, Problem> {
    caller.needs(Role::Operate, "pause and resume task types")?;
    let name = name.task_type()?;
    if !app.ask(app.store().set_paused(&name, paused)).await? {
        let detail = format!("no node has ever served the task type `{name}`");
        return Err(Problem::new(Code::TaskTypeNotFound, detail));
    }
    Ok(Json(Paused { task_type: name.to_string(), paused }))
}
