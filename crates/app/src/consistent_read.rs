//! Consistent reads of locks. The end of a lease is final only once it is recorded: a concurrent renewal that
//! arrived in time may hold the row lock and not be committed yet. So a read that finds an expired lease
//! first locks the row and settles it, that is, records its expiry, and then reads again. This is rare, and
//! each expiry is settled once.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{EnvironmentId, OrganizationId, PipelineId, SessionId};
use greenroom_store::environment::Environment;
use greenroom_store::page::Page;
use greenroom_store::session::{Period, Session};
use greenroom_store::system::sweeper::DueEnvironment;
use greenroom_store::{Store, StoreError};

/// A lease may expire between the settling and the next read. If that happens each time, the read fails: a
/// lease whose end is not recorded must not be returned as ended.
const MAX_ATTEMPTS: usize = 3;

#[boxed_futures]
pub async fn environment(
    store: &Store,
    organization: OrganizationId,
    pipeline: PipelineId,
    name: &str,
) -> Result<Option<Environment>, StoreError> {
    let read = || store.environment(organization, pipeline, name);
    read_settled(store, organization, read, |found| {
        found.as_ref().filter(|environment| environment.unsettled).map(|environment| environment.id)
    })
    .await
}

#[boxed_futures]
pub async fn environments(
    store: &Store,
    organization: OrganizationId,
    pipeline: PipelineId,
) -> Result<Vec<Environment>, StoreError> {
    settled(store, organization, store.environments(organization, pipeline).await?).await
}

/// Returns environments by their ids. Those that do not exist are left out.
#[boxed_futures]
pub async fn environments_of_ids(
    store: &Store,
    organization: OrganizationId,
    ids: &[EnvironmentId],
) -> Result<Vec<Environment>, StoreError> {
    let found = store.environments_of_ids(organization, ids).await?;
    settled(store, organization, found).await
}

/// Reads each unsettled environment again individually. If the whole list were read again, the leases of
/// other environments could have expired in the meantime, and a long list might never be settled.
#[boxed_futures]
pub async fn settled(
    store: &Store,
    organization: OrganizationId,
    found: Vec<Environment>,
) -> Result<Vec<Environment>, StoreError> {
    let mut settled = Vec::with_capacity(found.len());
    for found in found {
        if found.unsettled {
            settled.extend(environment(store, organization, found.pipeline_id, &found.name).await?);
        } else {
            settled.push(found);
        }
    }
    Ok(settled)
}

#[boxed_futures]
pub async fn session(
    store: &Store,
    organization: OrganizationId,
    environment: EnvironmentId,
    id: SessionId,
) -> Result<Option<Session>, StoreError> {
    let read = || store.session(organization, environment, id);
    read_settled(store, organization, read, |found| {
        found.as_ref().is_some_and(|session| session.unsettled).then_some(environment)
    })
    .await
}

/// A page of an environment's sessions: those with ordinals in `(newest - skip - limit, newest - skip]`.
#[derive(Clone, Copy, Debug)]
pub struct HistoryWindow {
    pub newest: i64,
    pub skip: i64,
    pub limit: i64,
}

#[boxed_futures]
pub async fn history(
    store: &Store,
    organization: OrganizationId,
    environment: EnvironmentId,
    window: HistoryWindow,
) -> Result<Vec<Session>, StoreError> {
    let HistoryWindow { newest, skip, limit } = window;
    let read = || store.session_history(organization, environment, newest, skip, limit);
    read_settled(store, organization, read, |found| {
        found.iter().any(|session| session.unsettled).then_some(environment)
    })
    .await
}

#[boxed_futures]
pub async fn history_in_period(
    store: &Store,
    organization: OrganizationId,
    environment: EnvironmentId,
    period: Period,
    page: Page,
) -> Result<Vec<Session>, StoreError> {
    let read = || store.sessions_in_period(organization, environment, period, page);
    read_settled(store, organization, read, |found| {
        found.iter().any(|session| session.unsettled).then_some(environment)
    })
    .await
}

/// Reads, and settles the environment that `unsettled` finds in the result, until it finds none.
async fn read_settled<T, F: Future<Output = Result<T, StoreError>>>(
    store: &Store,
    organization_id: OrganizationId,
    read: impl Fn() -> F,
    unsettled: impl Fn(&T) -> Option<EnvironmentId>,
) -> Result<T, StoreError> {
    for _ in 0..MAX_ATTEMPTS {
        let found = read().await?;
        let Some(environment_id) = unsettled(&found) else { return Ok(found) };
        store.sweep_environment(DueEnvironment { organization_id, environment_id }).await?;
    }
    Err(StoreError::Unsettled)
}
