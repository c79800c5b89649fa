//! The live sessions of all pipelines: who holds an environment, and who waits for one.

use std::collections::HashMap;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::OrganizationId;
use greenroom_domain::session::SessionStatus;
use greenroom_store::Store;
use greenroom_store::live_session::{LiveSession, LiveSessionFilter};
use greenroom_store::page::{Page, PageResult};

use crate::consistent_read;
use crate::failure::Failure;
use crate::session::view::SessionView;

/// Returns a page of live sessions, each with its pipeline. A session that ends while the page is read is
/// left out.
#[boxed_futures]
pub async fn list(
    store: &Store,
    organization: OrganizationId,
    filter: &LiveSessionFilter,
    page: Page,
) -> Result<PageResult<(LiveSession, SessionView)>, Failure> {
    let PageResult { rows: found, total } = store.live_sessions(organization, filter, page).await?;
    let environments: Vec<_> = found.iter().map(|live| live.environment_id).collect();
    let environments = consistent_read::environments_of_ids(store, organization, &environments).await?;
    let environments: HashMap<_, _> =
        environments.into_iter().map(|environment| (environment.id, environment)).collect();
    let ids: Vec<_> = found.iter().map(|live| live.session_id).collect();
    let sessions = store.sessions_of_ids(organization, &ids).await?;
    let mut sessions: HashMap<_, _> = sessions.into_iter().map(|session| (session.id, session)).collect();
    let mut deployments = store.deployments_of_sessions(organization, &ids).await?;
    let mut rows = Vec::with_capacity(found.len());
    for live in found {
        let mut session = sessions.remove(&live.session_id);
        if session.as_ref().is_some_and(|session| session.unsettled) {
            let (environment, id) = (live.environment_id, live.session_id);
            session = consistent_read::session(store, organization, environment, id).await?;
        }
        let (Some(session), Some(environment)) = (session, environments.get(&live.environment_id)) else {
            continue;
        };
        let is_requested = match session.status {
            SessionStatus::Active => filter.active,
            SessionStatus::Queued => filter.queued,
            _ => false,
        };
        if is_requested {
            let deployments = deployments.remove(&session.id).unwrap_or_default();
            let (env_name, lock) = (environment.name.clone(), environment.lock.clone());
            let pipeline_id = live.pipeline_id;
            let view = SessionView { session, pipeline_id, env_name, lock, deployments, displaced: None };
            rows.push((live, view));
        }
    }
    Ok(PageResult { rows, total })
}
