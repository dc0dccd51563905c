//! The description of the API, made of the handlers that serve it.

use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::{Components, InfoBuilder, OpenApi, OpenApiBuilder};

const ABOUT: &str = "Tasks of AI products: created, watched, cancelled, replayed.

**Keys.** A key (`X-API-Key` or `Authorization: Bearer`) has an owner and a role. `read` reads the tasks of its \
owner, and the cluster's types, nodes and figures. `submit` also creates tasks, and cancels and replays those of its \
owner. `operate` may do everything, for every owner. A task of another owner is as unknown as one that there is not: 404. \
Without configured keys the gateway listens on loopback only, and whoever reaches it operates, as owner `default`.

**Errors** are `application/problem+json` (RFC 9457) with a stable `code`; 503 has `Retry-After`.

**Repeating.** Give a submission an `Idempotency-Key`: the same one again answers the same task.";

/// The description without any path yet.
pub fn skeleton() -> OpenApi {
    let info = InfoBuilder::new().title("Windlass").version(env!("CARGO_PKG_VERSION")).description(Some(ABOUT));
    let mut components = Components::new();
    let key = SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::new("X-API-Key")));
    components.add_security_scheme("key", key);
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
    components.add_security_scheme("bearer", SecurityScheme::Http(bearer));
    let none: [&str; 0] = [];
    let security = [SecurityRequirement::new("key", none), SecurityRequirement::new("bearer", none)];
    OpenApiBuilder::new().info(info.build()).components(Some(components)).security(Some(security)).build()
}
