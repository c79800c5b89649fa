//! `/organizations/{orgId}/service-accounts`

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use greenroom_api_types::envelope::{Data, List};
use greenroom_api_types::service_account::{
    ChangedServiceAccount, CreateServiceAccount, CreateServiceAccountToken, ServiceAccount,
    UpdateServiceAccount,
};
use greenroom_api_types::token::{ApiToken, CreatedApiToken};
use greenroom_app::failure::Failure;
use greenroom_app::service_account::{self, Changed};
use greenroom_domain::id::UserId;
use greenroom_domain::policy::action::{MemberRead, ServiceAccountManage};
use greenroom_domain::service_account::ServiceAccount as Record;
use greenroom_store::token::TokensOf;

use crate::http::rules::body::Body;
use crate::http::rules::command::HandlerResult;
use crate::http::rules::dry_run::{DryRun, ended_sessions};
use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::idempotency::IdempotencyKey;
use crate::http::rules::page::{PageQuery, list};
use crate::http::rules::path::{OrganizationPath, PathParams, ServiceAccountPath, parse_id};
use crate::http::rules::permit::Permit;
use crate::http::rules::precondition::Precondition;
use crate::http::rules::problem_responses::{BodyProblems, CommandProblems, ConditionProblems, ReadProblems};
use crate::http::rules::query::Query;
use crate::http::rules::record_response::RecordResponse;
use crate::http::token::respond_created;

/// List service accounts, sorted by name
///
/// Names are compared without regard to case. Deleted accounts are left out, and persons are in the list of members.
/// `total` is exact up to 10,000.
#[utoipa::path(get, path = "/organizations/{orgId}/service-accounts", tag = "identity",
    params(OrganizationPath, PageQuery),
    responses((status = 200, body = List<ServiceAccount>), ReadProblems))]
pub async fn list_service_accounts(
    permit: Permit<MemberRead>,
    query: Query<PageQuery>,
) -> Result<Json<List<ServiceAccount>>, EarlyResponse> {
    let page = query.0.page()?;
    Ok(Json(list(page, permit.app.store.service_accounts(permit.organization(), page).await?)))
}

/// Create a service account
///
/// It is a user of this organization only, has a role, and can't sign in. Make its tokens by
/// `POST …/{serviceAccountId}/api-tokens`. The same key with the same body returns the same record for 24 hours.
#[utoipa::path(post, path = "/organizations/{orgId}/service-accounts", tag = "identity",
    params(OrganizationPath, IdempotencyKey),
    request_body = CreateServiceAccount,
    responses((status = 201, body = Data<ServiceAccount>), CommandProblems, BodyProblems))]
pub async fn create_service_account(
    permit: Permit<ServiceAccountManage>,
    key: IdempotencyKey,
    body: Body<CreateServiceAccount>,
) -> HandlerResult {
    let mut command = permit.open(key, &body.bytes).await?;
    let created = service_account::create(&mut command, &body.value).await?;
    Ok(command.finish(respond(StatusCode::CREATED, created)?).await?)
}

/// View a service account
///
/// A deleted account is `404`. The `ETag` is the revision, which increases with every change.
#[utoipa::path(get, path = "/organizations/{orgId}/service-accounts/{serviceAccountId}", tag = "identity",
    params(OrganizationPath, ServiceAccountPath),
    responses((status = 200, body = Data<ServiceAccount>), ReadProblems))]
pub async fn get_service_account(
    permit: Permit<MemberRead>,
    path: PathParams<ServiceAccountPath>,
) -> Result<Response, EarlyResponse> {
    let id: UserId = parse_id(&path.0.service_account_id)?;
    let found = permit.app.store.service_account(permit.organization(), id).await?;
    Ok(respond(StatusCode::OK, found.ok_or_else(Failure::not_found)?)?.into_response())
}

/// Change a service account. If the new role is below developer, its sessions end
///
/// Fields that are left out stay as they are. A new role takes effect within one second on every server, and closes
/// the account's open streams. Sessions that the new role does not permit end in the same transaction; beyond 500, the
/// others end within seconds. With `dryRun=true`, the response lists the sessions that would end, and nothing changes.
#[utoipa::path(patch, path = "/organizations/{orgId}/service-accounts/{serviceAccountId}", tag = "identity",
    params(OrganizationPath, ServiceAccountPath, DryRun, IdempotencyKey, Precondition),
    request_body = UpdateServiceAccount,
    responses((status = 200, body = Data<ChangedServiceAccount>), CommandProblems, BodyProblems, ConditionProblems))]
pub async fn update_service_account(
    permit: Permit<ServiceAccountManage>,
    path: PathParams<ServiceAccountPath>,
    query: Query<DryRun>,
    key: IdempotencyKey,
    condition: Precondition,
    body: Body<UpdateServiceAccount>,
) -> HandlerResult {
    let id = parse_id(&path.0.service_account_id)?;
    let mut command = permit.open(key, &body.bytes).await?;
    let dry_run = query.0.is_dry_run();
    let updated = service_account::update(&mut command, id, &condition, body.value, dry_run).await?;
    query.0.finish(command, respond_changed(updated)?).await
}

/// Delete a service account, revoke its tokens and end its sessions
///
/// All of this is one transaction; beyond 500 sessions, the others end within seconds. The tokens are rejected within
/// one second on every server. The response is the account as before the deletion. With `dryRun=true`, it lists the
/// sessions that would end, and nothing changes. A deleted account is `404`, and its name can be used again.
#[utoipa::path(delete, path = "/organizations/{orgId}/service-accounts/{serviceAccountId}", tag = "identity",
    params(OrganizationPath, ServiceAccountPath, DryRun, IdempotencyKey, Precondition),
    responses((status = 200, body = Data<ChangedServiceAccount>), CommandProblems, ConditionProblems))]
pub async fn delete_service_account(
    permit: Permit<ServiceAccountManage>,
    path: PathParams<ServiceAccountPath>,
    query: Query<DryRun>,
    key: IdempotencyKey,
    condition: Precondition,
) -> HandlerResult {
    let id = parse_id(&path.0.service_account_id)?;
    let mut command = permit.open(key, &[]).await?;
    let deleted = service_account::delete(&mut command, id, &condition, query.0.is_dry_run()).await?;
    query.0.finish(command, respond_changed(deleted)?).await
}

/// List the API tokens of a service account, newest first
///
/// The list contains expired and revoked tokens too, and tokens that were created with other tokens of the account.
/// `total` is exact up to 10,000.
#[utoipa::path(get, path = "/organizations/{orgId}/service-accounts/{serviceAccountId}/api-tokens", tag = "identity",
    params(OrganizationPath, ServiceAccountPath, PageQuery),
    responses((status = 200, body = List<ApiToken>), ReadProblems))]
pub async fn list_service_account_tokens(
    permit: Permit<ServiceAccountManage>,
    path: PathParams<ServiceAccountPath>,
    query: Query<PageQuery>,
) -> Result<Json<List<ApiToken>>, EarlyResponse> {
    let (page, organization) = (query.0.page()?, permit.organization());
    let id: UserId = parse_id(&path.0.service_account_id)?;
    permit.app.store.service_account(organization, id).await?.ok_or_else(Failure::not_found)?;
    Ok(Json(list(page, permit.app.store.tokens(organization, TokensOf::User(id), page).await?)))
}

/// Create an API token of a service account. Only this response contains its secret
///
/// It is of kind `ci` or `agent`, and expires after 90 days unless `expiresAt` states another time, which can be 366 days
/// ahead at most. It can't permit more than the credential that sends the request, but stays valid when that one ends.
/// Sessions that are claimed with it belong to it and to the tokens that are created with it: for the other tokens of the
/// account they are those of another user. It is revoked by `DELETE …/api-tokens/{tokenId}`. If the request is repeated with
/// the same `Idempotency-Key`, the response does not contain the secret again.
#[utoipa::path(post, path = "/organizations/{orgId}/service-accounts/{serviceAccountId}/api-tokens", tag = "identity",
    params(OrganizationPath, ServiceAccountPath, IdempotencyKey),
    request_body = CreateServiceAccountToken,
    responses((status = 201, body = Data<CreatedApiToken>), CommandProblems, BodyProblems))]
pub async fn create_service_account_token(
    permit: Permit<ServiceAccountManage>,
    path: PathParams<ServiceAccountPath>,
    key: IdempotencyKey,
    body: Body<CreateServiceAccountToken>,
) -> HandlerResult {
    let id = parse_id(&path.0.service_account_id)?;
    let mut command = permit.open(key, &body.bytes).await?;
    let (created, secret) = service_account::create_token(&mut command, id, body.value).await?;
    permit.app.authentication.remember(secret.hash()).await;
    Ok(command.finish(respond_created(created, &secret)?).await?)
}

fn respond_changed(Changed { account, ended }: Changed) -> Result<RecordResponse, Failure> {
    let revision = account.revision;
    let changed = ChangedServiceAccount { account: account.into(), ended: ended_sessions(ended) };
    Ok(RecordResponse::ok(&changed)?.with_revision(revision))
}

fn respond(status: StatusCode, account: Record) -> Result<RecordResponse, Failure> {
    let revision = account.revision;
    Ok(RecordResponse::new(status, &ServiceAccount::from(account))?.with_revision(revision))
}
