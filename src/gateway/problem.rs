//! Errors as RFC 9457 problem documents, each with a stable `code`.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;
use windlass_actors::ports::ledger::LedgerError;

/// What went wrong, by a name that does not change. The wire has it in upper snake case.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Code {
    /// The body is not JSON, or not JSON that we read.
    InvalidJson,
    /// A parameter of the address or a header makes no sense.
    InvalidParameter,
    /// The body is JSON, but a field is unknown or out of range; `errors` has each.
    InvalidRequest,
    Unauthorized,
    Forbidden,
    /// Without keys, a browser's page of another site must not reach us.
    UntrustedOrigin,
    NotFound,
    TaskNotFound,
    TaskTypeNotFound,
    NodeNotFound,
    MethodNotAllowed,
    RequestTimeout,
    IdempotencyConflict,
    AlreadyFinished,
    /// Only what failed can be replayed.
    NotFailed,
    TooLarge,
    UnsupportedMediaType,
    UnsupportedTaskType,
    PayloadInvalid,
    CredentialRequired,
    TooManyStreams,
    TaskTypeOffline,
    StoreUnavailable,
    NotReady,
    Internal,
}

impl Code {
    fn status(self) -> StatusCode {
        match self {
            Code::InvalidJson | Code::InvalidParameter => StatusCode::BAD_REQUEST,
            Code::Unauthorized => StatusCode::UNAUTHORIZED,
            Code::Forbidden | Code::UntrustedOrigin => StatusCode::FORBIDDEN,
            Code::NotFound | Code::TaskNotFound | Code::TaskTypeNotFound | Code::NodeNotFound => StatusCode::NOT_FOUND,
            Code::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Code::RequestTimeout => StatusCode::REQUEST_TIMEOUT,
            Code::IdempotencyConflict | Code::AlreadyFinished | Code::NotFailed => StatusCode::CONFLICT,
            Code::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Code::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Code::InvalidRequest | Code::UnsupportedTaskType | Code::PayloadInvalid | Code::CredentialRequired => {
                StatusCode::UNPROCESSABLE_ENTITY
            }
            Code::TooManyStreams | Code::TaskTypeOffline | Code::StoreUnavailable | Code::NotReady => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Code::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// Seconds after which another try makes sense.
    fn retry_after(self) -> Option<u64> {
        match self {
            Code::TaskTypeOffline => Some(10),
            Code::StoreUnavailable | Code::TooManyStreams => Some(5),
            _ => None,
        }
    }
}

/// A fault in a document, with the JSON pointer (RFC 6901) of its place.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct Fault {
    #[schema(example = "/priority")]
    pub pointer: String,
    #[schema(example = "must be a whole number from 0 to 9")]
    pub message: String,
}

impl Fault {
    pub fn new(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Fault { pointer: pointer.into(), message: message.into() }
    }
}

/// The body of every answer that is an error, as `application/problem+json`.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct Problem {
    #[serde(rename = "type")]
    #[schema(example = "about:blank")]
    kind: &'static str,
    #[schema(example = "Unprocessable Entity")]
    title: &'static str,
    #[schema(example = 422)]
    status: u16,
    /// Stable; for programs.
    pub code: Code,
    /// For people.
    pub detail: String,
    /// Each fault of the request's body.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<Fault>,
    /// The task that the error is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
}

impl Problem {
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        let status = code.status();
        Problem {
            kind: "about:blank",
            title: status.canonical_reason().unwrap_or("Error"),
            status: status.as_u16(),
            code,
            detail: detail.into(),
            errors: Vec::new(),
            task_id: None,
        }
    }

    pub fn with_errors(mut self, errors: Vec<Fault>) -> Self {
        self.errors = errors;
        self
    }

    pub fn about(mut self, task: impl ToString) -> Self {
        self.task_id = Some(task.to_string());
        self
    }

    /// What a caller is told of a task that there is not, or that is somebody else's.
    pub fn no_such_task(id: &str) -> Self {
        let shown: String = id.chars().take(80).collect();
        Problem::new(Code::TaskNotFound, format!("there is no task `{shown}`"))
    }

    pub fn internal() -> Self {
        Problem::new(Code::Internal, "the gateway failed at this request; its log says why")
    }
}

impl From<LedgerError> for Problem {
    fn from(error: LedgerError) -> Self {
        match error {
            LedgerError::Unavailable(_) => Problem::new(Code::StoreUnavailable, error.to_string()),
            LedgerError::Refused(why) => {
                tracing::error!(why, "the store refused a call of the gateway");
                Problem::internal()
            }
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.code.status();
        let code = self.code;
        let mut response = (status, Json(self)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(seconds) = code.retry_after() {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if code == Code::Unauthorized {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_has_the_fields_of_the_rfc_and_a_stable_code() {
        let problem = Problem::new(Code::PayloadInvalid, "x").with_errors(vec![Fault::new("/a", "missing")]);
        let json = serde_json::to_value(&problem).unwrap();
        assert_eq!(json["status"], 422);
        assert_eq!(json["code"], "PAYLOAD_INVALID");
        assert_eq!(json["title"], "Unprocessable Entity");
        assert_eq!(json["errors"][0]["pointer"], "/a");
    }

    #[test]
    fn what_passes_by_itself_says_when_to_try_again() {
        let response = Problem::new(Code::TaskTypeOffline, "x").into_response();
        assert_eq!(response.headers()["retry-after"], "10");
        assert_eq!(response.headers()["content-type"], "application/problem+json");
    }
}
