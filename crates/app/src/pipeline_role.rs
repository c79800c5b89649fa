//! Permissions on one pipeline, where grants count besides the role in the organization. Use cases require an
//! action of a pipeline here, and not by the principal alone. If the role in the organization is enough, this
//! costs no query.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::PipelineId;
use greenroom_domain::policy::{Action, Denied, check};
use greenroom_domain::principal::Principal;
use greenroom_domain::role::Role;
use greenroom_domain::role_grant::could_allow;
use greenroom_store::{Command, Store, StoreError};

use crate::failure::Failure;

/// Requires an action on a pipeline, within a command.
#[boxed_futures]
pub async fn require(command: &mut Command, pipeline: PipelineId, action: Action) -> Result<(), Failure> {
    match denied(command, pipeline, action).await? {
        None => Ok(()),
        Some(denied) => Err(denied.into()),
    }
}

/// Returns why the principal may not do an action on a pipeline; `None` if it may.
#[boxed_futures]
pub async fn denied(
    command: &mut Command,
    pipeline: PipelineId,
    action: Action,
) -> Result<Option<Denied>, StoreError> {
    let principal = command.principal();
    let Some(denied) = principal.require(action).err() else { return Ok(None) };
    if !can_help(principal, action) {
        return Ok(Some(denied));
    }
    let scopes = principal.scopes;
    Ok(check(command.own_role_on(pipeline).await?, scopes, action).err())
}

/// Requires an action on a pipeline, outside of a command. A command that follows requires it again.
#[boxed_futures]
pub async fn require_now(
    store: &Store,
    principal: &Principal,
    pipeline: PipelineId,
    action: Action,
) -> Result<(), Failure> {
    let Some(denied) = principal.require(action).err() else { return Ok(()) };
    if !can_help(principal, action) {
        return Err(denied.into());
    }
    Ok(check(role_now(store, principal, pipeline).await?, principal.scopes, action)?)
}

/// Returns the principal's role on a pipeline, outside of a command.
#[boxed_futures]
pub async fn role_now(
    store: &Store,
    principal: &Principal,
    pipeline: PipelineId,
) -> Result<Role, StoreError> {
    let user = (principal.user_id, principal.role);
    store.role_on_pipeline(principal.organization_id, pipeline, user).await
}

fn can_help(principal: &Principal, action: Action) -> bool {
    could_allow(|role, scopes| check(role, scopes, action), principal.role, principal.scopes)
}
