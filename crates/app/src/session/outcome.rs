//! Counts the outcomes of claims.

use greenroom_domain::session::SessionStatus;

use crate::failure::{Code, Failure};
use crate::session::view::SessionView;

/// Counts a claim and returns its result. A claim that waits within its request is counted once, as `queued`.
pub fn counted(result: Result<SessionView, Failure>) -> Result<SessionView, Failure> {
    metrics::counter!("greenroom_claims_total", "outcome" => outcome(&result)).increment(1);
    result
}

fn outcome(result: &Result<SessionView, Failure>) -> &'static str {
    match result {
        Ok(view) if view.session.status == SessionStatus::Queued => "queued",
        Ok(_) => "granted",
        Err(Failure { code: Code::EnvironmentLocked | Code::PoolExhausted, .. }) => "locked",
        Err(failure) if failure.code.status() < 500 => "refused",
        Err(_) => "failed",
    }
}
