//! Reading a session.

use greenroom_domain::id::{OrganizationId, SessionId};
use greenroom_store::environment::Environment;
use greenroom_store::{Store, planted};

use crate::app::consistent_read;
use crate::app::failure::Failure;
use crate::app::session::view::SessionView;

/// Returns a session of an environment. `environment` was read before.
pub async fn session(
    store: &Store,
    organization: OrganizationId,
    environment: Environment,
    id: SessionId,
) -> Result<SessionView, Failure> {
    planted::read_confirms(store, organization, id).await?;
    let session = consistent_read::session(store, organization, environment.id, id)
        .await?
        .ok_or_else(Failure::not_found)?;
    Ok(SessionView {
        session,
        env_name: environment.name,
        lock: environment.lock,
        deployments: store.deployments_of_session(organization, id).await?,
        displaced: None,
    })
}
