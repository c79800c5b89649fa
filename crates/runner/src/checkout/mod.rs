//! Checks out exactly one commit with the `git` program, and proves which branch it is on. Everything that
//! could make git do something else is disabled: the machine's and the user's settings, hooks, prompts,
//! helpers, other protocols, redirects. Neither the repository's address nor a credential is left in the
//! workspace.

mod branch;
mod cidr;
mod credential_helper;
mod error;
mod folder;
mod network;
mod origin;
mod program;
mod remote;
mod ssh;
mod submodules;

use std::path::Path;
use std::time::Duration;

use greenroom_api_types::runner::{CheckedOut, CredentialKind, Source, Submodules};

pub use self::cidr::Cidr;
use self::credential_helper::Grant;
pub use self::error::CheckoutError;
use self::folder::beside;
pub use self::network::{Access, Protocols};
use self::origin::Origin;
use self::program::Git;
use self::remote::Remote;
use crate::credential::Credentials;

/// The timeout of the whole checkout. A stage's own timeout may be shorter.
const TIMEOUT: Duration = Duration::from_secs(15 * 60);
/// A full id has 40 digits, or 64 in repositories that use SHA-256.
const FULL_ID_LENGTHS: [usize; 2] = [40, 64];
const MIN_ID_LENGTH: usize = 4;

/// Checks out the commit into an empty folder. Returns its full id, and the proven branch if the source
/// demands one.
pub async fn checkout(
    source: &Source,
    folder: &Path,
    access: &Access,
    credentials: &impl Credentials,
) -> Result<CheckedOut, CheckoutError> {
    let work = fetch_and_check_out(source, folder, access, credentials);
    match tokio::time::timeout(TIMEOUT, work).await {
        Ok(done) => done,
        Err(_) => {
            let minutes = TIMEOUT.as_secs() / 60;
            Err(CheckoutError::transient(format!("the checkout took more than {minutes} minutes")))
        }
    }
}

async fn fetch_and_check_out(
    source: &Source,
    folder: &Path,
    access: &Access,
    credentials: &impl Credentials,
) -> Result<CheckedOut, CheckoutError> {
    let id = source.commit_id.to_ascii_lowercase();
    if id.len() < MIN_ID_LENGTH
        || id.len() > FULL_ID_LENGTHS[1]
        || !id.bytes().all(|digit| digit.is_ascii_hexdigit())
    {
        return Err(CheckoutError::commit(format!("`{}` is not a commit id", source.commit_id)));
    }
    let checkout = Checkout { workspace: folder, access, credentials };
    let (git, commit) = checkout.commit(&source.repository, &id, folder).await?;
    let branch = match &source.must_be_on {
        Some(must) => Some(branch::prove(must, &commit, git.remote(&source.repository), folder).await?),
        None => None,
    };
    if let Some(Submodules { hosts }) = &source.submodules {
        checkout.submodules(git, &source.repository, &commit, hosts).await?;
    }
    Ok(CheckedOut { commit_id: commit, branch })
}

struct Checkout<'a, C> {
    workspace: &'a Path,
    access: &'a Access,
    credentials: &'a C,
}

impl<C: Credentials> Checkout<'_, C> {
    /// Checks out one commit into a folder. Returns its full id.
    async fn commit(
        &self,
        repository: &str,
        id: &str,
        folder: &Path,
    ) -> Result<(Git, String), CheckoutError> {
        if repository.starts_with('-') {
            let message = format!("`{repository}` is not a repository address");
            return Err(CheckoutError::repository(message));
        }
        let route = self.access.route(repository).await?;
        let grant = grant(repository, self.workspace, self.credentials).await?;
        let git = Git::new(folder, Remote { repository, route: &route, grant: grant.as_ref() });
        if !route.settings.is_empty() {
            program::check_version(&git.run(&["version"]).await?)?;
        }
        git.run(&["init", "--quiet", "--initial-branch=greenroom"]).await?;
        if !FULL_ID_LENGTHS.contains(&id.len()) || !fetch_only(&git, repository, id).await {
            fetch_everything(&git, repository).await?;
        }
        let commit = resolve(&git, id).await?;
        git.run(&["checkout", "--quiet", "--force", "--detach", &commit]).await?;
        let head = git.run(&["rev-parse", "--verify", "HEAD"]).await?;
        if head.trim() != commit {
            let message = format!("expected to check out {commit}, but HEAD is {}", head.trim());
            return Err(CheckoutError::transient(message));
        }
        Ok((git, commit))
    }

    /// Checks out the submodules of a commit, and those within them.
    async fn submodules(
        &self,
        git: Git,
        repository: &str,
        commit: &str,
        hosts: &[String],
    ) -> Result<(), CheckoutError> {
        let mut count = 0;
        let first = (git, self.workspace.to_owned(), repository.to_owned(), commit.to_owned());
        let mut level = vec![first];
        for _ in 0..=submodules::MAX_DEPTH {
            let mut next = Vec::new();
            for (git, folder, repository, commit) in level {
                for found in submodules::of_commit(&git, &repository, &commit, hosts).await? {
                    count += 1;
                    if !submodules::is_within(&folder, &found.path) || count > submodules::MAX_COUNT {
                        return Err(CheckoutError::repository(format!(
                            "the submodule `{}` can't be checked out: its folder is in use, or there are more than {}",
                            found.path,
                            submodules::MAX_COUNT
                        )));
                    }
                    let own = folder.join(&found.path);
                    let (git, commit) = self.commit(&found.repository, &found.commit_id, &own).await?;
                    next.push((git, own, found.repository, commit));
                }
            }
            if next.is_empty() {
                return Ok(());
            }
            level = next;
        }
        Err(CheckoutError::repository(format!(
            "more than {} submodules are within each other",
            submodules::MAX_DEPTH
        )))
    }
}

/// Requests the credential for the repository's server, if it can have one.
async fn grant(
    repository: &str,
    workspace: &Path,
    credentials: &impl Credentials,
) -> Result<Option<Grant>, CheckoutError> {
    let Some(origin) = Origin::parse(repository) else { return Ok(None) };
    let credential = credentials.get(CredentialKind::Checkout, origin.host(), Some(repository)).await?;
    let folder = beside(workspace, "-credential");
    Ok(credential.map(|credential| Grant { credential, origin, folder }))
}

/// Fetches only the commit itself, without its history. Returns whether that worked: not every server serves
/// commits that no branch points to.
async fn fetch_only(git: &Git, repository: &str, id: &str) -> bool {
    match git.fetch(&["--depth=1"], repository, &[id]).await {
        Ok(()) => true,
        Err(error) => {
            tracing::debug!(%error, "could not fetch the commit alone; fetching everything");
            false
        }
    }
}

/// Fetches every branch and tag, under prefixes that keep git from resolving a short id to a branch or tag of
/// that name.
async fn fetch_everything(git: &Git, repository: &str) -> Result<(), CheckoutError> {
    let (branches, tags) = ("+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/remotes/origin-tags/*");
    let fetched = git.fetch(&[], repository, &[branches, tags]).await;
    fetched.map_err(|error| git.fetch_failed(error))?;
    // git treats an empty response of any server as a repository without branches.
    if git.is_private() && git.run(&["for-each-ref", "--count=1"]).await?.trim().is_empty() {
        return Err(CheckoutError::could_not_fetch());
    }
    Ok(())
}

/// Returns the full id of the only commit that begins with a short id.
async fn resolve(git: &Git, id: &str) -> Result<String, CheckoutError> {
    let wanted = format!("{id}^{{commit}}");
    let found = git.run(&["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted]).await;
    let found = found.map_err(|error| {
        CheckoutError::commit(format!("no commit, or more than one, begins with {id}")).with_source(error)
    })?;
    let found = found.trim();
    if found.starts_with(id) && FULL_ID_LENGTHS.contains(&found.len()) {
        Ok(found.to_owned())
    } else {
        Err(CheckoutError::commit(format!("{id} is not a commit id in this repository")))
    }
}
