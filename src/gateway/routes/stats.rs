//! Figures of the whole cluster.

use axum::Json;
use axum::extract::State;
use axum::routing::get;

use super::Routes;
use crate::gateway::access::Caller;
use crate::gateway::app::App;
use crate::gateway::problem::Problem;
use crate::gateway::settings::Role;
use crate::gateway::wire::StatsBody;

pub fn add(routes: Routes) -> Routes {
    routes.add::<__path_show_stats>(get(show_stats))
}

/// Depth and oldest age by type and state; dead letters; outbox lag.
#[utoipa::path(get, path = "/api/v1/stats", tag = "cluster", responses((status = 200, body = StatsBody)))]
async fn show_stats(State(app): State<App>, caller: Caller) -> Result<Json<StatsBody>, Problem> {
    caller.needs(Role::Read, "read the cluster's figures")?;
    Ok(Json(app.ask(app.store().stats()).await?.into()))
}
