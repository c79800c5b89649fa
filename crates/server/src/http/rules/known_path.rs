//! Other spellings of the addresses of the API: with a slash at the end, and for ephemeral environments without `/api/v1`, which
//! the seed's contract leaves open.

use axum::extract::Request;
use axum::http::Uri;
use axum::http::uri::PathAndQuery;
use greenroom_app::next_action::API_ROOT;

const ORGANIZATIONS: &str = "/organizations/";
const ENVIRONMENTS: &str = "ephemeral-environments";
/// Of `/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments`, counted from the empty text before the first slash.
const ENVIRONMENTS_SEGMENT: usize = 5;

/// Replaces the address of a request by the one that has a route. Other addresses stay as they are.
pub async fn rewrite(mut request: Request) -> Request {
    if let Some(path) = rewritten(request.uri().path())
        && let Some(uri) = with_path(request.uri(), &path)
    {
        *request.uri_mut() = uri;
    }
    request
}

/// Returns the other path, if there is one.
pub fn rewritten(path: &str) -> Option<String> {
    let trimmed = path.strip_suffix('/').unwrap_or(path);
    if trimmed.starts_with(ORGANIZATIONS)
        && trimmed.split('/').nth(ENVIRONMENTS_SEGMENT) == Some(ENVIRONMENTS)
    {
        return Some(format!("{API_ROOT}{trimmed}"));
    }
    let is_below = trimmed.strip_prefix(API_ROOT).is_some_and(|rest| rest.starts_with('/'));
    (is_below && trimmed != path && !trimmed.ends_with('/')).then(|| trimmed.to_owned())
}

fn with_path(uri: &Uri, path: &str) -> Option<Uri> {
    let mut parts = uri.clone().into_parts();
    let text = uri.query().map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"));
    parts.path_and_query = Some(PathAndQuery::try_from(text).ok()?);
    Uri::from_parts(parts).ok()
}
