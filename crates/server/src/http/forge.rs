//! `/organizations/{orgId}/forges`

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use greenroom_api_types::envelope::{Data, List};
use greenroom_api_types::forge::{CreateForge, Forge, UpdateForge};
use greenroom_app::failure::Failure;
use greenroom_app::forge::{self, view};
use greenroom_app::secret::sealing::OrganizationKeys;
use greenroom_domain::policy::action::ForgeManage;
use greenroom_store::forge::ForgeRecord;

use crate::http::rules::body::Body;
use crate::http::rules::command::HandlerResult;
use crate::http::rules::dry_run::DryRun;
use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::idempotency::IdempotencyKey;
use crate::http::rules::page::{PageQuery, list_with};
use crate::http::rules::path::{ForgePath, OrganizationPath, PathParams};
use crate::http::rules::permit::Permit;
use crate::http::rules::precondition::Precondition;
use crate::http::rules::problem_responses::{BodyProblems, CommandProblems, ConditionProblems, ReadProblems};
use crate::http::rules::query::Query;
use crate::http::rules::record_response::RecordResponse;

/// List forges, sorted by name
///
/// No response contains a credential, and deleted forges are not in the list. `total` is exact up to 10,000.
#[utoipa::path(get, path = "/organizations/{orgId}/forges", tag = "forges",
    params(OrganizationPath, PageQuery),
    responses((status = 200, body = List<Forge>), ReadProblems))]
pub async fn list_forges(
    permit: Permit<ForgeManage>,
    query: Query<PageQuery>,
) -> Result<Json<List<Forge>>, EarlyResponse> {
    let page = query.0.page()?;
    let found = permit.app.store.forges(permit.organization(), page).await?;
    Ok(Json(list_with(page, found, view)))
}

/// Connect a forge
///
/// Pull requests of fixes are opened there, as drafts, with a commit status. The `credential` can never be read back, is sent
/// to `address` only, and needs a master key in the server (`503 secrets_unavailable`). Nothing is sent to the forge now:
/// `lastError` states whether the first call succeeded. An organization has 50 forges at most. The same key with the same body
/// returns the same record for 24 hours.
#[utoipa::path(post, path = "/organizations/{orgId}/forges", tag = "forges",
    params(OrganizationPath, IdempotencyKey),
    request_body = CreateForge,
    responses((status = 201, body = Data<Forge>), CommandProblems, BodyProblems))]
pub async fn create_forge(
    permit: Permit<ForgeManage>,
    key: IdempotencyKey,
    body: Body<CreateForge>,
) -> HandlerResult {
    let keys = OrganizationKeys::open(&permit.app, permit.organization()).await?;
    // The stored hash of the body is keyed, so that the credential can't be guessed from it.
    let mut command = permit.open_with_fingerprint(key, keys.fingerprint(&body.bytes)).await?;
    let created = forge::create(&mut command, &keys, body.value).await?;
    Ok(command.finish(respond(StatusCode::CREATED, created)?).await?)
}

/// View a forge
///
/// The `ETag` is the revision, which counts the changes by admins, followed by a part that changes with calls of the forge,
/// which `If-Match` ignores.
#[utoipa::path(get, path = "/organizations/{orgId}/forges/{forgeName}", tag = "forges",
    params(OrganizationPath, ForgePath),
    responses((status = 200, body = Data<Forge>), ReadProblems))]
pub async fn get_forge(
    permit: Permit<ForgeManage>,
    path: PathParams<ForgePath>,
) -> Result<Response, EarlyResponse> {
    let found = permit.app.store.forge(permit.organization(), path.0.name()?).await?;
    Ok(respond(StatusCode::OK, found.ok_or_else(Failure::not_found)?)?.into_response())
}

/// Change a forge
///
/// Another `address` needs the credential again (`422` at `/credential`): it is never sent to another address than the one it was
/// set for. Fields that are left out stay unchanged, and a request that changes nothing records no event; a `credential` is
/// always a change.
#[utoipa::path(patch, path = "/organizations/{orgId}/forges/{forgeName}", tag = "forges",
    params(OrganizationPath, ForgePath, IdempotencyKey, Precondition),
    request_body = UpdateForge,
    responses((status = 200, body = Data<Forge>), CommandProblems, BodyProblems, ConditionProblems))]
pub async fn update_forge(
    permit: Permit<ForgeManage>,
    path: PathParams<ForgePath>,
    key: IdempotencyKey,
    condition: Precondition,
    body: Body<UpdateForge>,
) -> HandlerResult {
    let (keys, mut command) = if body.value.credential.is_some() {
        let keys = OrganizationKeys::open(&permit.app, permit.organization()).await?;
        let command = permit.open_with_fingerprint(key, keys.fingerprint(&body.bytes)).await?;
        (Some(keys), command)
    } else {
        (None, permit.open(key, &body.bytes).await?)
    };
    let named = (path.0.name()?, &*condition);
    let updated = forge::update(&mut command, keys.as_ref(), named, body.value).await?;
    Ok(command.finish(respond(StatusCode::OK, updated)?).await?)
}

/// Disconnect a forge
///
/// Its credential is deleted with it. The response is the forge as before. A deleted forge is `404`, and its name can be
/// used again. Pull requests that were opened stay; revoke the token at the forge too.
#[utoipa::path(delete, path = "/organizations/{orgId}/forges/{forgeName}", tag = "forges",
    params(OrganizationPath, ForgePath, DryRun, IdempotencyKey, Precondition),
    responses((status = 200, body = Data<Forge>), CommandProblems, ConditionProblems))]
pub async fn delete_forge(
    permit: Permit<ForgeManage>,
    path: PathParams<ForgePath>,
    query: Query<DryRun>,
    key: IdempotencyKey,
    condition: Precondition,
) -> HandlerResult {
    let mut command = permit.open(key, &[]).await?;
    let deleted = forge::delete(&mut command, path.0.name()?, &condition).await?;
    query.0.finish(command, RecordResponse::ok(&view(deleted))?).await
}

fn respond(status: StatusCode, forge: ForgeRecord) -> Result<RecordResponse, Failure> {
    let (revision, suffix) = (forge.revision, forge::etag_suffix(&forge));
    Ok(RecordResponse::new(status, &view(forge))?.with_revision_and_suffix(revision, &suffix))
}
