//! Classifies requests: which have reserved capacity, which stream their body, and which need no database
//! connection.

use axum::http::Method;
use greenroom_app::limits::Class;

/// Requests that keep a lock or a job alive, or release one. If they fail for long enough, locks and jobs are
/// lost that have nothing to do with the cause of the load.
const RESERVED: [(&str, &str); 7] = [
    ("POST", "/api/v1/runner/jobs/{jobId}/heartbeat"),
    ("POST", "/api/v1/runner/jobs/{jobId}/steps/{stepRunId}/start"),
    ("POST", "/api/v1/runner/jobs/{jobId}/steps/{stepRunId}/end"),
    ("POST", "/api/v1/runner/jobs/{jobId}/complete"),
    (
        "POST",
        "/api/v1/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/sessions/{sessionId}/heartbeat",
    ),
    (
        "POST",
        "/api/v1/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/sessions/{sessionId}/renew",
    ),
    (
        "DELETE",
        "/api/v1/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/sessions/{sessionId}",
    ),
];

/// Archives of up to several gigabytes: they are streamed, not buffered in memory.
const UPLOADS: [(&str, &str); 2] =
    [("PUT", "/api/v1/runner/jobs/{jobId}/artifact"), ("PUT", "/api/v1/runner/jobs/{jobId}/caches/{key}")];

/// Exchanges tokens. What is in its form authenticates the request.
pub const TOKEN_PATH: &str = "/oauth/token";
/// Describes that exchange.
pub const METADATA_PATH: &str = "/.well-known/oauth-authorization-server";

/// Requests that need no database connection and have their own concurrency limit.
const WITHOUT_DATABASE: [(&str, &str); 1] = [("POST", "/api/v1/organizations/{orgId}/pipelines/validate")];

pub fn classify(method: &Method, route: &str) -> Class {
    if contains(&RESERVED, method, route) { Class::Reserved } else { Class::General }
}

/// The class of a route in metrics. Runners' requests for a job wait for one on purpose, so their
/// durations are apart from those of others.
pub fn route_class(method: &Method, route: &str) -> &'static str {
    match classify(method, route) {
        Class::Reserved => "reserved",
        Class::General if route.starts_with("/api/v1/runner/") => "runner",
        Class::General if route.starts_with("/api/v1/") => "api",
        Class::General => "other",
    }
}

pub fn is_upload(method: &Method, route: &str) -> bool {
    contains(&UPLOADS, method, route)
}

/// Whether tokens and cookies of a request count. A cookie that a browser adds to a form of another site must not change
/// the result of an exchange, not even by a refusal.
pub fn has_identity(route: &str) -> bool {
    route != TOKEN_PATH
}

/// Whether a request counts against the sender's share of the database connections.
pub fn uses_database(method: &Method, route: &str) -> bool {
    !contains(&WITHOUT_DATABASE, method, route)
}

fn contains(table: &[(&str, &str)], method: &Method, route: &str) -> bool {
    table.iter().any(|(known, path)| method.as_str() == *known && route == *path)
}
