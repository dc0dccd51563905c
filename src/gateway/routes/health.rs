//! What needs no key: life, readiness, metrics, the description, and the page for whoever opens the address.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use serde::Serialize;
use tokio::time::timeout;
use utoipa::ToSchema;

use super::Routes;
use crate::gateway::app::App;

/// How long a scrape waits for the store's figures.
const FIGURES_WITHIN: Duration = Duration::from_secs(2);

pub fn add(routes: Routes) -> Routes {
    routes
        .add::<__path_healthz>(get(healthz))
        .add::<__path_readyz>(get(readyz))
        .add::<__path_scrape>(get(scrape))
        .add::<__path_front_page>(get(front_page))
}

/// Alive.
#[derive(Serialize, ToSchema)]
struct Alive {
    #[schema(example = "ok")]
    status: &'static str,
}

/// Whether the process can do its job now.
#[derive(Serialize, ToSchema)]
struct Ready {
    ready: bool,
    /// Why not.
    reasons: Vec<String>,
}

/// The process is alive: asks nothing and nobody.
#[utoipa::path(get, path = "/healthz", tag = "health", security(()), responses((status = 200, body = Alive)))]
async fn healthz() -> Json<Alive> {
    Json(Alive { status: "ok" })
}

/// Able to do its job now.
#[utoipa::path(
    get,
    path = "/readyz",
    tag = "health",
    security(()),
    responses((status = 200, body = Ready), (status = 503, description = "Not now, with the reasons", body = Ready))
)]
async fn readyz(State(app): State<App>) -> Response {
    let reasons = app.readiness().reasons;
    let ready = reasons.is_empty();
    let code = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (code, Json(Ready { ready, reasons })).into_response()
}

/// Metrics as Prometheus text.
#[utoipa::path(
    get,
    path = "/metrics",
    tag = "health",
    security(()),
    responses((status = 200, body = String, content_type = "text/plain"))
)]
async fn scrape(State(app): State<App>) -> Response {
    // Without the store the figures of the cluster stay as they were; the process's own are shown all the same.
    match timeout(FIGURES_WITHIN, app.gauges().refresh(app.store())).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%error, "a scrape went without new figures of the cluster"),
        Err(_) => tracing::warn!("a scrape went without new figures of the cluster: the store did not answer in time"),
    }
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], app.render_metrics()).into_response()
}

/// What this is.
#[utoipa::path(
    get,
    path = "/",
    tag = "health",
    security(()),
    responses((status = 200, body = String, content_type = "text/html"))
)]
async fn front_page() -> Html<&'static str> {
    Html(include_str!("front_page.html"))
}
