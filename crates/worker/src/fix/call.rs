//! Calls of the forge that serves the repository of a fix.

use std::time::Duration;

use greenroom_domain::fix::FixReason;
use greenroom_domain::forge::ForgeRepository;
use greenroom_outbound::Purpose;
use greenroom_store::fix::DueFix;
use greenroom_store::{Store, StoreError, with_db_timeout};

use crate::evidence::ForgeAccess;
use crate::forge::{Forge, ForgeError, connect_stored};
use crate::requester::{public_text, requester};

/// How long all calls of a forge may take. Shorter than the lease.
const TIMEOUT: Duration = Duration::from_secs(60);
/// When an open pull request is read for the first time.
pub(super) const FIRST_POLL: Duration = Duration::from_secs(20);

/// A call of a forge that failed.
pub(super) struct CallFailed {
    text: String,
    is_temporary: bool,
}

impl CallFailed {
    /// Tries again later, or ends the fix.
    pub(super) async fn record(self, store: &Store, due: &DueFix) -> Result<(), StoreError> {
        let Self { text, is_temporary } = self;
        with_db_timeout(async {
            match (is_temporary, due.is_overdue) {
                (true, false) => store.put_off_fix(due, Some(&text)).await,
                (true, true) => store.end_fix(due, FixReason::TimedOut, Some(&text)).await,
                (false, _) => store.end_fix(due, FixReason::ForgeRefused, Some(&text)).await,
            }
        })
        .await
    }

    fn text(&self) -> &str {
        &self.text
    }
}

/// Calls the forge that serves a repository, and records there how that went.
pub(super) async fn with_forge<T, F>(
    store: &Store,
    access: &ForgeAccess,
    due: &DueFix,
    repository: &str,
    call: impl FnOnce(Box<dyn Forge>) -> F,
) -> Result<Result<T, CallFailed>, StoreError>
where
    F: Future<Output = Result<Result<T, ForgeError>, StoreError>>,
{
    let not_connected = || CallFailed {
        text: "no forge is connected that serves the repository".to_owned(),
        is_temporary: false,
    };
    let organization = due.organization_id;
    let Some(repository) = ForgeRepository::parse(repository) else { return Ok(Err(not_connected())) };
    let Some(forge) = with_db_timeout(store.forge_of(organization, &repository)).await? else {
        return Ok(Err(not_connected()));
    };
    let connection = (store, &access.keys, &access.client);
    let requester = requester(store, Purpose::Forge, organization).await?;
    let connected = connect_stored(connection, &requester, organization, &forge, &repository);
    let result = match with_db_timeout(connected).await? {
        Ok(connected) => match tokio::time::timeout(TIMEOUT, call(connected)).await {
            Ok(result) => result?,
            Err(_) => Err(ForgeError::Timeout),
        },
        Err(error) => Err(error),
    };
    let result = result.map_err(|error| CallFailed {
        text: public_text(&requester, &error),
        // The end of a fix would show how a destination that only the operator's list allows has responded.
        is_temporary: requester.has_used_list() || error.is_temporary(),
    });
    let error = result.as_ref().err().map(CallFailed::text);
    with_db_timeout(store.record_forge_call(organization, (forge.id, forge.revision), error)).await?;
    Ok(result)
}
