//! Reading sessions.

use greenroom_domain::id::{EnvironmentId, OrganizationId, SessionId};
use greenroom_store::Store;
use greenroom_store::deployment::DeploymentRecord;
use greenroom_store::environment::Environment;
use greenroom_store::session::Session;

use crate::app::consistent_read::{self, HistoryWindow};
use crate::app::failure::Failure;
use crate::app::session::view::SessionView;

/// Returns a session of an environment. `environment` was read before.
pub async fn session(
    store: &Store,
    organization: OrganizationId,
    environment: Environment,
    id: SessionId,
) -> Result<SessionView, Failure> {
    let session = consistent_read::session(store, organization, environment.id, id)
        .await?
        .ok_or_else(Failure::not_found)?;
    Ok(SessionView {
        session,
        pipeline_id: environment.pipeline_id,
        env_name: environment.name,
        lock: environment.lock,
        deployments: store.deployments_of_session(organization, id).await?,
        displaced: None,
    })
}

/// Returns a page of an environment's sessions, each with its deployments.
pub async fn history(
    store: &Store,
    organization: OrganizationId,
    environment: EnvironmentId,
    window: HistoryWindow,
) -> Result<Vec<(Session, Vec<DeploymentRecord>)>, Failure> {
    if window.skip >= window.newest {
        return Ok(Vec::new());
    }
    let sessions = consistent_read::history(store, organization, environment, window).await?;
    let ids: Vec<_> = sessions.iter().map(|session| session.id).collect();
    let mut deployments = store.deployments_of_sessions(organization, &ids).await?;
    let with_own = |session: Session| {
        let own = deployments.remove(&session.id).unwrap_or_default();
        (session, own)
    };
    Ok(sessions.into_iter().map(with_own).collect())
}
