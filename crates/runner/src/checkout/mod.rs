//! Checks out exactly one commit, with the `git` program. Everything that could make it do something else is switched off:
//! the machine's and the user's settings, hooks, prompts, helpers, other protocols.

mod program;

use std::path::Path;
use std::time::Duration;

use greenroom_api_types::runner::Source;

use self::program::Git;

/// For all of it. A stage's own limit may be shorter.
const LIMIT: Duration = Duration::from_secs(15 * 60);
/// A full id is 40 digits, or 64 in repositories that use SHA-256.
const FULL: [usize; 2] = [40, 64];
const SHORTEST: usize = 4;

/// What went wrong, for people.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct CheckoutError(pub(crate) String);

/// What may be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocols {
    /// `http`, `https` and `ssh`.
    Remote,
    /// Those, and repositories on this machine's disk. For tests: a pipeline could name any path.
    RemoteAndFiles,
}

/// Checks the commit out into an empty folder; its full id.
pub async fn checkout(source: &Source, folder: &Path, protocols: Protocols) -> Result<String, CheckoutError> {
    let work = fetch_and_check_out(source, Git::new(folder, protocols));
    match tokio::time::timeout(LIMIT, work).await {
        Ok(done) => done,
        Err(_) => Err(CheckoutError(format!("the checkout took more than {} minutes", LIMIT.as_secs() / 60))),
    }
}

async fn fetch_and_check_out(source: &Source, git: Git) -> Result<String, CheckoutError> {
    let id = source.commit_id.to_ascii_lowercase();
    if id.len() < SHORTEST || id.len() > FULL[1] || !id.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err(CheckoutError(format!("`{}` is not a commit's id", source.commit_id)));
    }
    if source.repository.starts_with('-') {
        return Err(CheckoutError(format!("`{}` is not a repository's address", source.repository)));
    }
    git.run(&["init", "--quiet", "--initial-branch=greenroom"]).await?;
    git.run(&["remote", "add", "origin", "--", &source.repository]).await?;

    if !FULL.contains(&id.len()) || !fetch_only(&git, &id).await {
        fetch_everything(&git).await?;
    }
    let commit = resolve(&git, &id).await?;
    git.run(&["checkout", "--quiet", "--force", "--detach", &commit]).await?;
    let head = git.run(&["rev-parse", "--verify", "HEAD"]).await?;
    if head.trim() != commit {
        return Err(CheckoutError(format!("{commit} was to be checked out, and {} was", head.trim())));
    }
    Ok(commit)
}

/// Only the commit itself, without its past. Whether that worked: not every server gives out what no branch points to.
async fn fetch_only(git: &Git, id: &str) -> bool {
    match git.run(&["fetch", "--quiet", "--no-tags", "--depth=1", "origin", id]).await {
        Ok(_) => true,
        Err(error) => {
            tracing::debug!(%error, "the commit alone was not to be had; fetching everything");
            false
        }
    }
}

/// Every branch and tag, into places where none of them is taken for a short id, whatever it is called.
async fn fetch_everything(git: &Git) -> Result<(), CheckoutError> {
    let (branches, tags) = ("+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/remotes/origin-tags/*");
    git.run(&["fetch", "--quiet", "--no-tags", "origin", branches, tags]).await.map(drop)
}

/// The full id of the one commit that a short one begins.
async fn resolve(git: &Git, id: &str) -> Result<String, CheckoutError> {
    let wanted = format!("{id}^{{commit}}");
    let found = git.run(&["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted]).await;
    let found = found.map_err(|_| CheckoutError(format!("no commit, or more than one, begins with {id}")))?;
    let found = found.trim();
    if found.starts_with(id) && FULL.contains(&found.len()) {
        Ok(found.to_owned())
    } else {
        Err(CheckoutError(format!("{id} is not a commit's id in this repository")))
    }
}
