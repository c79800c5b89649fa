//! `/organizations/{orgId}/service-accounts/{serviceAccountId}/trust-policies`

use axum::Json;
use axum::http::StatusCode;
use greenroom_api_types::envelope::{Data, List};
use greenroom_api_types::trust_policy::{CreateTrustPolicy, TrustPolicy};
use greenroom_app::failure::Failure;
use greenroom_app::trust_policy;
use greenroom_domain::id::UserId;
use greenroom_domain::policy::action::ServiceAccountManage;

use crate::http::rules::body::Body;
use crate::http::rules::command::HandlerResult;
use crate::http::rules::dry_run::DryRun;
use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::idempotency::IdempotencyKey;
use crate::http::rules::page::{PageQuery, list};
use crate::http::rules::path::{OrganizationPath, PathParams, ServiceAccountPath, TrustPolicyPath, parse_id};
use crate::http::rules::permit::Permit;
use crate::http::rules::problem_responses::{BodyProblems, CommandProblems, ReadProblems};
use crate::http::rules::query::Query;
use crate::http::rules::record_response::RecordResponse;

/// List the trust policies of a service account, sorted by name
///
/// Names are compared without regard to case. Deleted policies are left out. `total` is exact up to 10,000.
#[utoipa::path(get, path = "/organizations/{orgId}/service-accounts/{serviceAccountId}/trust-policies", tag = "identity",
    params(OrganizationPath, ServiceAccountPath, PageQuery),
    responses((status = 200, body = List<TrustPolicy>), ReadProblems))]
pub async fn list_trust_policies(
    permit: Permit<ServiceAccountManage>,
    path: PathParams<ServiceAccountPath>,
    query: Query<PageQuery>,
) -> Result<Json<List<TrustPolicy>>, EarlyResponse> {
    let (page, organization) = (query.0.page()?, permit.organization());
    let id: UserId = parse_id(&path.0.service_account_id)?;
    permit.app.store.service_account(organization, id).await?.ok_or_else(Failure::not_found)?;
    Ok(Json(list(page, permit.app.store.trust_policies(organization, id, page).await?)))
}

/// Create a trust policy: which tokens of a CI system are exchanged for a token of the account
///
/// `POST /oauth/token` exchanges a token whose issuer, audience and claims are those of the policy. The new token is of
/// kind `ci`, has the scopes `read`, `hold`, `deploy` and `start`, never permits force, and reaches the pipelines of the
/// policy only. It can't permit more than the credential that sends this request. A policy can't be changed: create another
/// one and delete the first. The same key with the same body returns the same record for 24 hours.
#[utoipa::path(post, path = "/organizations/{orgId}/service-accounts/{serviceAccountId}/trust-policies", tag = "identity",
    params(OrganizationPath, ServiceAccountPath, IdempotencyKey),
    request_body = CreateTrustPolicy,
    responses((status = 201, body = Data<TrustPolicy>), CommandProblems, BodyProblems))]
pub async fn create_trust_policy(
    permit: Permit<ServiceAccountManage>,
    path: PathParams<ServiceAccountPath>,
    key: IdempotencyKey,
    body: Body<CreateTrustPolicy>,
) -> HandlerResult {
    let account = parse_id(&path.0.service_account_id)?;
    let mut command = permit.open(key, &body.bytes).await?;
    let created = trust_policy::create(&mut command, account, body.value).await?;
    Ok(command.finish(RecordResponse::new(StatusCode::CREATED, &TrustPolicy::from(created))?).await?)
}

/// Delete a trust policy, and revoke the tokens that were made by it
///
/// The tokens are rejected within one second on every server. Sessions that they hold end with their lease. The response
/// is the policy as before the deletion. A deleted policy is `404`, and its name can be used again.
#[utoipa::path(delete, path = "/organizations/{orgId}/service-accounts/{serviceAccountId}/trust-policies/{policyId}", tag = "identity",
    params(OrganizationPath, TrustPolicyPath, DryRun, IdempotencyKey),
    responses((status = 200, body = Data<TrustPolicy>), CommandProblems))]
pub async fn delete_trust_policy(
    permit: Permit<ServiceAccountManage>,
    path: PathParams<TrustPolicyPath>,
    query: Query<DryRun>,
    key: IdempotencyKey,
) -> HandlerResult {
    let (account, id) = (parse_id(&path.0.service_account_id)?, parse_id(&path.0.policy_id)?);
    let mut command = permit.open(key, &[]).await?;
    let deleted = trust_policy::delete(&mut command, account, id).await?;
    query.0.finish(command, RecordResponse::ok(&TrustPolicy::from(deleted))?).await
}
