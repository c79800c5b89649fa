//! `/organizations/{orgId}/groups`

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use greenroom_api_types::envelope::{Data, List};
use greenroom_api_types::group::{
    CreateGroup, DeletedGroup, Group, GroupMember, RemovedGroupMember, UpdateGroup,
};
use greenroom_app::failure::Failure;
use greenroom_app::group;
use greenroom_domain::id::GroupId;
use greenroom_domain::policy::action::{GroupManage, GroupRead};
use greenroom_store::group::{GroupMemberRecord, GroupRecord};

use crate::http::rules::body::Body;
use crate::http::rules::command::HandlerResult;
use crate::http::rules::dry_run::{DryRun, ended_sessions};
use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::idempotency::IdempotencyKey;
use crate::http::rules::page::{PageQuery, list_with};
use crate::http::rules::path::{GroupMemberPath, GroupPath, OrganizationPath, PathParams, parse_id};
use crate::http::rules::permit::Permit;
use crate::http::rules::precondition::Precondition;
use crate::http::rules::problem_responses::{BodyProblems, CommandProblems, ConditionProblems, ReadProblems};
use crate::http::rules::query::Query;
use crate::http::rules::record_response::RecordResponse;

/// List groups, sorted by name
///
/// Deleted groups are not in the list, and stay readable by their ids. The members of a group have a list of their own.
/// `total` is exact up to 10,000.
#[utoipa::path(get, path = "/organizations/{orgId}/groups", tag = "identity",
    params(OrganizationPath, PageQuery),
    responses((status = 200, body = List<Group>), ReadProblems))]
pub async fn list_groups(
    permit: Permit<GroupRead>,
    query: Query<PageQuery>,
) -> Result<Json<List<Group>>, EarlyResponse> {
    let page = query.0.page()?;
    let found = permit.app.store.groups(permit.organization(), page).await?;
    Ok(Json(list_with(page, found, view)))
}

/// Create a group
///
/// Definitions refer to it by its name, which is unique in the organization. An organization has 500 groups at most.
/// The same key with the same body returns the same record for 24 hours.
#[utoipa::path(post, path = "/organizations/{orgId}/groups", tag = "identity",
    params(OrganizationPath, IdempotencyKey),
    request_body = CreateGroup,
    responses((status = 201, body = Data<Group>), CommandProblems, BodyProblems))]
pub async fn create_group(
    permit: Permit<GroupManage>,
    key: IdempotencyKey,
    body: Body<CreateGroup>,
) -> HandlerResult {
    let mut command = permit.open(key, &body.bytes).await?;
    let created = group::create(&mut command, &body.value).await?;
    Ok(command.finish(respond(StatusCode::CREATED, created)?).await?)
}

/// View a group
///
/// The `ETag` is the revision, which increases with every change of name or description, but not with changes of
/// members. A deleted group stays readable, with `deletedAt`.
#[utoipa::path(get, path = "/organizations/{orgId}/groups/{groupId}", tag = "identity",
    params(OrganizationPath, GroupPath),
    responses((status = 200, body = Data<Group>), ReadProblems))]
pub async fn get_group(
    permit: Permit<GroupRead>,
    path: PathParams<GroupPath>,
) -> Result<Response, EarlyResponse> {
    let found = permit.app.store.group(permit.organization(), parse_id(&path.0.group_id)?).await?;
    Ok(respond(StatusCode::OK, found.ok_or_else(Failure::not_found)?)?.into_response())
}

/// Change a group's name or description
///
/// Grants stay with a group that gets another name. Definitions that name it are not changed: for them the former
/// name has no members any more, and the new name has these. Fields that are left out stay unchanged, and a request
/// that changes nothing records no event.
#[utoipa::path(patch, path = "/organizations/{orgId}/groups/{groupId}", tag = "identity",
    params(OrganizationPath, GroupPath, IdempotencyKey, Precondition),
    request_body = UpdateGroup,
    responses((status = 200, body = Data<Group>), CommandProblems, BodyProblems, ConditionProblems))]
pub async fn update_group(
    permit: Permit<GroupManage>,
    path: PathParams<GroupPath>,
    key: IdempotencyKey,
    condition: Precondition,
    body: Body<UpdateGroup>,
) -> HandlerResult {
    let id = parse_id(&path.0.group_id)?;
    let mut command = permit.open(key, &body.bytes).await?;
    let updated = group::update(&mut command, id, &condition, &body.value).await?;
    Ok(command.finish(respond(StatusCode::OK, updated)?).await?)
}

/// Delete a group with its members and grants
///
/// Sessions and holds that only a grant of the group permitted end in the same transaction; beyond 500 sessions, the
/// others end within seconds. With `dryRun=true`, the response lists the sessions that would end, and nothing
/// changes. For definitions that name the group it has no members any more. Deleting again changes nothing.
#[utoipa::path(delete, path = "/organizations/{orgId}/groups/{groupId}", tag = "identity",
    params(OrganizationPath, GroupPath, DryRun, IdempotencyKey, Precondition),
    responses((status = 200, body = Data<DeletedGroup>), CommandProblems, ConditionProblems))]
pub async fn delete_group(
    permit: Permit<GroupManage>,
    path: PathParams<GroupPath>,
    query: Query<DryRun>,
    key: IdempotencyKey,
    condition: Precondition,
) -> HandlerResult {
    let id = parse_id(&path.0.group_id)?;
    let mut command = permit.open(key, &[]).await?;
    let (deleted, ended) = group::delete(&mut command, id, &condition, query.0.is_dry_run()).await?;
    let revision = deleted.revision;
    let response = DeletedGroup { group: view(deleted), ended: ended_sessions(ended) };
    query.0.finish(command, RecordResponse::ok(&response)?.with_revision(revision)).await
}

/// List the members of a group
///
/// The list is sorted by user id. That of a deleted group is empty. `total` is exact up to 10,000.
#[utoipa::path(get, path = "/organizations/{orgId}/groups/{groupId}/members", tag = "identity",
    params(OrganizationPath, GroupPath, PageQuery),
    responses((status = 200, body = List<GroupMember>), ReadProblems))]
pub async fn list_group_members(
    permit: Permit<GroupRead>,
    path: PathParams<GroupPath>,
    query: Query<PageQuery>,
) -> Result<Json<List<GroupMember>>, EarlyResponse> {
    let (page, id): (_, GroupId) = (query.0.page()?, parse_id(&path.0.group_id)?);
    let (store, organization) = (&permit.app.store, permit.organization());
    store.group(organization, id).await?.ok_or_else(Failure::not_found)?;
    let found = store.group_members(organization, id, page).await?;
    Ok(Json(list_with(page, found, member_view)))
}

/// Add a member to a group
///
/// Grants of the group count from the next request on. Only members of the organization can be added, and a group has 1,000
/// members at most. A user who is a member already stays one, and nothing changes.
#[utoipa::path(put, path = "/organizations/{orgId}/groups/{groupId}/members/{userId}", tag = "identity",
    params(OrganizationPath, GroupMemberPath, IdempotencyKey),
    responses((status = 200, body = Data<GroupMember>), CommandProblems))]
pub async fn add_group_member(
    permit: Permit<GroupManage>,
    path: PathParams<GroupMemberPath>,
    key: IdempotencyKey,
) -> HandlerResult {
    let (id, user) = path.0.parse()?;
    let mut command = permit.open(key, &[]).await?;
    let added = group::add_member(&mut command, id, user).await?;
    Ok(command.finish(RecordResponse::ok(&member_view(added))?).await?)
}

/// Remove a member from a group
///
/// Sessions and holds of the user that only a grant of the group permitted end in the same transaction; beyond 500
/// sessions, the others end within seconds. With `dryRun=true`, the response lists the sessions that would end, and
/// nothing changes. For a member of the organization who is not in the group, nothing changes.
#[utoipa::path(delete, path = "/organizations/{orgId}/groups/{groupId}/members/{userId}", tag = "identity",
    params(OrganizationPath, GroupMemberPath, DryRun, IdempotencyKey),
    responses((status = 200, body = Data<RemovedGroupMember>), CommandProblems))]
pub async fn remove_group_member(
    permit: Permit<GroupManage>,
    path: PathParams<GroupMemberPath>,
    query: Query<DryRun>,
    key: IdempotencyKey,
) -> HandlerResult {
    let (id, user) = path.0.parse()?;
    let mut command = permit.open(key, &[]).await?;
    let ended = group::remove_member(&mut command, id, user, query.0.is_dry_run()).await?;
    let removed = RemovedGroupMember {
        group_id: id.to_string(),
        user_id: user.to_string(),
        ended: ended_sessions(ended),
    };
    query.0.finish(command, RecordResponse::ok(&removed)?).await
}

fn respond(status: StatusCode, group: GroupRecord) -> Result<RecordResponse, Failure> {
    let revision = group.revision;
    Ok(RecordResponse::new(status, &view(group))?.with_revision(revision))
}

fn view(group: GroupRecord) -> Group {
    Group {
        id: group.id.to_string(),
        name: group.name,
        description: group.description,
        created_at: group.created_at,
        created_by: group.created_by.to_string(),
        updated_at: group.updated_at,
        deleted_at: group.deleted_at,
    }
}

fn member_view(member: GroupMemberRecord) -> GroupMember {
    GroupMember {
        user_id: member.user_id.to_string(),
        name: member.name,
        added_at: member.added_at,
        added_by: member.added_by.to_string(),
    }
}
