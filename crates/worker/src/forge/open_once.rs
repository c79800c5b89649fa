//! Opens a pull request at most once, although the process may die at any point and the forge may fail after it has
//! opened it.

use super::error::ForgeError;
use super::interface::{Forge, NewPullRequest, PullRequest, PullRequestState};

/// A pull request that exists now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    pub pull_request: PullRequest,
    /// Whether the forge has confirmed that this call has opened it.
    pub is_new: bool,
}

/// Lists the pull requests of the branch, and opens one if there is none. After an unclear response it lists again. A repeated
/// call, also by another process, finds what an earlier one has opened.
///
/// A pull request counts if it is open, or if it has ended with the same commit: one that was closed or merged
/// since is not opened again. An older one of a branch that is used again does not count.
pub async fn open_once(forge: &dyn Forge, new: &NewPullRequest<'_>) -> Result<Opened, ForgeError> {
    if let Some(pull_request) = find(forge, new).await? {
        return Ok(Opened { pull_request, is_new: false });
    }
    let error = match forge.open(new).await {
        Ok(pull_request) => return Ok(Opened { pull_request, is_new: true }),
        Err(error) => error,
    };
    if !error.is_unclear() && !matches!(error, ForgeError::Conflict { .. }) {
        return Err(error);
    }
    // If the list fails as well, its error is returned: if it is temporary, the caller tries again, and lists first.
    match find(forge, new).await? {
        Some(pull_request) => Ok(Opened { pull_request, is_new: false }),
        None => Err(error),
    }
}

/// Returns an open one if there is one, otherwise the newest that counts.
async fn find(forge: &dyn Forge, new: &NewPullRequest<'_>) -> Result<Option<PullRequest>, ForgeError> {
    let found = forge.pull_requests_of(new.head).await?;
    let counts = |pull_request: &PullRequest| {
        pull_request.state == PullRequestState::Open || pull_request.head_commit == new.commit
    };
    Ok(found
        .into_iter()
        .filter(counts)
        .max_by_key(|pull_request| (pull_request.state == PullRequestState::Open, pull_request.number)))
}
