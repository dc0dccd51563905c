//! `GET /api/v1/tasks/{id}/events`: as a stream, or as a page.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use windlass_actors::domain::TaskId;
use windlass_actors::ports::records::Events;

use super::Routes;
use crate::gateway::access::Caller;
use crate::gateway::app::App;
use crate::gateway::parameters::{EVENTS_PAGE, Name, Parameters, last_event_id, wants_stream};
use crate::gateway::problem::Problem;
use crate::gateway::settings::Role;
use crate::gateway::stream::{EventStream, Place};
use crate::gateway::wire::{EventItem, EventPage};

pub fn add(routes: Routes) -> Routes {
    routes.add::<__path_task_events>(get(task_events))
}

/// Events of a task.
///
/// With `Accept: text/event-stream` a stream: frames with `id` (the number), `event` (the kind) and `data` (the event
/// as in a page), first what is stored, then what comes. It ends after the `state` event with a terminal status.
#[utoipa::path(
    get,
    path = "/api/v1/tasks/{id}/events",
    tag = "tasks",
    params(
        ("id" = String, Path, description = "The task's id"),
        ("after" = Option<i64>, Query, description = "The number of the last event seen"),
        ("limit" = Option<u32>, Query, description = "Of a page: 1 to 1000, which it is if not given"),
        ("Last-Event-ID" = Option<i64>, Header, description = "As `after`, and stronger")
    ),
    responses(
        (status = 200, content((EventPage = "application/json"), (String = "text/event-stream"))),
        (status = 204, description = "A stream was resumed after the last terminal event: nothing will follow"),
        (status = 400, description = "`INVALID_PARAMETER`", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "`TASK_NOT_FOUND`", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "`TOO_MANY_STREAMS`, `STORE_UNAVAILABLE`", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn task_events(
    State(app): State<App>,
    caller: Caller,
    name: Name,
    query: Parameters,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    caller.needs(Role::Read, "read tasks")?;
    let (id, query) = (name.task()?, query.only(&["after", "limit"])?);
    let after = last_event_id(&headers)?.or(query.after()?).unwrap_or(0);
    let limit = query.limit(EVENTS_PAGE, EVENTS_PAGE)?;
    app.may_see(id, &caller).await?;
    if !wants_stream(&headers) {
        let page = events(&app, id, after, limit).await?;
        let events = page.events.into_iter().map(EventItem::from).collect();
        return Ok(Json(EventPage { events }).into_response());
    }
    // The standing, without events.
    let standing = events(&app, id, i64::MAX, 1).await?;
    if after >= standing.last_seq && standing.status.is_terminal() {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let place = Place::new(app.stream_slot()?);
    // A number that is not there yet comes from elsewhere: no event must be skipped up to it.
    Ok(EventStream::new(app, id, after.min(standing.last_seq), place, false).into_response())
}

async fn events(app: &App, id: TaskId, after: i64, limit: u32) -> Result<Events, Problem> {
    let found = app.ask(app.store().events(id, after, limit)).await?;
    found.ok_or_else(|| Problem::no_such_task(&id.to_string()))
}
