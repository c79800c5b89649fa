//! The dialect of Forgejo and Gitea: `/api/swagger` of each installation.

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

use super::api::{Api, MAX_COMPARISON_BYTES, MAX_LIST_BYTES, MAX_RECORD_BYTES};
use super::error::ForgeError;
use super::interface::{ComparedCommit, Comparison, Forge, NewPullRequest, NewStatus, PullRequest};
use super::shared::{
    MAX_BODY_CHARACTERS, MAX_COMMITS, MAX_FILES, MAX_PATH_CHARACTERS, MAX_TITLE_CHARACTERS, check_branches,
    commit_id, cut, state,
};
use super::text::encode;

/// The forge allows 50 by default.
const PAGE_SIZE: usize = 30;
/// Versions before 17 do not filter by the branch: the 900 pull requests that were updated last are searched. One that was
/// opened a moment ago is among them, and a second open one is refused by the forge.
const MAX_PAGES: usize = 30;
/// What makes a pull request a draft.
const DRAFT_PREFIX: &str = "WIP: ";

pub(super) struct Forgejo(pub(super) Api);

/// The document declares no field as required.
#[derive(Deserialize)]
struct ComparisonBody {
    total_commits: u64,
    #[serde(default)]
    commits: Option<Vec<CommitBody>>,
    #[serde(default)]
    files: Option<Vec<FileBody>>,
}

#[derive(Deserialize)]
struct CommitBody {
    sha: String,
    commit: CommitTextBody,
    /// Versions without `files` of the comparison have those of each commit.
    #[serde(default)]
    files: Option<Vec<FileBody>>,
}

#[derive(Deserialize)]
struct CommitTextBody {
    message: String,
}

#[derive(Deserialize)]
struct FileBody {
    filename: String,
}

#[derive(Deserialize)]
struct PullRequestBody {
    number: u64,
    html_url: String,
    state: String,
    #[serde(default)]
    draft: bool,
    #[serde(default)]
    merged: bool,
    head: HeadBody,
    base: BaseBody,
}

#[derive(Deserialize)]
struct HeadBody {
    /// The branch, also when it was deleted; `ref` is another one then.
    label: String,
    sha: String,
    /// Null, if the fork was deleted.
    repo: Option<RepositoryBody>,
}

#[derive(Deserialize)]
struct BaseBody {
    r#ref: String,
}

#[derive(Deserialize)]
struct RepositoryBody {
    full_name: String,
}

#[derive(Deserialize)]
struct BranchBody {
    commit: BranchCommitBody,
}

#[derive(Deserialize)]
struct BranchCommitBody {
    id: String,
}

impl Forgejo {
    fn pull_request(&self, body: PullRequestBody) -> Result<PullRequest, ForgeError> {
        Ok(PullRequest {
            number: body.number,
            url: self.0.link(body.html_url)?,
            state: state(&body.state, body.merged)?,
            is_draft: body.draft,
            head_commit: commit_id(body.head.sha)?,
            base: self.0.clean(&body.base.r#ref, MAX_PATH_CHARACTERS),
        })
    }

    async fn comparison(&self, base: &str, head: &str) -> Result<Comparison, ForgeError> {
        check_branches(&[base, head])?;
        let range = format!("/compare/{}...{}?verification=false&files=true", encode(base), encode(head));
        let body: ComparisonBody = self.0.get(&range, MAX_COMPARISON_BYTES).await?;
        // It lists the newest commit first.
        let bodies: Vec<CommitBody> = body.commits.unwrap_or_default().into_iter().rev().collect();
        let mut files: Vec<String> = Vec::new();
        let of_commits = bodies.iter().filter_map(|commit| commit.files.as_ref()).flatten();
        for file in body.files.iter().flatten().chain(of_commits).take(10 * MAX_FILES) {
            let path = self.0.clean(&file.filename, MAX_PATH_CHARACTERS);
            if files.len() < MAX_FILES && !files.contains(&path) {
                files.push(path);
            }
        }
        let commits = bodies.into_iter().take(MAX_COMMITS).map(|commit| {
            Ok(ComparedCommit { id: commit_id(commit.sha)?, title: self.0.title(&commit.commit.message) })
        });
        let commits = commits.collect::<Result<_, ForgeError>>()?;
        Ok(Comparison { total_commits: body.total_commits, commits, files })
    }

    async fn list(&self, branch: &str) -> Result<Vec<PullRequest>, ForgeError> {
        check_branches(&[branch])?;
        let head = encode(branch);
        let mut found = Vec::new();
        for page in 1..=MAX_PAGES {
            let path =
                format!("/pulls?state=all&sort=recentupdate&head={head}&limit={PAGE_SIZE}&page={page}");
            // A pull request that the forge can't read is null.
            let bodies: Vec<Option<PullRequestBody>> = self.0.get(&path, MAX_LIST_BYTES).await?;
            // An installation may have a smaller maximum.
            let is_last = bodies.is_empty();
            for body in bodies.into_iter().flatten() {
                let is_own = body.head.repo.as_ref().is_some_and(|repo| self.0.is_this(&repo.full_name));
                if is_own && body.head.label == branch {
                    found.push(self.pull_request(body)?);
                }
            }
            if is_last {
                break;
            }
        }
        Ok(found)
    }

    async fn create(&self, new: &NewPullRequest<'_>) -> Result<PullRequest, ForgeError> {
        check_branches(&[new.head, new.base])?;
        let body = json!({
            "title": format!("{DRAFT_PREFIX}{}", cut(new.title, MAX_TITLE_CHARACTERS)),
            "head": new.head,
            "base": new.base,
            "body": cut(new.body, MAX_BODY_CHARACTERS),
        });
        match self.0.post("/pulls", &body).await {
            Ok(created) => self.pull_request(created),
            Err(ForgeError::Refused { status: status @ 409, message }) => {
                Err(ForgeError::Conflict { status, message })
            }
            Err(error) => Err(error),
        }
    }

    async fn newest_commit(&self, branch: &str) -> Result<Option<String>, ForgeError> {
        check_branches(&[branch])?;
        match self.0.get::<BranchBody>(&format!("/branches/{}", encode(branch)), MAX_RECORD_BYTES).await {
            Ok(body) => Ok(Some(commit_id(body.commit.id)?)),
            Err(ForgeError::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Forge for Forgejo {
    fn compare<'a>(&'a self, base: &'a str, head: &'a str) -> BoxFuture<'a, Result<Comparison, ForgeError>> {
        Box::pin(self.comparison(base, head))
    }

    fn pull_requests_of<'a>(
        &'a self,
        branch: &'a str,
    ) -> BoxFuture<'a, Result<Vec<PullRequest>, ForgeError>> {
        Box::pin(self.list(branch))
    }

    fn open<'a>(&'a self, new: &'a NewPullRequest<'a>) -> BoxFuture<'a, Result<PullRequest, ForgeError>> {
        Box::pin(self.create(new))
    }

    fn status<'a>(&'a self, status: &'a NewStatus<'a>) -> BoxFuture<'a, Result<(), ForgeError>> {
        Box::pin(self.0.set_status(status))
    }

    fn branch_head<'a>(&'a self, branch: &'a str) -> BoxFuture<'a, Result<Option<String>, ForgeError>> {
        Box::pin(self.newest_commit(branch))
    }

    fn default_branch(&self) -> BoxFuture<'_, Result<String, ForgeError>> {
        Box::pin(self.0.default_branch())
    }
}
