//! The calls of a forge, and what they take and return.

use futures_util::future::BoxFuture;
use greenroom_domain::forge::{ForgeKind, ForgeRepository};
use greenroom_domain::secret::Secret;

use super::error::ForgeError;

/// The context of the commit status of a verified fix.
pub const VERIFIED_CONTEXT: &str = "greenroom/verified";

/// What is known of the commits between two commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    pub total_commits: u64,
    /// At most 100 of them, the oldest first.
    pub commits: Vec<ComparedCommit>,
    /// At most 300 of the files that differ.
    pub files: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedCommit {
    pub id: String,
    /// The first line of its message, or the beginning of it.
    pub title: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PullRequestState {
    Open,
    Closed,
    Merged,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequest {
    pub number: u64,
    /// Where people see it: http or https.
    pub url: String,
    pub state: PullRequestState,
    pub is_draft: bool,
    /// The newest commit of its branch; after its end, the last one that it had.
    pub head_commit: String,
    pub base: String,
}

/// A pull request to open. It is always a draft.
#[derive(Clone, Copy, Debug)]
pub struct NewPullRequest<'a> {
    /// A branch of the same repository.
    pub head: &'a str,
    /// The newest commit of that branch.
    pub commit: &'a str,
    pub base: &'a str,
    pub title: &'a str,
    /// Markdown.
    pub body: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusState {
    Pending,
    Success,
    Failure,
    Error,
}

impl StatusState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Error => "error",
        }
    }
}

/// A commit status. A later one of the same commit and context replaces it.
#[derive(Clone, Copy, Debug)]
pub struct NewStatus<'a> {
    pub commit: &'a str,
    pub context: &'a str,
    pub state: StatusState,
    /// What a click on it opens, if there is something.
    pub url: Option<&'a str>,
    /// The forge shows 140 characters; what is longer is cut.
    pub description: &'a str,
}

/// The calls of a forge, for one repository.
pub trait Forge: Send + Sync {
    /// Compares two commits or branches.
    fn compare<'a>(&'a self, base: &'a str, head: &'a str) -> BoxFuture<'a, Result<Comparison, ForgeError>>;

    /// Returns the pull requests whose head is this branch of the repository, in all states. Those of forks are left out.
    fn pull_requests_of<'a>(&'a self, branch: &'a str)
    -> BoxFuture<'a, Result<Vec<PullRequest>, ForgeError>>;

    /// Opens a draft. Use `open_once`, which does not open a second one.
    fn open<'a>(&'a self, new: &'a NewPullRequest<'a>) -> BoxFuture<'a, Result<PullRequest, ForgeError>>;

    /// Sets a commit status. Repeating it has no further effect.
    fn status<'a>(&'a self, status: &'a NewStatus<'a>) -> BoxFuture<'a, Result<(), ForgeError>>;

    /// Returns the newest commit of a branch; `None` if there is no such branch.
    fn branch_head<'a>(&'a self, branch: &'a str) -> BoxFuture<'a, Result<Option<String>, ForgeError>>;

    /// Returns the branch that pull requests are based on, unless they name another one.
    fn default_branch(&self) -> BoxFuture<'_, Result<String, ForgeError>>;
}

/// Where a forge is, and the repository that is called there.
pub struct Connection<'a> {
    pub kind: ForgeKind,
    pub address: &'a str,
    pub repository: &'a ForgeRepository,
    /// It is sent to `address` only.
    pub token: Secret,
}
