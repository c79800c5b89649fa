//! Groups: creating, changing and deleting them, and their members. A user who loses a grant with a group loses the
//! sessions and holds that only the grant permitted.

use greenroom_api_types::group::{CreateGroup, UpdateGroup};
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::event::{EventType, NewEvent};
use greenroom_domain::group::{MAX_GROUPS, MAX_MEMBERS, subject};
use greenroom_domain::id::{GroupId, UserId};
use greenroom_domain::secret::is_name;
use greenroom_domain::text::Reason as Description;
use greenroom_store::group::{GroupMemberRecord, GroupRecord};
use greenroom_store::session_ending::LiveSession;
use greenroom_store::{Command, StoreError};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::failure::{Code, Failure};
use crate::lost_grants;
use crate::precondition::IfMatch;

#[boxed_futures]
pub async fn create(command: &mut Command, request: &CreateGroup) -> Result<GroupRecord, Failure> {
    let name = checked_name(&request.name)?;
    let description = checked_description(request.description.as_deref())?;
    if command.lock_group_count().await? >= MAX_GROUPS {
        let detail =
            format!("An organization has {MAX_GROUPS} groups at most. Delete one that is not used any more.");
        return Err(Failure::new(Code::InvalidState, detail).with("limit", MAX_GROUPS.into()));
    }
    let id = GroupId::from(Uuid::now_v7());
    let created = command.create_group(id, name, description.as_deref()).await;
    let created = created.map_err(|error| name_taken(error, name))?;
    record_event(command, EventType::GroupCreated, id, (None, Some(payload(&created)))).await?;
    Ok(created)
}

#[boxed_futures]
pub async fn update(
    command: &mut Command,
    id: GroupId,
    condition: &IfMatch,
    request: &UpdateGroup,
) -> Result<GroupRecord, Failure> {
    let before = live(command, id).await?;
    condition.check(before.revision)?;
    let name = match &request.name {
        Some(name) => checked_name(name)?,
        None => &before.name,
    };
    let description = match &request.description {
        Some(given) => checked_description(given.as_deref())?,
        None => before.description.clone(),
    };
    if name == before.name && description == before.description {
        return Ok(before);
    }
    let updated = command.update_group(id, name, description.as_deref()).await;
    let updated = updated.map_err(|error| name_taken(error, name))?;
    let payloads = (Some(payload(&before)), Some(payload(&updated)));
    record_event(command, EventType::GroupUpdated, id, payloads).await?;
    Ok(updated)
}

/// Deletes a group with its members and grants. Deleting it again changes nothing.
#[boxed_futures]
pub async fn delete(
    command: &mut Command,
    id: GroupId,
    condition: &IfMatch,
    dry_run: bool,
) -> Result<(GroupRecord, Vec<LiveSession>), Failure> {
    let before = command.group_for_update(id).await?.ok_or_else(Failure::not_found)?;
    if before.deleted_at.is_some() {
        return Ok((before, Vec::new()));
    }
    condition.check(before.revision)?;
    let pipelines = command.pipelines_granted_to(id).await?;
    let deleted = command.delete_group(id).await?;
    record_event(command, EventType::GroupDeleted, id, (Some(payload(&before)), None)).await?;
    let reason = format!("the group {} was deleted, by which the session was permitted", before.name);
    let ended = lost_grants::end_sessions(command, pipelines, &reason, dry_run).await?;
    Ok((deleted, ended))
}

/// Adds a member or a service account of the organization to a group. Adding again changes nothing.
#[boxed_futures]
pub async fn add_member(
    command: &mut Command,
    id: GroupId,
    user: UserId,
) -> Result<GroupMemberRecord, Failure> {
    let group = live(command, id).await?;
    let name = command.lock_user(user).await?.ok_or_else(Failure::not_found)?;
    if let Some(found) = command.group_member(id, user).await? {
        return Ok(found);
    }
    if command.group_member_count(id).await? >= MAX_MEMBERS {
        let detail = format!("A group has {MAX_MEMBERS} members at most. Make another group.");
        return Err(Failure::new(Code::InvalidState, detail).with("limit", MAX_MEMBERS.into()));
    }
    command.add_group_member(id, user).await?;
    let member = json!({ "userId": user, "name": name, "group": group.name });
    record_event(command, EventType::GroupMemberAdded, id, (None, Some(member))).await?;
    command.group_member(id, user).await?.ok_or_else(Failure::not_found)
}

/// Removes a member from a group. Removing again changes nothing.
#[boxed_futures]
pub async fn remove_member(
    command: &mut Command,
    id: GroupId,
    user: UserId,
    dry_run: bool,
) -> Result<Vec<LiveSession>, Failure> {
    let group = live(command, id).await?;
    let name = command.lock_user(user).await?.ok_or_else(Failure::not_found)?;
    if command.group_member(id, user).await?.is_none() {
        return Ok(Vec::new());
    }
    let pipelines = command.pipelines_granted_to(id).await?;
    command.remove_group_member(id, user).await?;
    let payload = json!({ "userId": user, "name": name, "group": group.name });
    record_event(command, EventType::GroupMemberRemoved, id, (Some(payload), None)).await?;
    let reason =
        format!("{name} is not a member of the group {} any more, which permitted the session", group.name);
    lost_grants::end_sessions(command, pipelines, &reason, dry_run).await
}

/// Returns a group that is not deleted, locked.
#[boxed_futures]
pub async fn live(command: &mut Command, id: GroupId) -> Result<GroupRecord, Failure> {
    let group = command.group_for_update(id).await?.ok_or_else(Failure::not_found)?;
    if group.deleted_at.is_some() {
        return Err(Failure::new(Code::InvalidState, "The group was deleted. Create a new one."));
    }
    Ok(group)
}

fn checked_name(name: &str) -> Result<&str, Failure> {
    if is_name(name) {
        return Ok(name);
    }
    let rule = "must be 1 to 63 characters: a small letter, then small letters, digits or hyphens";
    Err(Failure::field("/name", rule))
}

fn checked_description(given: Option<&str>) -> Result<Option<String>, Failure> {
    let text = given.map(Description::new).transpose();
    let text = text.map_err(|error| Failure::field("/description", error))?;
    Ok(text.map(Description::into_string))
}

fn name_taken(error: StoreError, name: &str) -> Failure {
    if error.is_taken("groups_live_name") {
        Failure::new(Code::GroupNameTaken, format!("There is a group `{name}` already. Choose another name."))
    } else {
        error.into()
    }
}

fn payload(group: &GroupRecord) -> Value {
    json!({ "id": group.id, "name": group.name, "description": group.description })
}

async fn record_event(
    command: &mut Command,
    event_type: EventType,
    id: GroupId,
    (before, after): (Option<Value>, Option<Value>),
) -> Result<(), Failure> {
    Ok(command
        .record_event(NewEvent { event_type, subject: subject(id), before, after, reason: None })
        .await?)
}
