//! Checks out exactly one commit, with the `git` program, and proves which branch it is on. Everything that could make git do
//! something else is switched off: the machine's and the user's settings, hooks, prompts, helpers, other protocols, redirects.
//! Neither the repository's address nor a credential is left in the workspace.

mod branch;
mod error;
mod network;
mod program;
mod ssh;

use std::path::Path;
use std::time::Duration;

use greenroom_api_types::runner::{CheckedOut, Source};

pub use self::error::CheckoutError;
pub use self::network::{Access, Cidr, Protocols};
use self::program::Git;

/// For all of it. A stage's own limit may be shorter.
const LIMIT: Duration = Duration::from_secs(15 * 60);
/// A full id is 40 digits, or 64 in repositories that use SHA-256.
const FULL: [usize; 2] = [40, 64];
const SHORTEST: usize = 4;

/// Checks the commit out into an empty folder: its full id, and the branch that was proven if one had to be.
pub async fn checkout(source: &Source, folder: &Path, access: &Access) -> Result<CheckedOut, CheckoutError> {
    let work = fetch_and_check_out(source, folder, access);
    match tokio::time::timeout(LIMIT, work).await {
        Ok(done) => done,
        Err(_) => {
            let minutes = LIMIT.as_secs() / 60;
            Err(CheckoutError::transient(format!("the checkout took more than {minutes} minutes")))
        }
    }
}

async fn fetch_and_check_out(
    source: &Source,
    folder: &Path,
    access: &Access,
) -> Result<CheckedOut, CheckoutError> {
    let id = source.commit_id.to_ascii_lowercase();
    if id.len() < SHORTEST || id.len() > FULL[1] || !id.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err(CheckoutError::commit(format!("`{}` is not a commit's id", source.commit_id)));
    }
    if source.repository.starts_with('-') {
        let message = format!("`{}` is not a repository's address", source.repository);
        return Err(CheckoutError::repository(message));
    }
    let route = access.route(&source.repository).await?;
    let git = Git::new(folder, &route);
    if !route.settings.is_empty() {
        program::check_version(&git.run(&["version"]).await?)?;
    }
    git.run(&["init", "--quiet", "--initial-branch=greenroom"]).await?;
    if !FULL.contains(&id.len()) || !fetch_only(&git, &source.repository, &id).await {
        fetch_everything(&git, &source.repository).await?;
    }
    let commit = resolve(&git, &id).await?;
    git.run(&["checkout", "--quiet", "--force", "--detach", &commit]).await?;
    let head = git.run(&["rev-parse", "--verify", "HEAD"]).await?;
    if head.trim() != commit {
        let message = format!("{commit} was to be checked out, and {} was", head.trim());
        return Err(CheckoutError::transient(message));
    }
    let branch = match &source.must_be_on {
        Some(must) => Some(branch::prove(must, &commit, (&source.repository, &route), folder).await?),
        None => None,
    };
    Ok(CheckedOut { commit_id: commit, branch })
}

/// Only the commit itself, without its past. Whether that worked: not every server gives out what no branch points to.
async fn fetch_only(git: &Git, repository: &str, id: &str) -> bool {
    match git.fetch(&["--depth=1"], repository, &[id]).await {
        Ok(()) => true,
        Err(error) => {
            tracing::debug!(%error, "the commit alone was not to be had; fetching everything");
            false
        }
    }
}

/// Every branch and tag, into places where none of them is taken for a short id, whatever it is called.
async fn fetch_everything(git: &Git, repository: &str) -> Result<(), CheckoutError> {
    let (branches, tags) = ("+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/remotes/origin-tags/*");
    let fetched = git.fetch(&[], repository, &[branches, tags]).await;
    fetched.map_err(|error| CheckoutError::fetch(&error, git.is_private()))?;
    // To git, any server that answers with nothing is a repository without branches.
    if git.is_private() && git.run(&["for-each-ref", "--count=1"]).await?.trim().is_empty() {
        return Err(CheckoutError::could_not_fetch());
    }
    Ok(())
}

/// The full id of the one commit that a short one begins.
async fn resolve(git: &Git, id: &str) -> Result<String, CheckoutError> {
    let wanted = format!("{id}^{{commit}}");
    let found = git.run(&["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted]).await;
    let found =
        found.map_err(|_| CheckoutError::commit(format!("no commit, or more than one, begins with {id}")))?;
    let found = found.trim();
    if found.starts_with(id) && FULL.contains(&found.len()) {
        Ok(found.to_owned())
    } else {
        Err(CheckoutError::commit(format!("{id} is not a commit's id in this repository")))
    }
}
