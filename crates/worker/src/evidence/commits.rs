//! The commits between the last good run and a failure, as a connected forge lists them.

use std::time::Duration;

use greenroom_domain::failure::{CommitList, CommitListStatus, CommitTitle};
use greenroom_domain::forge::ForgeRepository;
use greenroom_domain::id::JobId;
use greenroom_keys::Keys;
use greenroom_outbound::{OutboundClient, Purpose};
use greenroom_store::failure::DueFailure;
use greenroom_store::{Store, StoreError, with_db_timeout};

use crate::forge::{ForgeError, connect_stored};
use crate::requester::{public_text, requester};

/// How long a forge may take.
const TIMEOUT: Duration = Duration::from_secs(20);
const MAX_COMMITS: usize = 20;
const MAX_FILES: usize = 50;

/// What is needed to call forges.
#[derive(Clone)]
pub struct ForgeAccess {
    /// They open the credentials.
    pub keys: Keys,
    pub client: OutboundClient,
}

/// Lists the commits since the last good run, if a forge is connected that has the repository. An error of the forge is
/// recorded there, and shows as a list that is not available.
pub(super) async fn list(
    store: &Store,
    access: &ForgeAccess,
    due: &DueFailure,
    good_job: JobId,
) -> Result<(), StoreError> {
    let Some(range) = with_db_timeout(store.commits_since(due, good_job)).await? else { return Ok(()) };
    let Some(repository) = ForgeRepository::parse(&range.repository) else { return Ok(()) };
    let organization = due.organization_id;
    let Some(forge) = with_db_timeout(store.forge_of(organization, &repository)).await? else {
        return Ok(());
    };
    let connection = (store, &access.keys, &access.client);
    let requester = requester(store, Purpose::Forge, organization).await?;
    let connected = connect_stored(connection, &requester, organization, &forge, &repository);
    let compared = match with_db_timeout(connected).await? {
        Ok(connected) => {
            let compared = tokio::time::timeout(TIMEOUT, connected.compare(&range.from, &range.to)).await;
            compared.unwrap_or(Err(ForgeError::Timeout))
        }
        Err(error) => Err(error),
    };
    let compared = compared.map_err(|error| public_text(&requester, &error));
    let error = compared.as_ref().err().map(String::as_str);
    with_db_timeout(store.record_forge_call(organization, (forge.id, forge.revision), error)).await?;
    let list = match compared {
        Ok(comparison) => CommitList {
            status: CommitListStatus::Ready,
            total: comparison.total_commits,
            // The newest ones are the likeliest cause.
            commits: comparison
                .commits
                .into_iter()
                .rev()
                .take(MAX_COMMITS)
                .map(|commit| CommitTitle { id: commit.id, title: commit.title })
                .collect(),
            files: comparison.files.into_iter().take(MAX_FILES).collect(),
        },
        Err(_) => CommitList { status: CommitListStatus::Unavailable, ..CommitList::default() },
    };
    with_db_timeout(store.store_commits(due, &list)).await
}
