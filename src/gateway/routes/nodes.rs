//! Nodes, and their supervision trees as last posted.

use axum::Json;
use axum::extract::State;
use axum::routing::get;

use super::Routes;
use crate::gateway::access::Caller;
use crate::gateway::app::App;
use crate::gateway::parameters::Name;
use crate::gateway::problem::{Code, Problem};
use crate::gateway::settings::Role;
use crate::gateway::wire::{Actors, NodeItem, NodePage};

pub fn add(routes: Routes) -> Routes {
    routes.add::<__path_list_nodes>(get(list_nodes)).add::<__path_show_tree>(get(show_tree))
}

/// The nodes, by id.
#[utoipa::path(get, path = "/api/v1/nodes", tag = "cluster", responses((status = 200, body = NodePage)))]
async fn list_nodes(State(app): State<App>, caller: Caller) -> Result<Json<NodePage>, Problem> {
    caller.needs(Role::Read, "read nodes")?;
    let mut rows = app.ask(app.store().nodes()).await?;
    rows.sort_by(|a, b| a.node.cmp(&b.node));
    let believed = app.settings().believed;
    Ok(Json(NodePage { nodes: rows.into_iter().map(|row| NodeItem::new(row, believed)).collect() }))
}

/// A node's supervision tree, as it last posted it.
#[utoipa::path(
    get,
    path = "/api/v1/nodes/{id}/tree",
    tag = "cluster",
    params(("id" = String, Path, description = "The node's id")),
    responses(
        (status = 200, body = Actors),
        (status = 404, description = "`NODE_NOT_FOUND`", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn show_tree(State(app): State<App>, caller: Caller, name: Name) -> Result<Json<Actors>, Problem> {
    caller.needs(Role::Read, "read nodes")?;
    let node = name.node();
    let rows = app.ask(app.store().nodes()).await?;
    let row = rows.into_iter().find(|row| row.node == node);
    row.map(|row| Json(row.into())).ok_or_else(|| Problem::new(Code::NodeNotFound, "there is no node with this id"))
}
