//! Who may cancel and retry a deployment: decided with its row locked, by the session as it is then.

use greenroom_domain::deployment::{Purpose, required_right};
use greenroom_domain::id::DeploymentId;
use greenroom_domain::policy::{Action, Denied};
use greenroom_domain::principal::Principal;
use greenroom_store::Command;
use greenroom_store::deployment::LockedDeployment;
use greenroom_store::planted::{self, Bug};
use serde_json::json;

use crate::app::failure::{Code, Failure};

/// Locks the deployment, and refuses who may not cancel or retry it.
pub async fn require(command: &mut Command, id: DeploymentId) -> Result<(), Failure> {
    let principal = command.principal().clone();
    let locked = command.lock_deployment(id).await?.ok_or_else(Failure::not_found)?;
    check(&principal, &locked)
}

fn check(principal: &Principal, locked: &LockedDeployment) -> Result<(), Failure> {
    let is_holder = locked.session.as_ref().is_some_and(|session| session.user_id == principal.user_id);
    let is_holder = is_holder || planted::is(Bug::CancelByAnybody);
    let right = required_right(locked.purpose, is_holder);
    if let Err(denied) = principal.require(right.action) {
        let refused = Failure::from(denied);
        // A token without the scope is told so; only who lacks the right altogether is told whom to ask.
        let explains = matches!(denied, Denied::Role { .. }) && right.action == Action::DeploymentRunAny;
        return Err(match locked.purpose {
            Purpose::Session if explains => explained(
                refused,
                locked,
                "This deployment belongs to a session that somebody else holds. Ask its holder, or a maintainer, to \
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
        let detail = "This deployment belongs to a session that somebody else holds, and this token may not force. Ask \
                      its holder, or use a token made with `allowForce: true`.";
        return Err(explained(Failure::new(Code::Forbidden, detail), locked, detail));
    }
    Ok(())
}

/// Says what to do instead. The holder's name is somebody else's text: it stands in a field of its own.
fn explained(refused: Failure, locked: &LockedDeployment, detail: &'static str) -> Failure {
    let refused = Failure { detail: detail.into(), ..refused };
    match &locked.session {
        Some(session) => refused.with("sessionId", session.id.to_string().into()).with(
            "holder",
            json!({ "id": session.user_id, "name": session.user_name, "kind": session.user_kind }),
        ),
        None => refused,
    }
}
