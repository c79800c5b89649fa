//! Reads whether the pull request of a fix was merged or closed.

use std::time::Duration;

use greenroom_store::fix::DueFix;
use greenroom_store::{Store, StoreError, with_db_timeout};
use jiff::Timestamp;

use super::call::FIRST_POLL;
use super::call::with_forge;
use crate::evidence::ForgeAccess;
use crate::forge::PullRequestState;

const MAX_POLL: Duration = Duration::from_secs(6 * 3_600);

pub(super) async fn watch(store: &Store, access: &ForgeAccess, due: &DueFix) -> Result<(), StoreError> {
    let repository = with_db_timeout(store.repository_of_fix(due)).await?;
    let url = repository.as_deref().unwrap_or_default();
    let branch = due.fix.branch.clone();
    let found =
        with_forge(store, access, due, url, |forge| async move { Ok(forge.pull_requests_of(&branch).await) });
    let number = due.fix.pull_request.as_ref().map(|(number, _)| *number);
    let state = match found.await? {
        Ok(found) => found.into_iter().find(|found| Some(found.number) == number).map(|found| found.state),
        // Without a response it stays open. The error is shown in the record of the forge.
        Err(_) => Some(PullRequestState::Open),
    };
    with_db_timeout(async {
        match state {
            Some(PullRequestState::Open) => store.read_fix_later(due, poll_interval(due)).await,
            Some(PullRequestState::Merged) => store.fix_pull_request_ended(due, true).await,
            Some(PullRequestState::Closed) | None => store.fix_pull_request_ended(due, false).await,
        }
    })
    .await
}

/// Returns the time until the next look: the longer it is open, the less often.
fn poll_interval(due: &DueFix) -> Duration {
    // Only how often the forge is called depends on this clock.
    #[expect(clippy::disallowed_methods, reason = "no decision depends on it")]
    let age = Timestamp::now().duration_since(due.fix.updated_at);
    (age.unsigned_abs() / 20).clamp(FIRST_POLL, MAX_POLL)
}
