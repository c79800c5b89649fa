//! `/organizations/{orgId}/api-tokens`

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use greenroom_api_types::envelope::{Data, List};
use greenroom_api_types::token::{ApiToken, CreateApiToken, CreatedApiToken};
use greenroom_app::failure::Failure;
use greenroom_app::token;
use greenroom_domain::policy::Action;
use greenroom_domain::policy::action::TokenManageOwn;
use greenroom_domain::token::{Token, TokenSecret};
use greenroom_store::token::TokensOf;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::http::rules::body::Body;
use crate::http::rules::command::HandlerResult;
use crate::http::rules::dry_run::DryRun;
use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::idempotency::IdempotencyKey;
use crate::http::rules::page::{list, page};
use crate::http::rules::path::{OrganizationPath, PathParams, TokenPath, parse_id};
use crate::http::rules::permit::{AuthenticatedRequest, Narrowed, Permit};
use crate::http::rules::problem_responses::{BodyProblems, CommandProblems, ReadProblems};
use crate::http::rules::query::Query;
use crate::http::rules::record_response::RecordResponse;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TokenQuery {
    /// The number of records to return.
    #[param(minimum = 1, maximum = 100, default = 20)]
    limit: Option<i64>,
    /// The number of records to skip.
    #[param(minimum = 0, default = 0)]
    offset: Option<i64>,
    /// If true, list the tokens of all members and service accounts instead of your own. This needs the role admin and the scope
    /// `admin`.
    #[param(default = false)]
    all: Option<bool>,
}

/// List your own API tokens, newest first
///
/// The list is ordered by when the tokens were created, and contains expired and revoked tokens too. For a token of a
/// service account, it is that token and those that were made by it, directly or not. `total` is exact up to 10,000.
#[utoipa::path(get, path = "/organizations/{orgId}/api-tokens", tag = "identity",
    params(OrganizationPath, TokenQuery),
    responses((status = 200, body = List<ApiToken>), ReadProblems))]
pub async fn list_api_tokens(
    permit: Permit<TokenManageOwn>,
    query: Query<TokenQuery>,
) -> Result<Json<List<ApiToken>>, EarlyResponse> {
    let page = page(query.0.limit, query.0.offset)?;
    let all = query.0.all.unwrap_or(false);
    if all {
        permit.principal.require(Action::TokenManageAll)?;
    }
    let of = if all { TokensOf::Everyone } else { TokensOf::Owner(permit.principal.owner()) };
    Ok(Json(list(page, permit.app.store.tokens(permit.organization(), of, page).await?)))
}

/// View an API token
///
/// Expired and revoked tokens stay readable. `lastUsedAt` is accurate to one minute. Only its user and admins
/// see a token; for others it is `404`.
#[utoipa::path(get, path = "/organizations/{orgId}/api-tokens/{tokenId}", tag = "identity",
    params(OrganizationPath, TokenPath),
    responses((status = 200, body = Data<ApiToken>), ReadProblems))]
pub async fn get_api_token(
    permit: Permit<TokenManageOwn>,
    path: PathParams<TokenPath>,
) -> Result<Response, EarlyResponse> {
    let found = permit.app.store.token(permit.organization(), parse_id(&path.0.token_id)?).await?;
    let found = found.filter(|found| token::sees(&permit.principal, found)).ok_or_else(Failure::not_found)?;
    Ok(RecordResponse::ok(&ApiToken::from(found))?.into_response())
}

/// Create an API token. Only this response contains its secret
///
/// Tokens expire after 90 days unless `expiresAt` states another time, which can be 366 days ahead at most for kinds
/// `ci` and `agent`. A token can't permit more, or expire later, than the one that sends the request,
/// and is revoked together with it. Its rights never change. If the request is repeated with the same
/// `Idempotency-Key`, the response does not contain the secret again. A person has 100 valid tokens at most.
#[utoipa::path(post, path = "/organizations/{orgId}/api-tokens", tag = "identity",
    params(OrganizationPath, IdempotencyKey),
    request_body = CreateApiToken,
    responses((status = 201, body = Data<CreatedApiToken>), CommandProblems, BodyProblems))]
pub async fn create_api_token(
    // `Narrowed`, because a token that is limited to some pipelines may create tokens too, limited to the
    // same pipelines or to some of them. The default would reject it, since this path contains no pipeline.
    permit: Permit<TokenManageOwn, Narrowed>,
    key: IdempotencyKey,
    body: Body<CreateApiToken>,
) -> HandlerResult {
    let mut command = permit.open(key, &body.bytes).await?;
    let (created, secret) = token::create(&mut command, &body.value).await?;
    permit.app.authentication.remember(secret.hash()).await;
    Ok(command.finish(respond_created(created, &secret)?).await?)
}

/// Returns the response to the request that created a token. What is stored for a repeated request has no secret.
pub fn respond_created(created: Token, secret: &TokenSecret) -> Result<RecordResponse, Failure> {
    let stored = CreatedApiToken { record: created.into(), token: None };
    let sent = CreatedApiToken { token: Some(secret.reveal().to_owned()), ..stored.clone() };
    RecordResponse::new(StatusCode::CREATED, &sent)?.with_stored_record(&stored)
}

/// Revoke an API token and all tokens that were created with it. Every token may revoke itself
///
/// The tokens are rejected within one second on every server, and their streams and downloads end. Sessions
/// that were claimed with them continue, but those that wait in a queue are not granted. Revoking again
/// changes nothing and returns the token.
#[utoipa::path(delete, path = "/organizations/{orgId}/api-tokens/{tokenId}", tag = "identity",
    params(OrganizationPath, TokenPath, DryRun, IdempotencyKey),
    responses((status = 200, body = Data<ApiToken>), CommandProblems))]
pub async fn revoke_api_token(
    caller: AuthenticatedRequest,
    path: PathParams<TokenPath>,
    query: Query<DryRun>,
    key: IdempotencyKey,
) -> HandlerResult {
    let token_id = parse_id(&path.0.token_id)?;
    token::allow_revoke(&caller.principal, token_id)?;
    let mut command = caller.open(key, &[]).await?;
    let revoked = token::revoke(&mut command, token_id).await?;
    query.0.finish(command, RecordResponse::ok(&ApiToken::from(revoked))?).await
}
