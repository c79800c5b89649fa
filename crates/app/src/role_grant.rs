//! Grants: roles of groups and users on a pipeline. What a grant permits is decided where the role on a pipeline is
//! (`pipeline_role.rs`).

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::event::{EventType, NewEvent};
use greenroom_domain::pipeline::{Pipeline, PipelineStatus};
use greenroom_domain::role::Role;
use greenroom_domain::role_grant::{Grantee, MAX_GRANTS, subject};
use greenroom_store::Command;
use greenroom_store::pipeline::PipelineName;
use greenroom_store::role_grant::GrantRecord;
use greenroom_store::session_ending::LiveSession;
use serde_json::{Value, json};

use crate::failure::{Code, Failure};
use crate::{group, lost_grants};

/// Creates a grant, or changes its role. The same role again changes nothing.
#[boxed_futures]
pub async fn set(
    command: &mut Command,
    name: &PipelineName,
    grantee: Grantee,
    role: Role,
) -> Result<GrantRecord, Failure> {
    lock_grantee(command, grantee).await?;
    let pipeline = lock_pipeline(command, name).await?;
    if pipeline.status == PipelineStatus::Archived {
        let detail = "An archived pipeline gets no grants any more.";
        return Err(Failure::new(Code::PipelineArchived, detail));
    }
    let before = command.grant_of(pipeline.id, grantee).await?;
    match before {
        Some(before) if before.role == role => return Ok(before),
        None if command.grant_count(pipeline.id).await? >= MAX_GRANTS => {
            let detail =
                format!("A pipeline has {MAX_GRANTS} grants at most. Grant the role to a group instead.");
            return Err(Failure::new(Code::InvalidState, detail).with("limit", MAX_GRANTS.into()));
        }
        _ => {}
    }
    command.set_grant(pipeline.id, grantee, role).await?;
    let after = command.grant_of(pipeline.id, grantee).await?.ok_or_else(Failure::not_found)?;
    let event_type = if before.is_some() { EventType::GrantUpdated } else { EventType::GrantCreated };
    record_event(command, event_type, before.as_ref(), Some(&after)).await?;
    // A lower role may be too low for holds of lasting environments. All roles that can be granted may hold sessions.
    if before.is_some() {
        command.end_holds_without_right(&[pipeline.id]).await?;
    }
    Ok(after)
}

/// Deletes a grant. Deleting it again changes nothing.
#[boxed_futures]
pub async fn delete(
    command: &mut Command,
    name: &PipelineName,
    grantee: Grantee,
    dry_run: bool,
) -> Result<(Pipeline, Vec<LiveSession>), Failure> {
    lock_grantee(command, grantee).await?;
    let pipeline = lock_pipeline(command, name).await?;
    let Some(before) = command.grant_of(pipeline.id, grantee).await? else {
        return Ok((pipeline, Vec::new()));
    };
    command.delete_grant(pipeline.id, grantee).await?;
    record_event(command, EventType::GrantDeleted, Some(&before), None).await?;
    let reason = format!("the grant of {} was deleted, which permitted the session", before.name);
    let ended = lost_grants::end_sessions(command, vec![pipeline.id], &reason, dry_run).await?;
    Ok((pipeline, ended))
}

/// Locks the group or the user. Its row is locked before the pipeline's, and both before those of environments.
async fn lock_grantee(command: &mut Command, grantee: Grantee) -> Result<(), Failure> {
    match grantee {
        Grantee::Group(id) => group::live(command, id).await.map(drop),
        Grantee::User(id) => command.lock_user(id).await?.ok_or_else(Failure::not_found).map(drop),
    }
}

async fn lock_pipeline(command: &mut Command, name: &PipelineName) -> Result<Pipeline, Failure> {
    command.pipeline_for_update(name).await?.ok_or_else(Failure::not_found)
}

fn payload(grant: &GrantRecord) -> Value {
    let id = match grant.grantee {
        Grantee::Group(id) => json!({ "group": { "id": id, "name": grant.name } }),
        Grantee::User(id) => json!({ "user": { "id": id, "name": grant.name } }),
    };
    let mut payload = json!({ "pipelineId": grant.pipeline_id, "role": grant.role });
    if let (Some(payload), Value::Object(id)) = (payload.as_object_mut(), id) {
        payload.extend(id);
    }
    payload
}

async fn record_event(
    command: &mut Command,
    event_type: EventType,
    before: Option<&GrantRecord>,
    after: Option<&GrantRecord>,
) -> Result<(), Failure> {
    let Some(grant) = after.or(before) else { return Ok(()) };
    command
        .record_event(NewEvent {
            event_type,
            subject: subject(grant.pipeline_id, grant.grantee),
            before: before.map(payload),
            after: after.map(payload),
            reason: None,
        })
        .await?;
    Ok(())
}
