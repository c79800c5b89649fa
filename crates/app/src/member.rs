//! Members: adding, changing and removing them.

use greenroom_api_types::member::{AddMember, UpdateMember};
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::event::{EventType, NewEvent};
use greenroom_domain::id::UserId;
use greenroom_domain::member::{Member, action_for_change, leaves_no_owner, loses_sessions};
use greenroom_domain::policy::{Action, is_allowed};
use greenroom_domain::role::Role;
use greenroom_domain::text::{Email, Name};
use greenroom_store::Command;
use greenroom_store::session_ending::{LiveSession, SessionsOf};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::failure::{Code, Failure};
use crate::precondition::IfMatch;

#[boxed_futures]
pub async fn add(command: &mut Command, request: &AddMember) -> Result<Member, Failure> {
    let email = Email::new(&request.email).map_err(|error| Failure::field("/email", error))?;
    let name = Name::new(&request.name).map_err(|error| Failure::field("/name", error))?;
    let role = request.role.into();
    allow_change(command, None, Some(role))?;
    let member = command.add_member(UserId::from(Uuid::now_v7()), &email, &name, role).await?;
    let member = member.ok_or_else(|| {
        Failure::new(
            Code::AlreadyMember,
            "This address is a member already. Change the role with PATCH instead.",
        )
    })?;
    record_event(command, EventType::MemberAdded, &member, None, Some(event_payload(&member))).await?;
    Ok(member)
}

/// The result of changing a member, or of a dry run.
pub struct Changed {
    pub member: Member,
    /// The sessions that end because the member loses the right to hold them.
    pub ended: Vec<LiveSession>,
}

/// Changes the name or the role. With a role below `developer`, the member's sessions end; below `maintainer`, the
/// holds of lasting environments. Where a grant permits them, they stay.
#[boxed_futures]
pub async fn update(
    command: &mut Command,
    user: UserId,
    condition: &IfMatch,
    request: &UpdateMember,
    dry_run: bool,
) -> Result<Changed, Failure> {
    let name = request.name.as_deref().map(Name::new).transpose();
    let name = name.map_err(|error| Failure::field("/name", error))?;
    let owners = command.lock_owners().await?;
    let before = command.member_for_update(user).await?.ok_or_else(Failure::not_found)?;
    condition.check(before.revision)?;
    let role = request.role.map_or(before.role, Role::from);
    let name = name.as_ref().map_or(before.name.as_str(), Name::as_str);
    allow_change(command, Some(before.role), Some(role))?;
    if leaves_no_owner(before.role, Some(role), owners) {
        return Err(last_owner());
    }
    let ends = loses_sessions(before.role, Some(role));
    if dry_run {
        return Ok(Changed { ended: would_end(command, user, ends).await?, member: before });
    }
    if role == before.role && name == before.name {
        return Ok(Changed { member: before, ended: Vec::new() });
    }
    let after = command.change_member(user, name, role).await?;
    let event_type =
        if role == before.role { EventType::MemberUpdated } else { EventType::MemberRoleChanged };
    record_event(command, event_type, &after, Some(event_payload(&before)), Some(event_payload(&after)))
        .await?;
    if !is_allowed(role, Action::EnvironmentHold) {
        command.end_holds_of(user).await?;
    }
    let reason = format!("{} may not hold sessions any more: the role is {role} now", after.name);
    Ok(Changed { ended: end(command, user, ends, &reason).await?, member: after })
}

/// Removes a member, from groups too. Their tokens are revoked, their grants deleted, and their sessions and holds
/// of lasting environments end, in the same transaction.
#[boxed_futures]
pub async fn remove(
    command: &mut Command,
    user: UserId,
    condition: &IfMatch,
    dry_run: bool,
) -> Result<Changed, Failure> {
    let owners = command.lock_owners().await?;
    let member = command.member_for_update(user).await?.ok_or_else(Failure::not_found)?;
    condition.check(member.revision)?;
    allow_change(command, Some(member.role), None)?;
    if leaves_no_owner(member.role, None, owners) {
        return Err(last_owner());
    }
    command.remove_member(user).await?;
    // A dry run is rolled back. The member's grants are deleted by now, so it lists the sessions that they permitted too.
    if dry_run {
        return Ok(Changed { ended: would_end(command, user, true).await?, member });
    }
    record_event(command, EventType::MemberRemoved, &member, Some(event_payload(&member)), None).await?;
    command.end_holds_of(user).await?;
    let reason = format!("{} is not a member any more", member.name);
    Ok(Changed { ended: end(command, user, true, &reason).await?, member })
}

async fn would_end(command: &mut Command, user: UserId, ends: bool) -> Result<Vec<LiveSession>, Failure> {
    if ends { Ok(command.live_sessions(&SessionsOf::Member(user)).await?) } else { Ok(Vec::new()) }
}

async fn end(
    command: &mut Command,
    user: UserId,
    ends: bool,
    reason: &str,
) -> Result<Vec<LiveSession>, Failure> {
    if ends { Ok(command.end_sessions(&SessionsOf::Member(user), reason).await?) } else { Ok(Vec::new()) }
}

fn allow_change(command: &Command, from: Option<Role>, to: Option<Role>) -> Result<(), Failure> {
    Ok(command.principal().require(action_for_change(from, to))?)
}

fn last_owner() -> Failure {
    Failure::new(Code::LastOwner, "An organization must keep an owner. Make another member an owner first.")
}

fn event_payload(member: &Member) -> Value {
    json!({ "userId": member.user_id, "name": member.name, "role": member.role })
}

async fn record_event(
    command: &mut Command,
    event_type: EventType,
    member: &Member,
    before: Option<Value>,
    after: Option<Value>,
) -> Result<(), Failure> {
    let subject = format!("members/{}", member.user_id);
    Ok(command.record_event(NewEvent { event_type, subject, before, after, reason: None }).await?)
}
