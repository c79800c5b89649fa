//! What a session's user does with it: deploying, renewing its lease, sending heartbeats, releasing it.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::environment::LockCommand;
use greenroom_domain::id::{DeploymentId, PipelineId, SessionId};
use greenroom_domain::policy::Action;
use greenroom_store::Command;
use greenroom_store::deployment::{DeploymentRecord, NewSessionDeployment};
use greenroom_store::lock::{LockedEnvironment, NewSession};
use uuid::Uuid;

use crate::command::{CommandRequest, Interruption, Replayable};
use crate::commit;
use crate::failure::{Code, Failure};
use crate::pipeline_role;
use crate::session::locked::{apply, live_pipeline, lock_held, lock_place, not_active, own_session};
use crate::session::view::{Render, SessionView, read_view};
use crate::session::{Place, fast_path, parse_branch};
use crate::trace;

/// Accepts a deployment, and renews the lease.
#[boxed_futures]
pub async fn deploy(
    command: &mut Command,
    place: &Place,
    id: SessionId,
    commit_id: &str,
    branch: Option<&str>,
) -> Result<DeploymentRecord, Failure> {
    let commit = commit::parse(commit_id)?;
    let branch = parse_branch(branch)?;
    live_pipeline(command, &place.pipeline).await?;
    let mut locked = lock_held(command, place, id).await?;
    renew_locked(command, &mut locked, id).await?;
    let (new, user) = (DeploymentId::from(Uuid::now_v7()), command.principal().user_id);
    let deployment = NewSessionDeployment { session: id, created_by: user, commit_id: commit.as_str() };
    command.create_deployment(&locked, new, deployment).await?;
    trace::record(command, new).await?;
    if let Some(branch) = &branch {
        command.set_branch(new, branch.as_str()).await?;
    }
    command.deployment_record(new).await?.ok_or_else(Failure::not_found)
}

#[boxed_futures]
pub async fn renew(command: &mut Command, place: &Place, id: SessionId) -> Result<SessionView, Failure> {
    let mut locked = lock_held(command, place, id).await?;
    renew_locked(command, &mut locked, id).await?;
    read_view(command, &locked, id).await
}

async fn renew_locked(
    command: &mut Command,
    locked: &mut LockedEnvironment,
    id: SessionId,
) -> Result<(), Failure> {
    match command.apply(locked, LockCommand::Renew(id), &NewSession::default()).await? {
        Ok(_) => Ok(()),
        Err(_) => Err(not_active(command, locked, id).await?),
    }
}

/// Keeps the place of a waiting session, and confirms a granted one. Fails with the reason if the session has
/// ended.
pub async fn heartbeat<R: Replayable>(
    request: &CommandRequest<'_>,
    place: &Place,
    id: SessionId,
    render: Render<R>,
) -> Result<R, Interruption> {
    let mut command = request.open().await?;
    match heartbeat_in(&mut command, place, id).await {
        Ok(view) => command.finish(render(request.web_urls(), view)?).await,
        // The refusal reports the lock after expired leases were settled (`domain::environment`), so the
        // settling is committed first.
        Err(ended) if ended.code.is_session_end() => {
            command.commit().await?;
            Err(ended.into())
        }
        Err(failure) => Err(failure.into()),
    }
}

async fn heartbeat_in(command: &mut Command, place: &Place, id: SessionId) -> Result<SessionView, Failure> {
    let mut locked = lock_place(command, place).await?;
    let session = own_session(command, &locked, id).await?;
    // A turn that was due during an absence of the installation is extended by the command.
    if session.status.is_live() || session.unsettled {
        apply(command, &mut locked, LockCommand::Heartbeat(id)).await?;
    }
    // The settling may have ended the session, because its lease or its place in the queue has expired.
    let view = read_view(command, &locked, id).await?;
    if view.session.status.is_live() { Ok(view) } else { Err(not_active(command, &locked, id).await?) }
}

/// Releases the environment, or leaves the queue. An ended session is not changed. A response that has to be
/// stored is a part of the transaction, so only a request without a key can take the fast path.
pub async fn release<R: Replayable>(
    request: &CommandRequest<'_>,
    place: &Place,
    id: SessionId,
    render: Render<R>,
) -> Result<R, Interruption> {
    if request.key.is_none()
        && let Some(view) = fast_path::release(request, place, id).await?
    {
        return Ok(render(request.web_urls(), view)?);
    }
    let mut command = request.open().await?;
    let view = release_in(&mut command, place, id).await?;
    command.finish(render(request.web_urls(), view)?).await
}

/// Returns what a release would return, and changes nothing.
pub async fn preview_release<R>(
    request: &CommandRequest<'_>,
    place: &Place,
    id: SessionId,
    render: Render<R>,
) -> Result<R, Interruption> {
    let mut command = request.open().await?;
    let view = release_in(&mut command, place, id).await?;
    Ok(render(request.web_urls(), view)?)
}

async fn release_in(command: &mut Command, place: &Place, id: SessionId) -> Result<SessionView, Failure> {
    let mut locked = lock_place(command, place).await?;
    let session = command.session(locked.id, id).await?.ok_or_else(Failure::not_found)?;
    if command.principal().owns(session.owner()) {
        pipeline_role::require(command, locked.pipeline_id, Action::SessionHold).await?;
    } else {
        allow_ending_others(command, locked.pipeline_id).await?;
    }
    apply(command, &mut locked, LockCommand::Release(id)).await?;
    read_view(command, &locked, id).await
}

/// Ending another user's session takes the environment from its holder like force does, so it needs the same
/// token right.
async fn allow_ending_others(command: &mut Command, pipeline: PipelineId) -> Result<(), Failure> {
    pipeline_role::require(command, pipeline, Action::SessionEndAny).await?;
    if !command.principal().token_allow_force {
        let detail = "Ending another's session needs a token that may take environments over by force. Use one made with \
                      `allowForce: true`, or ask the holder.";
        return Err(Failure::new(Code::Forbidden, detail));
    }
    Ok(())
}
