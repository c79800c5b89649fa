//! Who may cancel and retry a deployment. This is decided with the deployment's row locked, by the current
//! state of its session.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::deployment::{Purpose, RequiredRight, required_right};
use greenroom_domain::id::{DeploymentId, PipelineId};
use greenroom_domain::policy::{Action, Denied};
use greenroom_domain::principal::Principal;
use greenroom_store::Command;
use greenroom_store::deployment::{DeploymentOwnership, SessionOwner};
use serde_json::{Value, json};

use crate::failure::{Code, Failure};
use crate::pipeline_role;

/// Locks the deployment, and returns its pipeline. Fails if the principal may not cancel or retry it.
#[boxed_futures]
pub async fn require(command: &mut Command, id: DeploymentId) -> Result<PipelineId, Failure> {
    let locked = command.lock_ownership(id).await?.ok_or_else(Failure::not_found)?;
    let principal = command.principal();
    let is_holder = locked.session.as_ref().is_some_and(|session| principal.owns(session.owner()));
    let right = required_right(locked.purpose, is_holder);
    let denied = pipeline_role::denied(command, locked.pipeline_id, right.action).await?;
    check(command.principal(), &locked, right, denied)?;
    Ok(locked.pipeline_id)
}

fn check(
    principal: &Principal,
    locked: &DeploymentOwnership,
    right: RequiredRight,
    denied: Option<Denied>,
) -> Result<(), Failure> {
    if let Some(denied) = denied {
        let refused = Failure::from(denied);
        // A failure because of a missing scope is returned unchanged. If the role does not permit the action,
        // the failure names the users who can do it.
        let explains = matches!(denied, Denied::Role { .. }) && right.action == Action::DeploymentRunAny;
        return Err(match locked.purpose {
            Purpose::Session if explains => explained(
                refused,
                locked,
                "This deployment belongs to a session of another user. Ask its holder, or a maintainer, to \
                 cancel or retry it.",
            ),
            Purpose::Teardown if explains => explained(
                refused,
                locked,
                "This deployment cleans up after a session. Only maintainers cancel it: ask one.",
            ),
            _ => refused,
        });
    }
    if right.force && !principal.token_allow_force {
        let detail = "This deployment belongs to a session of another user, and this token may not use force. Ask \
                      its holder, or use a token made with `allowForce: true`.";
        return Err(explained(Failure::new(Code::Forbidden, detail), locked, detail));
    }
    Ok(())
}

/// Replaces the failure's detail with an instruction. The holder's name was entered by another user, so it is
/// in a separate field and not part of the text.
fn explained(refused: Failure, locked: &DeploymentOwnership, detail: &'static str) -> Failure {
    let refused = Failure { detail: detail.into(), ..refused };
    match &locked.session {
        Some(session) => {
            refused.with("sessionId", session.id.to_string().into()).with("holder", holder(session))
        }
        None => refused,
    }
}

fn holder(session: &SessionOwner) -> Value {
    let mut holder = json!({ "id": session.user_id, "name": session.user_name, "kind": session.user_kind });
    if let Some(token) = &session.token {
        holder["token"] = json!(token.name);
    }
    holder
}
