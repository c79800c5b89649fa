//! Reads of locks that can be believed. That a lease is over is final only when it is written down: a renewal that came in
//! time may have the row already and not be committed yet. So whoever finds a lease over does not say so before it has
//! had the row itself, and has settled what the clock decided; that is rare, and done once.

use greenroom_domain::id::{EnvironmentId, OrganizationId, PipelineId, SessionId};
use greenroom_store::environment::Environment;
use greenroom_store::session::Session;
use greenroom_store::system::sweeper::DueEnvironment;
use greenroom_store::{Store, StoreError};

/// A lease may run out between the settling and the next look.
const LOOKS: usize = 3;

pub async fn environment(
    store: &Store,
    organization: OrganizationId,
    pipeline: PipelineId,
    name: &str,
) -> Result<Option<Environment>, StoreError> {
    let mut found = store.environment(organization, pipeline, name).await?;
    for _ in 1..LOOKS {
        let Some(over) = found.as_ref().filter(|environment| environment.unsettled) else { break };
        settle(store, organization, over.id).await?;
        found = store.environment(organization, pipeline, name).await?;
    }
    Ok(found)
}

pub async fn environments(
    store: &Store,
    organization: OrganizationId,
    pipeline: PipelineId,
) -> Result<Vec<Environment>, StoreError> {
    let mut found = store.environments(organization, pipeline).await?;
    for _ in 1..LOOKS {
        if !found.iter().any(|environment| environment.unsettled) {
            break;
        }
        for over in found.iter().filter(|environment| environment.unsettled) {
            settle(store, organization, over.id).await?;
        }
        found = store.environments(organization, pipeline).await?;
    }
    Ok(found)
}

pub async fn session(
    store: &Store,
    organization: OrganizationId,
    environment: EnvironmentId,
    id: SessionId,
) -> Result<Option<Session>, StoreError> {
    let mut found = store.session(organization, environment, id).await?;
    for _ in 1..LOOKS {
        if !found.as_ref().is_some_and(|session| session.unsettled) {
            break;
        }
        settle(store, organization, environment).await?;
        found = store.session(organization, environment, id).await?;
    }
    Ok(found)
}

/// Which of an environment's sessions: those with ordinals in `(newest - skip - limit, newest - skip]`.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    pub newest: i64,
    pub skip: i64,
    pub limit: i64,
}

pub async fn history(
    store: &Store,
    organization: OrganizationId,
    environment: EnvironmentId,
    part: Part,
) -> Result<Vec<Session>, StoreError> {
    let Part { newest, skip, limit } = part;
    let mut found = store.session_history(organization, environment, newest, skip, limit).await?;
    for _ in 1..LOOKS {
        if !found.iter().any(|session| session.unsettled) {
            break;
        }
        settle(store, organization, environment).await?;
        found = store.session_history(organization, environment, newest, skip, limit).await?;
    }
    Ok(found)
}

async fn settle(
    store: &Store,
    organization_id: OrganizationId,
    environment_id: EnvironmentId,
) -> Result<(), StoreError> {
    store.sweep_environment(DueEnvironment { organization_id, environment_id }).await
}
