//! `/organizations/{orgId}/members`

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use greenroom_api_types::envelope::{Data, List};
use greenroom_api_types::member::{AddMember, ChangedMember, Member, UpdateMember};
use greenroom_app::failure::Failure;
use greenroom_app::member::{self, Changed};
use greenroom_domain::id::UserId;
use greenroom_domain::member::Member as Record;
use greenroom_domain::policy::action::{MemberManage, MemberRead};

use crate::http::rules::body::Body;
use crate::http::rules::command::HandlerResult;
use crate::http::rules::dry_run::{DryRun, ended_sessions};
use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::idempotency::IdempotencyKey;
use crate::http::rules::page::{PageQuery, list};
use crate::http::rules::path::{MemberPath, OrganizationPath, PathParams, parse_id};
use crate::http::rules::permit::Permit;
use crate::http::rules::precondition::Precondition;
use crate::http::rules::problem_responses::{BodyProblems, CommandProblems, ConditionProblems, ReadProblems};
use crate::http::rules::query::Query;
use crate::http::rules::record_response::RecordResponse;

/// List the members
///
/// The list is sorted by user id, so that users who were created earlier in this installation come first.
/// Removed members are left out. `total` is exact up to 10,000.
#[utoipa::path(get, path = "/organizations/{orgId}/members", tag = "identity",
    params(OrganizationPath, PageQuery),
    responses((status = 200, body = List<Member>), ReadProblems))]
pub async fn list_members(
    permit: Permit<MemberRead>,
    query: Query<PageQuery>,
) -> Result<Json<List<Member>>, EarlyResponse> {
    let page = query.0.page()?;
    Ok(Json(list(page, permit.app.store.members(permit.organization(), page).await?)))
}

/// View a member
///
/// A removed member is `404`. The `ETag` is the revision, which increases with every change.
#[utoipa::path(get, path = "/organizations/{orgId}/members/{userId}", tag = "identity",
    params(OrganizationPath, MemberPath),
    responses((status = 200, body = Data<Member>), ReadProblems))]
pub async fn get_member(
    permit: Permit<MemberRead>,
    path: PathParams<MemberPath>,
) -> Result<Response, EarlyResponse> {
    let user: UserId = parse_id(&path.0.user_id)?;
    let found = permit.app.store.member(permit.organization(), user).await?.ok_or_else(Failure::not_found)?;
    Ok(respond(StatusCode::OK, found)?.into_response())
}

/// Add a member
///
/// A person is identified by the e-mail address, regardless of case. Adding a member who was removed restores
/// the membership, but their tokens stay revoked. An address that is a member already is rejected with `409`.
#[utoipa::path(post, path = "/organizations/{orgId}/members", tag = "identity",
    params(OrganizationPath, IdempotencyKey),
    request_body = AddMember,
    responses((status = 201, body = Data<Member>), CommandProblems, BodyProblems))]
pub async fn add_member(
    permit: Permit<MemberManage>,
    key: IdempotencyKey,
    body: Body<AddMember>,
) -> HandlerResult {
    let mut command = permit.open(key, &body.bytes).await?;
    let added = member::add(&mut command, &body.value).await?;
    Ok(command.finish(respond(StatusCode::CREATED, added)?).await?)
}

/// Change a member's role or name. If the new role is below developer, the member's sessions end
///
/// Fields that are left out stay as they are. A new role takes effect within one second on every server, and
/// closes the member's open streams. Sessions that the new role does not permit end in the same transaction;
/// beyond 500, the others end within seconds. With `dryRun=true`, the response lists the sessions that would
/// end, and nothing changes. The last owner must keep the role.
#[utoipa::path(patch, path = "/organizations/{orgId}/members/{userId}", tag = "identity",
    params(OrganizationPath, MemberPath, DryRun, IdempotencyKey, Precondition),
    request_body = UpdateMember,
    responses((status = 200, body = Data<ChangedMember>), CommandProblems, BodyProblems, ConditionProblems))]
pub async fn update_member(
    permit: Permit<MemberManage>,
    path: PathParams<MemberPath>,
    query: Query<DryRun>,
    key: IdempotencyKey,
    condition: Precondition,
    body: Body<UpdateMember>,
) -> HandlerResult {
    let user = parse_id(&path.0.user_id)?;
    let mut command = permit.open(key, &body.bytes).await?;
    let dry_run = query.0.is_dry_run();
    let updated = member::update(&mut command, user, &condition, &body.value, dry_run).await?;
    query.0.finish(command, respond_changed(updated)?).await
}

/// Remove a member, revoke their tokens and end their sessions
///
/// All of this is one transaction; beyond 500 sessions, the others end within seconds. The member's tokens
/// are rejected within one second on every server. The response is the member as before the removal. With
/// `dryRun=true`, it lists the sessions that would end, and nothing changes. The last owner can't be removed,
/// and a member who was removed is `404`.
#[utoipa::path(delete, path = "/organizations/{orgId}/members/{userId}", tag = "identity",
    params(OrganizationPath, MemberPath, DryRun, IdempotencyKey, Precondition),
    responses((status = 200, body = Data<ChangedMember>), CommandProblems, ConditionProblems))]
pub async fn remove_member(
    permit: Permit<MemberManage>,
    path: PathParams<MemberPath>,
    query: Query<DryRun>,
    key: IdempotencyKey,
    condition: Precondition,
) -> HandlerResult {
    let user = parse_id(&path.0.user_id)?;
    let mut command = permit.open(key, &[]).await?;
    let removed = member::remove(&mut command, user, &condition, query.0.is_dry_run()).await?;
    query.0.finish(command, respond_changed(removed)?).await
}

fn respond_changed(Changed { member, ended }: Changed) -> Result<RecordResponse, Failure> {
    let revision = member.revision;
    let changed = ChangedMember { member: member.into(), ended: ended_sessions(ended) };
    Ok(RecordResponse::ok(&changed)?.with_revision(revision))
}

fn respond(status: StatusCode, member: Record) -> Result<RecordResponse, Failure> {
    let revision = member.revision;
    Ok(RecordResponse::new(status, &Member::from(member))?.with_revision(revision))
}
