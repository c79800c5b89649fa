//! Consistent reads of locks. The end of a lease is final only once it is recorded: a concurrent renewal that
//! arrived in time may hold the row lock and not be committed yet. So a read that finds an expired lease
//! first locks the row and settles it, that is, records its expiry, and then reads again. This is rare, and
//! each expiry is settled once.

use greenroom_domain::id::{EnvironmentId, OrganizationId, PipelineId, SessionId};
use greenroom_store::environment::Environment;
use greenroom_store::session::Session;
use greenroom_store::system::sweeper::DueEnvironment;
use greenroom_store::{Store, StoreError};

/// A lease may expire between the settling and the next read. If that happens each time, the read fails: a
/// lease whose end is not recorded must not be returned as ended.
const MAX_ATTEMPTS: usize = 3;

pub async fn environment(
    store: &Store,
    organization: OrganizationId,
    pipeline: PipelineId,
    name: &str,
) -> Result<Option<Environment>, StoreError> {
    for _ in 0..MAX_ATTEMPTS {
        let found = store.environment(organization, pipeline, name).await?;
        let Some(over) = found.as_ref().filter(|environment| environment.unsettled) else { return Ok(found) };
        settle(store, organization, over.id).await?;
    }
    Err(StoreError::Unsettled)
}

/// Reads each unsettled environment again individually. If the whole list were read again, the leases of
/// other environments could have expired in the meantime, and a long list might never be settled.
pub async fn environments(
    store: &Store,
    organization: OrganizationId,
    pipeline: PipelineId,
) -> Result<Vec<Environment>, StoreError> {
    let mut settled = Vec::new();
    for found in store.environments(organization, pipeline).await? {
        if found.unsettled {
            settled.extend(environment(store, organization, pipeline, &found.name).await?);
        } else {
            settled.push(found);
        }
    }
    Ok(settled)
}

pub async fn session(
    store: &Store,
    organization: OrganizationId,
    environment: EnvironmentId,
    id: SessionId,
) -> Result<Option<Session>, StoreError> {
    for _ in 0..MAX_ATTEMPTS {
        let found = store.session(organization, environment, id).await?;
        if !found.as_ref().is_some_and(|session| session.unsettled) {
            return Ok(found);
        }
        settle(store, organization, environment).await?;
    }
    Err(StoreError::Unsettled)
}

/// A page of an environment's sessions: those with ordinals in `(newest - skip - limit, newest - skip]`.
#[derive(Clone, Copy, Debug)]
pub struct HistoryWindow {
    pub newest: i64,
    pub skip: i64,
    pub limit: i64,
}

pub async fn history(
    store: &Store,
    organization: OrganizationId,
    environment: EnvironmentId,
    window: HistoryWindow,
) -> Result<Vec<Session>, StoreError> {
    let HistoryWindow { newest, skip, limit } = window;
    for _ in 0..MAX_ATTEMPTS {
        let found = store.session_history(organization, environment, newest, skip, limit).await?;
        if !found.iter().any(|session| session.unsettled) {
            return Ok(found);
        }
        settle(store, organization, environment).await?;
    }
    Err(StoreError::Unsettled)
}

async fn settle(
    store: &Store,
    organization_id: OrganizationId,
    environment_id: EnvironmentId,
) -> Result<(), StoreError> {
    store.sweep_environment(DueEnvironment { organization_id, environment_id }).await
}
