//! `POST /api/v1/tasks`.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use metrics::counter;
use windlass_actors::domain::{CredentialMode, NewTask, Status, TaskId, TypeName};
use windlass_actors::ports::ledger::{Created, LedgerError};

use super::Routes;
use crate::gateway::access::Caller;
use crate::gateway::app::App;
use crate::gateway::body::{self, Raw};
use crate::gateway::capabilities::Known;
use crate::gateway::parameters::{invalid, wants_stream};
use crate::gateway::problem::{Code, Problem};
use crate::gateway::settings::{Offline, Role, Settings};
use crate::gateway::stream::{EventStream, Place};
use crate::gateway::submission::{self, CreateRequest, Submission};
use crate::gateway::wire;

pub fn add(routes: Routes) -> Routes {
    routes.add::<__path_create_task>(post(create_task))
}

/// Creates a task.
///
/// With `Accept: text/event-stream` the answer is the task's event stream, 200, and `Location` has its id.
#[utoipa::path(
    post,
    path = "/api/v1/tasks",
    tag = "tasks",
    request_body = CreateRequest,
    params(("Idempotency-Key" = Option<String>, Header, description = "Unique for an owner, kept as long as the task")),
    responses(
        (status = 202, description = "Created; `Location` is its address", body = wire::Created),
        (status = 200, description = "The same submission was made before under this key; or an event stream",
            content((wire::Created = "application/json"), (String = "text/event-stream"))),
        (status = 400, description = "`INVALID_JSON`, `INVALID_PARAMETER`", body = Problem, content_type = "application/problem+json"),
        (status = 401, description = "`UNAUTHORIZED`", body = Problem, content_type = "application/problem+json"),
        (status = 403, description = "`FORBIDDEN`", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "`IDEMPOTENCY_CONFLICT`: another submission under the same key", body = Problem, content_type = "application/problem+json"),
        (status = 413, description = "`TOO_LARGE`", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "`INVALID_REQUEST`, `UNSUPPORTED_TASK_TYPE` (never known), `PAYLOAD_INVALID`, `CREDENTIAL_REQUIRED`", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "`TASK_TYPE_OFFLINE`, `STORE_UNAVAILABLE`, `TOO_MANY_STREAMS`", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn create_task(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    Raw(bytes): Raw,
) -> Result<Response, Problem> {
    caller.needs(Role::Submit, "create tasks")?;
    let submission = read(&headers, &bytes, app.settings())?;
    let name =
        TypeName::new(&submission.task_type).map_err(|e| Problem::new(Code::UnsupportedTaskType, e.to_string()))?;
    let known = app.capabilities().find(&name).await?;
    let known = admit(known.as_deref(), &name, &submission, app.settings().offline)?;
    let cancels = submission.cancel_on_disconnect;
    let slot = if wants_stream(&headers) { Some(app.stream_slot()?) } else { None };
    let task = submission.into_task(TaskId(uuid::Uuid::now_v7()), &known.capability.task_type, &caller);
    let (id, status, created) = store(&app, task).await?;
    let location = HeaderValue::from_str(&format!("/api/v1/tasks/{id}")).map_err(|_| Problem::internal())?;
    let mut response = match slot {
        Some(slot) => EventStream::new(app, id, 0, Place::new(slot), cancels).into_response(),
        None => {
            let code = if created { StatusCode::ACCEPTED } else { StatusCode::OK };
            (code, Json(wire::Created::new(id, status, created))).into_response()
        }
    };
    response.headers_mut().insert(header::LOCATION, location);
    Ok(response)
}

fn read(headers: &HeaderMap, bytes: &[u8], settings: &Settings) -> Result<Submission, Problem> {
    let key = headers.get("idempotency-key").map(|value| value.to_str());
    let key = key.transpose().map_err(|_| invalid("`Idempotency-Key` must be printable ASCII"))?;
    submission::parse(&body::object(bytes)?, key, settings.max_payload)
}

/// Whether a task of the type is taken now.
fn admit<'a>(
    known: Option<&'a Known>,
    name: &TypeName,
    submission: &Submission,
    offline: Offline,
) -> Result<&'a Known, Problem> {
    let Some(known) = known else {
        let detail = format!("no node has ever served the task type `{name}`");
        return Err(Problem::new(Code::UnsupportedTaskType, detail));
    };
    if known.capability.task_type.credential_mode != CredentialMode::None {
        let detail = format!("the task type `{name}` runs with a credential, which this gateway does not take yet");
        return Err(Problem::new(Code::CredentialRequired, detail));
    }
    let faults = known.faults(&submission.payload_value);
    if !faults.is_empty() {
        let detail = format!("the payload does not match the schema of the task type `{name}`");
        return Err(Problem::new(Code::PayloadInvalid, detail).with_errors(faults));
    }
    if known.capability.instances == 0 && offline == Offline::Reject {
        return Err(Problem::new(Code::TaskTypeOffline, format!("no node serves the task type `{name}` now")));
    }
    Ok(known)
}

async fn store(app: &App, task: NewTask) -> Result<(TaskId, Status, bool), Problem> {
    let task_type = task.task_type.to_string();
    match app.ask(app.store().create(vec![task])).await?.into_iter().next() {
        Some(Created::Created { id }) => {
            counter!("windlass_tasks_created_total", "task_type" => task_type).increment(1);
            Ok((id, Status::Queued, true))
        }
        Some(Created::Same { id, status }) => Ok((id, status, false)),
        Some(Created::Conflict { id }) => {
            let detail = "another submission was made under the same idempotency key";
            Err(Problem::new(Code::IdempotencyConflict, detail).about(id))
        }
        None => Err(LedgerError::Refused("no answer for a create".to_owned()).into()),
    }
}
