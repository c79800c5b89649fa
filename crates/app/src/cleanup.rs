//! Failed clean-ups: repeating the teardown, or giving it up.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::cleanup::NotRepeated;
use greenroom_domain::environment::LockCommand;
use greenroom_domain::text::{CommitId, Reason};
use greenroom_store::Command;
use greenroom_store::deployment::DeploymentRecord;
use greenroom_store::environment::Environment;
use greenroom_store::lock::LockedEnvironment;

use crate::commit;
use crate::failure::{Code, Failure};
use crate::session::Place;
use crate::session::locked::{apply, lock_place};
use crate::trace;

/// Repeats a failed teardown, unless it would destroy what a session has deployed.
#[boxed_futures]
pub async fn repeat(
    command: &mut Command,
    place: &Place,
    commit: Option<&str>,
) -> Result<DeploymentRecord, Failure> {
    let commit = commit.map(commit::parse).transpose()?;
    let locked = lock(command, place).await?;
    let repeated = command.repeat_cleanup(&locked, commit.as_ref().map(CommitId::as_str)).await?;
    match repeated {
        Ok(id) => {
            trace::record(command, id).await?;
            command.deployment_record(id).await?.ok_or_else(Failure::not_found)
        }
        Err(NotRepeated::NotFailed) => Err(not_failed()),
        Err(NotRepeated::SlotTaken(deployment)) => Err(Failure::new(
            Code::InvalidState,
            "A deployment acts on the environment right now. Wait for its end, and try again.",
        )
        .with("deploymentId", deployment.to_string().into())),
        Err(NotRepeated::InUse(session)) => Err(Failure::new(
            Code::InvalidState,
            "A session holds the environment and has something deployed there, which the teardown would remove. It is \
             cleaned up when that session ends.",
        )
        .with("sessionId", session.to_string().into())),
    }
}

/// Marks the environment as clean, whatever is left there.
#[boxed_futures]
pub async fn give_up(command: &mut Command, place: &Place, reason: &str) -> Result<Environment, Failure> {
    let reason = Reason::new(reason).map_err(|error| Failure::field("/reason", error))?;
    let locked = lock(command, place).await?;
    if !command.give_up_cleanup(&locked, reason.as_str()).await? {
        return Err(not_failed());
    }
    command.environment(locked.id).await?.ok_or_else(Failure::not_found)
}

/// Locks the environment and settles expired leases.
async fn lock(command: &mut Command, place: &Place) -> Result<LockedEnvironment, Failure> {
    let mut locked = lock_place(command, place).await?;
    apply(command, &mut locked, LockCommand::Sweep).await?;
    Ok(locked)
}

fn not_failed() -> Failure {
    Failure::new(
        Code::InvalidState,
        "No clean-up of this environment has failed, or one has succeeded since: there is nothing to do.",
    )
}
