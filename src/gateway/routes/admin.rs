//! What is only there when a node is embedded in this process: its live tree, draining, and killing actors for tests.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Routes;
use crate::gateway::access::Caller;
use crate::gateway::app::{Admin, App};
use crate::gateway::body::{self, Raw};
use crate::gateway::problem::{Code, Problem};
use crate::gateway::settings::Role;

/// Adds what the app has.
pub fn add(mut routes: Routes, app: &App) -> Routes {
    if app.has_tree() {
        routes = routes.add::<__path_live_tree>(get(live_tree));
    }
    if let Some(admin) = app.admin() {
        routes = routes.add::<__path_drain>(post(drain));
        if admin.has_chaos() {
            routes = routes.add::<__path_kill_actor>(post(kill_actor));
        }
    }
    routes
}

/// The live supervision tree of this process: `{"actors":[…]}`, flat, in start order.
#[utoipa::path(get, path = "/api/v1/tree", tag = "node", responses((status = 200, body = serde_json::Value)))]
async fn live_tree(State(app): State<App>, caller: Caller) -> Result<Json<serde_json::Value>, Problem> {
    caller.needs(Role::Read, "read the tree")?;
    app.tree().map(Json).ok_or_else(|| Problem::new(Code::NotFound, "there is no node in this process"))
}

/// That the node drains.
#[derive(Serialize, ToSchema)]
struct Draining {
    draining: bool,
}

/// Asks the node to take no new work, and to stop once what runs has ended.
#[utoipa::path(post, path = "/api/v1/drain", tag = "node", responses((status = 202, body = Draining)))]
async fn drain(State(app): State<App>, caller: Caller) -> Result<(StatusCode, Json<Draining>), Problem> {
    caller.needs(Role::Operate, "drain a node")?;
    admin(&app)?.drain().await;
    Ok((StatusCode::ACCEPTED, Json(Draining { draining: true })))
}

/// Which actor ends, and how.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct KillRequest {
    /// As the tree shows it.
    path: String,
    /// `panic`, `kill` or `stop`; `kill` if not given.
    #[serde(default)]
    mode: Mode,
}

#[derive(Clone, Copy, Default, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Panic,
    #[default]
    Kill,
    Stop,
}

/// Which actor was ended.
#[derive(Serialize, ToSchema)]
struct Killed {
    path: String,
    mode: Mode,
}

/// Ends one actor, to see what its supervisor does.
#[utoipa::path(
    post,
    path = "/api/v1/chaos/kill",
    tag = "node",
    request_body = KillRequest,
    responses(
        (status = 200, body = Killed),
        (status = 404, description = "`NOT_FOUND`: no such actor", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn kill_actor(State(app): State<App>, caller: Caller, Raw(bytes): Raw) -> Result<Json<Killed>, Problem> {
    caller.needs(Role::Operate, "kill actors")?;
    let KillRequest { path, mode } = body::shape(&bytes)?;
    let name = match mode {
        Mode::Panic => "panic",
        Mode::Kill => "kill",
        Mode::Stop => "stop",
    };
    admin(&app)?.chaos_kill(&path, name).await.map_err(|why| Problem::new(Code::NotFound, why))?;
    Ok(Json(Killed { path, mode }))
}

fn admin(app: &App) -> Result<&Arc<dyn Admin>, Problem> {
    app.admin().ok_or_else(|| Problem::new(Code::NotFound, "there is no node in this process"))
}
