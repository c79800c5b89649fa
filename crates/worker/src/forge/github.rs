//! GitHub's dialect: <https://docs.github.com/rest>, version 2022-11-28.

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

/// The response contains whole records of users and repositories, about 25 KB per pull request.
const PAGE_SIZE: usize = 30;
/// The forge filters by the branch, so few pull requests are expected.
const MAX_PAGES: usize = 4;

pub(super) struct Github(pub(super) Api);

#[derive(Deserialize)]
struct ComparisonBody {
    total_commits: u64,
    commits: Vec<CommitBody>,
    #[serde(default)]
    files: Option<Vec<FileBody>>,
}

#[derive(Deserialize)]
struct CommitBody {
    sha: String,
    commit: CommitTextBody,
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
    draft: Option<bool>,
    merged_at: Option<String>,
    head: HeadBody,
    base: BaseBody,
}

#[derive(Deserialize)]
struct HeadBody {
    r#ref: String,
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
    sha: String,
}

impl Github {
    fn pull_request(&self, body: PullRequestBody) -> Result<PullRequest, ForgeError> {
        Ok(PullRequest {
            number: body.number,
            url: self.0.link(body.html_url)?,
            state: state(&body.state, body.merged_at.is_some())?,
            is_draft: body.draft.unwrap_or(false),
            head_commit: commit_id(body.head.sha)?,
            base: self.0.clean(&body.base.r#ref, MAX_PATH_CHARACTERS),
        })
    }

    async fn comparison(&self, base: &str, head: &str) -> Result<Comparison, ForgeError> {
        check_branches(&[base, head])?;
        let range = format!("/compare/{}...{}?per_page={MAX_COMMITS}&page=1", encode(base), encode(head));
        let body: ComparisonBody = self.0.get(&range, MAX_COMPARISON_BYTES).await?;
        let commits = body.commits.into_iter().take(MAX_COMMITS).map(|commit| {
            Ok(ComparedCommit { id: commit_id(commit.sha)?, title: self.0.title(&commit.commit.message) })
        });
        let files = body.files.unwrap_or_default().into_iter().take(MAX_FILES);
        Ok(Comparison {
            total_commits: body.total_commits,
            commits: commits.collect::<Result<_, ForgeError>>()?,
            files: files.map(|file| self.0.clean(&file.filename, MAX_PATH_CHARACTERS)).collect(),
        })
    }

    async fn list(&self, branch: &str) -> Result<Vec<PullRequest>, ForgeError> {
        check_branches(&[branch])?;
        let head = encode(&format!("{}:{branch}", self.0.owner));
        let mut found = Vec::new();
        for page in 1..=MAX_PAGES {
            let path = format!("/pulls?state=all&head={head}&per_page={PAGE_SIZE}&page={page}");
            let bodies: Vec<PullRequestBody> = self.0.get(&path, MAX_LIST_BYTES).await?;
            let is_last = bodies.len() < PAGE_SIZE;
            for body in bodies {
                let is_own = body.head.repo.as_ref().is_some_and(|repo| self.0.is_this(&repo.full_name));
                if is_own && body.head.r#ref == branch {
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
            "title": cut(new.title, MAX_TITLE_CHARACTERS),
            "head": new.head,
            "base": new.base,
            "body": cut(new.body, MAX_BODY_CHARACTERS),
            "draft": true,
        });
        match self.0.post("/pulls", &body).await {
            Ok(created) => self.pull_request(created),
            // "A pull request already exists" is a 422 too, with an undocumented text: a list decides.
            Err(ForgeError::Refused { status: status @ 422, message }) => {
                Err(ForgeError::Conflict { status, message })
            }
            Err(error) => Err(error),
        }
    }

    async fn newest_commit(&self, branch: &str) -> Result<Option<String>, ForgeError> {
        check_branches(&[branch])?;
        match self.0.get::<BranchBody>(&format!("/branches/{}", encode(branch)), MAX_RECORD_BYTES).await {
            Ok(body) => Ok(Some(commit_id(body.commit.sha)?)),
            Err(ForgeError::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Forge for Github {
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
