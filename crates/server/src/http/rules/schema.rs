//! Rejects requests while the database's schema does not match this build: each of them would fail with
//! another error.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use greenroom_app::failure::{Code, Failure};
use greenroom_store::{Reachability, Readiness};

use crate::http::rules::problem::problem_response;

pub async fn require(State(health): State<Reachability>, request: Request, next: Next) -> Response {
    match health.readiness() {
        Readiness::SchemaMismatch(_) => problem_response(Failure::new(
            Code::DatabaseUnavailable,
            "The database is not migrated to this server's version yet. Nothing was done; try again in a moment.",
        )),
        _ => next.run(request).await,
    }
}
