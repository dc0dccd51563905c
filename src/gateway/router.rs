//! All routes, with what holds for every answer.

use std::any::Any;
use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderValue, Method, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tower_http::catch_panic::CatchPanicLayer;
use utoipa::openapi::path::{HttpMethod, OperationBuilder};
use utoipa::openapi::response::ResponseBuilder;

use super::app::{App, GatewayParts};
use super::problem::{Code, Problem};
use super::routes::Routes;

/// The API as a service. It must be called on the runtime that will serve it.
pub fn router(parts: GatewayParts) -> Router {
    let app = App::start(parts);
    let Routes { router, mut openapi } = Routes::of(&app);
    let described = OperationBuilder::new()
        .tag("health")
        .summary(Some("This description."))
        .response("200", ResponseBuilder::new().description("OpenAPI 3.1").build());
    openapi.paths.add_path_operation("/openapi.json", vec![HttpMethod::Get], described.build());
    // It is made of constants: what cannot be written would not pass the first test that asks for it.
    let description: Arc<str> = openapi.to_json().unwrap_or_default().into();
    router
        .route(
            "/openapi.json",
            get(async move || ([(header::CONTENT_TYPE, "application/json")], description.to_string())),
        )
        .fallback(nothing_here)
        .method_not_allowed_fallback(not_this_method)
        .layer(CatchPanicLayer::custom(panicked))
        .with_state(app)
}

async fn nothing_here(uri: Uri) -> Problem {
    let path: String = uri.path().chars().take(200).collect();
    Problem::new(Code::NotFound, format!("there is nothing at `{path}`; `/openapi.json` has every address"))
}

async fn not_this_method(method: Method) -> Response {
    Problem::new(Code::MethodNotAllowed, format!("this address does not take `{method}`")).into_response()
}

fn panicked(panic: Box<dyn Any + Send>) -> Response {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    tracing::error!(panic = text.unwrap_or("of no text"), "a handler of the gateway panicked");
    let mut response = Problem::internal().into_response();
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}
