//! Lists the operations of the API once, for their routes and for their OpenAPI document. A server needs the
//! routes at its start. The document takes longer to build than everything else at a start, and is built when
//! it is requested for the first time.

use axum::Router;
use axum::handler::Handler;
use axum::routing::{MethodFilter, on};
use greenroom_app::App;
use utoipa::Path;
use utoipa::openapi::HttpMethod;

/// Defines `routes()`, which returns the routes of these handlers, and `Operations`, whose `openapi()` is their
/// document. Method and path are those of a handler's `#[utoipa::path]`, which generates a type with the
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

        #[derive(utoipa::OpenApi)]
        #[openapi(paths($($module::$handler),+))]
        struct Operations;
    };
}
pub(crate) use operations;

/// Adds the route of an operation. An operation of the same path has another method.
pub fn route<O: Path, H: Handler<T, App>, T: 'static>(router: Router<App>, handler: H) -> Router<App> {
    let methods = O::methods().iter().map(filter).reduce(MethodFilter::or);
    match methods {
        Some(methods) => router.route(&O::path(), on(methods, handler)),
        None => router,
    }
}

fn filter(method: &HttpMethod) -> MethodFilter {
    match method {
        HttpMethod::Get => MethodFilter::GET,
        HttpMethod::Put => MethodFilter::PUT,
        HttpMethod::Post => MethodFilter::POST,
        HttpMethod::Delete => MethodFilter::DELETE,
        HttpMethod::Options => MethodFilter::OPTIONS,
        HttpMethod::Head => MethodFilter::HEAD,
        HttpMethod::Patch => MethodFilter::PATCH,
        HttpMethod::Trace => MethodFilter::TRACE,
    }
}
