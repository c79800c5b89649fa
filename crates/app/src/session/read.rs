//! Reading sessions.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{EnvironmentId, OrganizationId, SessionId};
use greenroom_store::Store;
use greenroom_store::deployment::DeploymentRecord;
use greenroom_store::environment::Environment;
use greenroom_store::page::{Page, PageResult};
use greenroom_store::session::{Period, Session};

use crate::consistent_read::{self, HistoryWindow};
use crate::failure::Failure;
use crate::session::view::SessionView;

/// Returns a session of an environment. `environment` was read before.
#[boxed_futures]
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
#[boxed_futures]
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
    with_deployments(store, organization, sessions).await
}

/// Returns a page of the sessions that waited for an environment or held it at some time in a period.
#[boxed_futures]
pub async fn history_in_period(
    store: &Store,
    organization: OrganizationId,
    environment: EnvironmentId,
    period: Period,
    page: Page,
) -> Result<PageResult<(Session, Vec<DeploymentRecord>)>, Failure> {
    let total = store.count_sessions_in_period(organization, environment, period).await?;
    let sessions = consistent_read::history_in_period(store, organization, environment, period, page).await?;
    Ok(PageResult { rows: with_deployments(store, organization, sessions).await?, total })
}

async fn with_deployments(
    store: &Store,
    organization: OrganizationId,
    sessions: Vec<Session>,
) -> Result<Vec<(Session, Vec<DeploymentRecord>)>, Failure> {
    let ids: Vec<_> = sessions.iter().map(|session| session.id).collect();
    let mut deployments = store.deployments_of_sessions(organization, &ids).await?;
    let with_own = |session: Session| {
        let own = deployments.remove(&session.id).unwrap_or_default();
        (session, own)
    };
    Ok(sessions.into_iter().map(with_own).collect())
}
