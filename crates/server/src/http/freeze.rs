//! `/organizations/{orgId}/freezes`

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use greenroom_api_types::envelope::{Data, List};
use greenroom_api_types::freeze::{CreateFreeze, Freeze, UpdateFreeze};
use greenroom_app::failure::Failure;
use greenroom_app::freeze::{self, FreezeAt};
use greenroom_domain::policy::action::{FreezeManage, FreezeRead};

use crate::http::rules::body::Body;
use crate::http::rules::command::HandlerResult;
use crate::http::rules::dry_run::DryRun;
use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::idempotency::IdempotencyKey;
use crate::http::rules::page::{PageQuery, list_with};
use crate::http::rules::path::{FreezePath, OrganizationPath, PathParams, parse_id};
use crate::http::rules::permit::Permit;
use crate::http::rules::precondition::Precondition;
use crate::http::rules::problem_responses::{BodyProblems, CommandProblems, ConditionProblems, ReadProblems};
use crate::http::rules::query::Query;
use crate::http::rules::record_response::RecordResponse;

/// List freezes, sorted by name
///
/// Freezes that were deleted are not in the list; those whose `to` has passed are. `total` is exact up to 10,000.
#[utoipa::path(get, path = "/organizations/{orgId}/freezes", tag = "freezes",
    params(OrganizationPath, PageQuery),
    responses((status = 200, body = List<Freeze>), ReadProblems))]
pub async fn list_freezes(
    permit: Permit<FreezeRead>,
    query: Query<PageQuery>,
) -> Result<Json<List<Freeze>>, EarlyResponse> {
    let page = query.0.page()?;
    let (found, now) = permit.app.store.freezes(permit.organization(), page).await?;
    Ok(Json(list_with(page, found, |record| freeze::freeze_view(record, now))))
}

/// Create a freeze
///
/// It has either `from` and `to`, or `weekly` and `zone`. Once the response is sent, no stage begins in an
/// environment that it covers while it holds: stages wait, and begin by themselves when it ends. What runs goes on,
/// and teardowns are exempt. The same key with the same body returns the same record for 24 hours.
#[utoipa::path(post, path = "/organizations/{orgId}/freezes", tag = "freezes",
    params(OrganizationPath, IdempotencyKey),
    request_body = CreateFreeze,
    responses((status = 201, body = Data<Freeze>), CommandProblems, BodyProblems))]
pub async fn create_freeze(
    permit: Permit<FreezeManage>,
    key: IdempotencyKey,
    body: Body<CreateFreeze>,
) -> HandlerResult {
    let mut command = permit.open(key, &body.bytes).await?;
    let created = freeze::create(&mut command, body.value).await?;
    Ok(command.finish(respond(StatusCode::CREATED, created)?).await?)
}

/// View a freeze
///
/// `active`, `until` and the next period are those at the time of the request. The `ETag` is the revision, followed
/// by a part for them, which `If-Match` ignores. A deleted freeze stays readable, with `endedAt`.
#[utoipa::path(get, path = "/organizations/{orgId}/freezes/{freezeId}", tag = "freezes",
    params(OrganizationPath, FreezePath),
    responses((status = 200, body = Data<Freeze>), ReadProblems))]
pub async fn get_freeze(
    permit: Permit<FreezeRead>,
    path: PathParams<FreezePath>,
) -> Result<Response, EarlyResponse> {
    let id = parse_id(&path.0.freeze_id)?;
    let found = permit.app.store.freeze(permit.organization(), id).await?;
    Ok(respond(StatusCode::OK, found.ok_or_else(Failure::not_found)?)?.into_response())
}

/// Change a freeze
///
/// Deployments that wait for it are checked again immediately. Fields that are left out stay unchanged, and a
/// request that changes nothing records no event. To make a weekly freeze one with `from` and `to`, set `weekly` to
/// an empty list and `zone` to null. A freeze that was deleted can't be changed.
#[utoipa::path(patch, path = "/organizations/{orgId}/freezes/{freezeId}", tag = "freezes",
    params(OrganizationPath, FreezePath, IdempotencyKey, Precondition),
    request_body = UpdateFreeze,
    responses((status = 200, body = Data<Freeze>), CommandProblems, BodyProblems, ConditionProblems))]
pub async fn update_freeze(
    permit: Permit<FreezeManage>,
    path: PathParams<FreezePath>,
    key: IdempotencyKey,
    condition: Precondition,
    body: Body<UpdateFreeze>,
) -> HandlerResult {
    let id = parse_id(&path.0.freeze_id)?;
    let mut command = permit.open(key, &body.bytes).await?;
    let updated = freeze::update(&mut command, id, &condition, body.value).await?;
    Ok(command.finish(respond(StatusCode::OK, updated)?).await?)
}

/// Delete a freeze: it ends now
///
/// Stages that wait only for this freeze begin. Its record stays readable. Deleting again changes nothing and returns
/// the record.
#[utoipa::path(delete, path = "/organizations/{orgId}/freezes/{freezeId}", tag = "freezes",
    params(OrganizationPath, FreezePath, DryRun, IdempotencyKey, Precondition),
    responses((status = 200, body = Data<Freeze>), CommandProblems, ConditionProblems))]
pub async fn delete_freeze(
    permit: Permit<FreezeManage>,
    path: PathParams<FreezePath>,
    query: Query<DryRun>,
    key: IdempotencyKey,
    condition: Precondition,
) -> HandlerResult {
    let id = parse_id(&path.0.freeze_id)?;
    let mut command = permit.open(key, &[]).await?;
    let ended = freeze::end(&mut command, id, &condition).await?;
    query.0.finish(command, respond(StatusCode::OK, ended)?).await
}

fn respond(status: StatusCode, (record, now): FreezeAt) -> Result<RecordResponse, Failure> {
    let (revision, suffix) = (record.revision, freeze::etag_suffix(&record, now));
    let response = RecordResponse::new(status, &freeze::freeze_view(record, now))?;
    Ok(response.with_revision_and_suffix(revision, &suffix))
}
