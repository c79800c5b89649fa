//! Locking the environment of a session, and applying the domain's lock commands to it.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::environment::{LockCommand, Refusal};
use greenroom_domain::id::SessionId;
use greenroom_domain::pipeline::{Pipeline, PipelineStatus};
use greenroom_domain::session::SessionStatus;
use greenroom_store::Command;
use greenroom_store::lock::{LockedEnvironment, NewSession};
use greenroom_store::pipeline::PipelineName;
use greenroom_store::session::Session;

use crate::failure::{Code, Failure};
use crate::session::refusal::{self, RefusedRequest};
use crate::session::{ClaimRequest, Place};

#[boxed_futures]
pub async fn lock_place(command: &mut Command, place: &Place) -> Result<LockedEnvironment, Failure> {
    let pipeline = pipeline(command, &place.pipeline).await?;
    lock(command, &pipeline, place).await
}

#[boxed_futures]
pub async fn lock(
    command: &mut Command,
    pipeline: &Pipeline,
    place: &Place,
) -> Result<LockedEnvironment, Failure> {
    command.lock_environment(pipeline.id, &place.environment).await?.ok_or_else(Failure::not_found)
}

/// Locks the environment for an action of its holder. Fails with the reason if the session is not active. Whether an
/// unsettled session is active is decided by the command, which extends turns after an absence.
#[boxed_futures]
pub async fn lock_held(
    command: &mut Command,
    place: &Place,
    id: SessionId,
) -> Result<LockedEnvironment, Failure> {
    let locked = lock_place(command, place).await?;
    let session = own_session(command, &locked, id).await?;
    if session.status != SessionStatus::Active && !session.unsettled {
        return Err(not_active(command, &locked, id).await?);
    }
    Ok(locked)
}

/// Finds a pipeline, archived or not: environments of an archived one can still be released.
#[boxed_futures]
pub async fn pipeline(command: &mut Command, name: &PipelineName) -> Result<Pipeline, Failure> {
    command.pipeline(name).await?.ok_or_else(Failure::not_found)
}

#[boxed_futures]
pub async fn live_pipeline(command: &mut Command, name: &PipelineName) -> Result<Pipeline, Failure> {
    let pipeline = pipeline(command, name).await?;
    if pipeline.status == PipelineStatus::Archived {
        let detail = "An archived pipeline's environments can't be claimed or deployed to any more.";
        return Err(Failure::new(Code::PipelineArchived, detail));
    }
    Ok(pipeline)
}

/// Reads a session, which must be the principal's own.
#[boxed_futures]
pub async fn own_session(
    command: &mut Command,
    locked: &LockedEnvironment,
    id: SessionId,
) -> Result<Session, Failure> {
    let session = command.session(locked.id, id).await?.ok_or_else(Failure::not_found)?;
    if command.principal().owns(session.owner()) { Ok(session) } else { Err(refusal::not_own()) }
}

#[boxed_futures]
pub async fn apply(
    command: &mut Command,
    locked: &mut LockedEnvironment,
    lock_command: LockCommand<'_>,
) -> Result<(), Failure> {
    match command.apply(locked, lock_command, &NewSession::default()).await? {
        Ok(_) => Ok(()),
        Err(refusal) => {
            let pipeline = PipelineName::Id(locked.pipeline_id);
            Err(refused(command, locked, refusal, &pipeline, &ClaimRequest::default()).await?)
        }
    }
}

/// Returns why a claim was refused, with what the caller can do instead.
#[boxed_futures]
pub async fn refused(
    command: &mut Command,
    locked: &LockedEnvironment,
    refusal: Refusal,
    pipeline: &PipelineName,
    claim: &ClaimRequest,
) -> Result<Failure, Failure> {
    let environment = command.environment(locked.id).await?.ok_or_else(Failure::not_found)?;
    let role = command.own_role_on(locked.pipeline_id).await?;
    let request = RefusedRequest { principal: command.principal(), role, pipeline, claim };
    Ok(refusal::refused(request, &environment, refusal))
}

/// Returns why a session is not active.
#[boxed_futures]
pub async fn not_active(
    command: &mut Command,
    locked: &LockedEnvironment,
    id: SessionId,
) -> Result<Failure, Failure> {
    let session = command.session(locked.id, id).await?.ok_or_else(Failure::not_found)?;
    let environment = command.environment(locked.id).await?.ok_or_else(Failure::not_found)?;
    Ok(refusal::not_active(&session, &environment))
}
