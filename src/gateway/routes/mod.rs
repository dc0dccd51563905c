//! The calls, a file a resource. Each file says its routes; OpenAPI is made of the same list.

mod admin;
mod bulk;
mod create;
mod dead_letters;
mod events;
mod health;
mod nodes;
mod stats;
mod tasks;
mod types;

use axum::Router;
use axum::routing::MethodRouter;
use utoipa::__dev::SchemaReferences;
use utoipa::openapi::OpenApi;

use super::app::App;

/// Routes with their description.
pub struct Routes {
    pub router: Router<App>,
    pub openapi: OpenApi,
}

impl Routes {
    /// All routes that the app serves.
    pub fn of(app: &App) -> Routes {
        let empty = Routes { router: Router::new(), openapi: super::openapi::skeleton() };
        let parts: [fn(Routes) -> Routes; 9] = [
            create::add,
            tasks::add,
            events::add,
            bulk::add,
            types::add,
            nodes::add,
            dead_letters::add,
            stats::add,
            health::add,
        ];
        let routes = parts.into_iter().fold(empty, |routes, add| add(routes));
        admin::add(routes, app)
    }

    /// Adds a handler under the path and methods of its description `D`.
    pub fn add<D: utoipa::Path + SchemaReferences>(mut self, handler: MethodRouter<App>) -> Routes {
        let path = D::path();
        self.router = self.router.route(&path, handler);
        self.openapi.paths.add_path_operation(path, D::methods(), D::operation());
        let mut schemas = Vec::new();
        D::schemas(&mut schemas);
        self.openapi.components.get_or_insert_default().schemas.extend(schemas);
        self
    }
}
