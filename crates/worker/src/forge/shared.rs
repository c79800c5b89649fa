//! What both dialects have in common.

use serde::Deserialize;
use serde_json::json;

use super::api::{Api, MAX_RECORD_BYTES};
use super::error::ForgeError;
use super::interface::{NewStatus, PullRequestState};
use super::text::{is_commit_id, is_revision};

pub(super) const MAX_COMMITS: usize = 100;
pub(super) const MAX_FILES: usize = 300;
pub(super) const MAX_PATH_CHARACTERS: usize = 400;
pub(super) const MAX_TITLE_CHARACTERS: usize = 240;
pub(super) const MAX_BODY_CHARACTERS: usize = 60_000;
/// GitHub rejects longer ones.
const MAX_DESCRIPTION_CHARACTERS: usize = 140;

#[derive(Deserialize)]
struct StatusBody {}

#[derive(Deserialize)]
struct RepositoryBody {
    default_branch: String,
}

impl Api {
    pub(super) async fn set_status(&self, status: &NewStatus<'_>) -> Result<(), ForgeError> {
        if !is_commit_id(status.commit) {
            return Err(ForgeError::Input("such an id of a commit"));
        }
        let mut body = json!({
            "state": status.state.as_str(),
            "description": cut(status.description, MAX_DESCRIPTION_CHARACTERS),
            "context": status.context,
        });
        if let Some(url) = status.url {
            body["target_url"] = url.into();
        }
        let StatusBody {} = self.post(&format!("/statuses/{}", status.commit), &body).await?;
        Ok(())
    }

    pub(super) async fn default_branch(&self) -> Result<String, ForgeError> {
        let body: RepositoryBody = self.get("", MAX_RECORD_BYTES).await?;
        let branch = body.default_branch;
        if is_revision(&branch) { Ok(branch) } else { Err(ForgeError::Unexpected("the default branch")) }
    }

    /// Returns the first line of a commit's message.
    pub(super) fn title(&self, message: &str) -> String {
        self.clean(message.lines().next().unwrap_or_default(), MAX_TITLE_CHARACTERS)
    }
}

/// Checks names of branches that become parts of URLs.
pub(super) fn check_branches(names: &[&str]) -> Result<(), ForgeError> {
    if names.iter().all(|name| is_revision(name)) {
        Ok(())
    } else {
        Err(ForgeError::Input("such a name of a branch"))
    }
}

/// Checks the id of a commit.
pub(super) fn commit_id(text: String) -> Result<String, ForgeError> {
    if is_commit_id(&text) { Ok(text) } else { Err(ForgeError::Unexpected("an id of a commit")) }
}

pub(super) fn state(text: &str, is_merged: bool) -> Result<PullRequestState, ForgeError> {
    match (text, is_merged) {
        ("open", _) => Ok(PullRequestState::Open),
        ("closed", false) => Ok(PullRequestState::Closed),
        ("closed", true) => Ok(PullRequestState::Merged),
        _ => Err(ForgeError::Unexpected("the state of a pull request")),
    }
}

/// Returns the beginning of a text of ours.
pub(super) fn cut(text: &str, max: usize) -> &str {
    text.char_indices().nth(max).map_or(text, |(at, _)| text.get(..at).unwrap_or(text))
}
