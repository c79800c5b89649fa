//! Refuses the query of an operation that has no query parameters. A parameter that is ignored, such as `dryRun` on a
//! deletion without it, would be noticed too late.

use std::collections::HashMap;
use std::sync::LazyLock;

use axum::extract::{MatchedPath, Request};
use axum::http::Method;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::Response;
use greenroom_app::failure::Failure;
use greenroom_app::next_action::API_ROOT;
use utoipa::Path;
use utoipa::openapi::path::{Parameter, ParameterIn};
use utoipa::openapi::{HttpMethod, RefOr};

use crate::http::rules::problem::problem_response;

/// Reads of the seed's contract: a client of it may add a parameter of its own, for example against caches.
const LENIENT: [&str; 3] = ["list_environments", "get_environment", "get_session"];

/// Operations without query parameters, by method and by the path of their route, and whether they need no token.
pub type Operations = LazyLock<HashMap<(Method, String), bool>>;

/// The query of a request whose operation has no query parameters. The request is refused once the right to the operation
/// is checked: who has none learns nothing else about the request.
#[derive(Clone)]
struct UndeclaredQuery(String);

/// Returns an operation for [`Operations`] if it has to be sent without a query.
pub fn without_query<O: Path>() -> Vec<((Method, String), bool)> {
    let operation = O::operation();
    let mut parameters = operation.parameters.iter().flatten();
    let is_lenient = operation.operation_id.as_deref().is_some_and(|id| LENIENT.contains(&id));
    if is_lenient || parameters.any(is_in_query) {
        return Vec::new();
    }
    let public = serde_json::json!([{}]);
    let is_public =
        operation.security.is_some_and(|needed| serde_json::to_value(needed).is_ok_and(|of| of == public));
    let path = format!("{API_ROOT}{}", O::path());
    O::methods().iter().map(|of| ((method(of), path.clone()), is_public)).collect()
}

fn is_in_query(parameter: &RefOr<Parameter>) -> bool {
    matches!(parameter, RefOr::T(parameter) if parameter.parameter_in == ParameterIn::Query)
}

/// Notes an undeclared query for [`check`], which the extractors of permissions call. Operations without a token are
/// refused here.
pub async fn find(operations: &Operations, mut request: Request, next: Next) -> Response {
    let query = request.uri().query().filter(|query| !query.is_empty());
    let path = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let (Some(query), Some(path)) = (query, path) else { return next.run(request).await };
    let method = if request.method() == Method::HEAD { Method::GET } else { request.method().clone() };
    match operations.get(&(method, path.to_owned())) {
        None => {}
        Some(true) => return problem_response(refusal(query)),
        Some(false) => {
            let found = UndeclaredQuery(query.to_owned());
            request.extensions_mut().insert(found);
        }
    }
    next.run(request).await
}

pub fn check(parts: &Parts) -> Result<(), Failure> {
    match parts.extensions.get::<UndeclaredQuery>() {
        Some(UndeclaredQuery(query)) => Err(refusal(query)),
        None => Ok(()),
    }
}

fn refusal(query: &str) -> Failure {
    let name = form_urlencoded::parse(query.as_bytes()).next().map(|(name, _)| name.into_owned());
    let name = name.filter(|name| !name.is_empty() && name.chars().all(|letter| letter.is_ascii_graphic()));
    let detail = "is not a parameter of this operation, which has none in its query; nothing was changed";
    Failure::field(name.as_deref().unwrap_or("query"), detail)
}

/// Returns the method as the `http` crate names it.
pub fn method(method: &HttpMethod) -> Method {
    match method {
        HttpMethod::Get => Method::GET,
        HttpMethod::Put => Method::PUT,
        HttpMethod::Post => Method::POST,
        HttpMethod::Delete => Method::DELETE,
        HttpMethod::Options => Method::OPTIONS,
        HttpMethod::Head => Method::HEAD,
        HttpMethod::Patch => Method::PATCH,
        HttpMethod::Trace => Method::TRACE,
    }
}
