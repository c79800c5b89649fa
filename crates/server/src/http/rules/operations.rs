//! Lists the operations of the API once, for their routes and for their OpenAPI document. A server needs the
//! routes at its start. The document takes longer to build than everything else at a start, and is built when
//! it is requested for the first time.

use axum::Router;
use axum::handler::Handler;
use axum::routing::{MethodFilter, on};
use greenroom_app::App;
use utoipa::Path;

use crate::http::rules::undeclared_query::method;

/// Defines `routes()`, which returns the routes of these handlers, `Operations`, whose `openapi()` is their document, and
/// `WITHOUT_QUERY`, those that have no query parameters. Method and path are those of a handler's `#[utoipa::path]`, which generates a type with the
/// handler's name and a prefix.
macro_rules! operations {
    ($($module:ident::$handler:ident),+ $(,)?) => {
        fn routes() -> axum::Router<greenroom_app::App> {
            let router = axum::Router::new();
            pastey::paste! {
                $(let router = crate::http::rules::operations::route::<$module::[<__path_ $handler>], _, _>(
                    router,
                    $module::$handler,
                );)+
            }
            router
        }

        pastey::paste! {
            static WITHOUT_QUERY: crate::http::rules::undeclared_query::Operations = std::sync::LazyLock::new(|| {
                let mut found = std::collections::HashMap::new();
                $(found.extend(crate::http::rules::undeclared_query::without_query::<$module::[<__path_ $handler>]>());)+
                found
            });
        }

        #[derive(utoipa::OpenApi)]
        #[openapi(paths($($module::$handler),+))]
        struct Operations;
    };
}
pub(crate) use operations;

/// Adds the route of an operation. An operation of the same path has another method.
pub fn route<O: Path, H: Handler<T, App>, T: 'static>(router: Router<App>, handler: H) -> Router<App> {
    let filters = O::methods().into_iter().filter_map(|of| MethodFilter::try_from(method(&of)).ok());
    let methods = filters.reduce(MethodFilter::or);
    match methods {
        Some(methods) => router.route(&O::path(), on(methods, handler)),
        None => router,
    }
}
