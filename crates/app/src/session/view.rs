//! A session with everything that a response contains about it.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{PipelineId, SessionId};
use greenroom_store::Command;
use greenroom_store::deployment::DeploymentRecord;
use greenroom_store::environment::LockView;
use greenroom_store::lock::LockedEnvironment;
use greenroom_store::session::Session;

use crate::failure::Failure;
use crate::web_url::WebUrls;

#[derive(Clone, Debug)]
pub struct SessionView {
    pub session: Session,
    pub pipeline_id: PipelineId,
    pub env_name: String,
    pub lock: LockView,
    pub deployments: Vec<DeploymentRecord>,
    /// The session that a force claim ended.
    pub displaced: Option<Session>,
}

/// Makes the response of a command from the session after it. The response is stored within the command.
pub type Render<R> = fn(WebUrls<'_>, SessionView) -> Result<R, Failure>;

#[boxed_futures]
pub async fn read_view(
    command: &mut Command,
    locked: &LockedEnvironment,
    id: SessionId,
) -> Result<SessionView, Failure> {
    let environment = command.environment(locked.id).await?.ok_or_else(Failure::not_found)?;
    Ok(SessionView {
        session: command.session(locked.id, id).await?.ok_or_else(Failure::not_found)?,
        pipeline_id: environment.pipeline_id,
        env_name: environment.name,
        lock: environment.lock,
        deployments: command.deployments_of(id).await?,
        displaced: None,
    })
}
