//! `/organizations/{orgId}`

use axum::response::{IntoResponse, Response};
use greenroom_api_types::envelope::Data;
use greenroom_api_types::organization::{Organization, UpdateOrganization};
use greenroom_app::failure::Failure;
use greenroom_app::organization;
use greenroom_domain::policy::action::{OrganizationRead, OrganizationUpdate};

use crate::http::rules::body::Body;
use crate::http::rules::command::HandlerResult;
use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::idempotency::IdempotencyKey;
use crate::http::rules::path::OrganizationPath;
use crate::http::rules::permit::Permit;
use crate::http::rules::precondition::Precondition;
use crate::http::rules::problem_responses::{BodyProblems, CommandProblems, ConditionProblems, ReadProblems};
use crate::http::rules::record_response::RecordResponse;

/// View the organization
///
/// The `ETag` is the revision, which increases with every change. The slug never changes.
#[utoipa::path(get, path = "/organizations/{orgId}", tag = "identity",
    params(OrganizationPath),
    responses((status = 200, body = Data<Organization>), ReadProblems))]
pub async fn get_organization(permit: Permit<OrganizationRead>) -> Result<Response, EarlyResponse> {
    let found = permit.app.store.organization(permit.organization()).await?.ok_or_else(Failure::not_found)?;
    let revision = found.revision;
    Ok(RecordResponse::ok(&organization::wire(found))?.with_revision(revision).into_response())
}

/// Rename the organization
///
/// The slug stays as it is. Renaming to the current name creates no revision and no event. Without
/// `If-Match`, the last of several concurrent requests decides.
#[utoipa::path(patch, path = "/organizations/{orgId}", tag = "identity",
    params(OrganizationPath, IdempotencyKey, Precondition),
    request_body = UpdateOrganization,
    responses((status = 200, body = Data<Organization>), CommandProblems, BodyProblems, ConditionProblems))]
pub async fn update_organization(
    permit: Permit<OrganizationUpdate>,
    key: IdempotencyKey,
    condition: Precondition,
    body: Body<UpdateOrganization>,
) -> HandlerResult {
    let mut command = permit.open(key, &body.bytes).await?;
    let updated = organization::update(&mut command, &condition, &body.value).await?;
    let revision = updated.revision;
    Ok(command.finish(RecordResponse::ok(&organization::wire(updated))?.with_revision(revision)).await?)
}
