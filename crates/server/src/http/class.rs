//! Which requests have reserved capacity, and which send a body that is taken in piece by piece.

use axum::http::Method;

use crate::limits::Class;

/// What keeps a lock or a job alive, or lets one go. If any of these fails for long enough, work is lost that has nothing to
/// do with the reason.
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

/// Archives may have gigabytes: they are not kept in memory, and are not waited for.
const UPLOADS: [(&str, &str); 2] =
    [("PUT", "/api/v1/runner/jobs/{jobId}/artifact"), ("PUT", "/api/v1/runner/jobs/{jobId}/caches/{key}")];

/// Works without the database, and has turns of its own.
const COMPUTED: [(&str, &str); 1] = [("POST", "/api/v1/organizations/{orgId}/pipelines/validate")];

pub fn class(method: &Method, route: &str) -> Class {
    if contains(&RESERVED, method, route) { Class::Reserved } else { Class::General }
}

pub fn is_upload(method: &Method, route: &str) -> bool {
    contains(&UPLOADS, method, route)
}

/// Whether a request needs its part of the database connections.
pub fn uses_database(method: &Method, route: &str) -> bool {
    !contains(&COMPUTED, method, route)
}

fn contains(table: &[(&str, &str)], method: &Method, route: &str) -> bool {
    table.iter().any(|(known, path)| method.as_str() == *known && route == *path)
}
