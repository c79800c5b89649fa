//! Proves that a commit is on a branch: the branch is fetched without file contents, into a separate
//! repository next to the workspace, and its history has to contain the commit. That a server serves a commit
//! by its id proves nothing: forges serve the commits of forks under the name of the parent.

use std::path::{Path, PathBuf};

use greenroom_api_types::runner::MustBeOn;

use super::error::{CheckoutError, GitError};
use super::folder::beside;
use super::program::Git;
use super::remote::Remote;

/// Returns the proven branch, or an error if the commit may not be used.
pub(super) async fn prove(
    must: &MustBeOn,
    commit: &str,
    remote: Remote<'_>,
    workspace: &Path,
) -> Result<String, CheckoutError> {
    let folder = RemoveOnDrop(beside(workspace, "-branches"));
    tokio::fs::create_dir_all(&folder.0)
        .await
        .map_err(|error| CheckoutError::transient(format!("could not create a folder: {error}")))?;
    let git = Git::new(&folder.0, remote);
    git.run(&["init", "--quiet", "--bare"]).await?;
    let history = History { git, repository: remote.repository, commit };
    let named = match &must.branch {
        Some(branch) if history.is_on(branch).await? => Some(branch.clone()),
        Some(branch) => {
            return Err(CheckoutError::not_on_branch(format!(
                "{commit} is not on the branch `{branch}` that the deployment names"
            )));
        }
        None => None,
    };
    if named.as_ref().is_some_and(|named| must.any_of.is_empty() || must.any_of.contains(named)) {
        return Ok(named.unwrap_or_default());
    }
    if must.any_of.is_empty() {
        return history.any_branch().await;
    }
    for branch in &must.any_of {
        if history.is_on(branch).await? {
            return Ok(named.unwrap_or_else(|| branch.clone()));
        }
    }
    let branches = must.any_of.join("`, `");
    Err(CheckoutError::not_on_branch(format!(
        "{commit} is on none of the branches that may be deployed to this environment: `{branches}`"
    )))
}

struct History<'a> {
    git: Git,
    repository: &'a str,
    commit: &'a str,
}

impl History<'_> {
    async fn is_on(&self, branch: &str) -> Result<bool, CheckoutError> {
        let name = format!("refs/heads/{branch}");
        // An invalid name could change the meaning of the refspec.
        if self.git.run(&["check-ref-format", &name]).await.is_err() {
            return Ok(false);
        }
        match self.fetch(&format!("+{name}:{name}")).await {
            Ok(()) => {}
            Err(error) if error.stderr.contains("couldn't find remote ref") => return Ok(false),
            Err(error) => return Err(self.fetch_failed(error)),
        }
        if !self.has_commit().await {
            return Ok(false);
        }
        match self.git.run(&["merge-base", "--is-ancestor", self.commit, &name]).await {
            Ok(_) => Ok(true),
            Err(error) if error.code == Some(1) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    async fn any_branch(&self) -> Result<String, CheckoutError> {
        self.fetch("+refs/heads/*:refs/heads/*").await.map_err(|error| self.fetch_failed(error))?;
        let mut found = String::new();
        if self.has_commit().await {
            let contains = ["--count=1", "--format=%(refname:strip=2)", "--contains", self.commit];
            found = self.git.run(&[&["for-each-ref"], &contains[..], &["refs/heads/"]].concat()).await?;
        }
        match found.trim() {
            "" => Err(CheckoutError::not_on_branch(format!(
                "{} is on no branch of the repository, which is required to deploy to a lasting environment",
                self.commit
            ))),
            branch => Ok(branch.to_owned()),
        }
    }

    async fn fetch(&self, refspec: &str) -> Result<(), GitError> {
        self.git.fetch(&["--filter=blob:none"], self.repository, &[refspec]).await
    }

    fn fetch_failed(&self, error: GitError) -> CheckoutError {
        self.git.fetch_failed(error)
    }

    async fn has_commit(&self) -> bool {
        self.git.run(&["cat-file", "-e", &format!("{}^{{commit}}", self.commit)]).await.is_ok()
    }
}

/// Removes a folder on drop, also if the checkout is aborted.
struct RemoveOnDrop(PathBuf);

impl Drop for RemoveOnDrop {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::warn!(%error, "could not remove the folder with branches");
        }
    }
}
