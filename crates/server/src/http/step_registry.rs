//! `/organizations/{orgId}/step-registries`

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use greenroom_api_types::envelope::{Data, List};
use greenroom_api_types::step_registry::{
    CreateStepRegistry, ResolveStep, ResolvedStep, StepRegistry, UpdateStepRegistry,
};
use greenroom_app::command::{Interruption, OpenCommand};
use greenroom_app::failure::Failure;
use greenroom_app::secret::sealing::OrganizationKeys;
use greenroom_app::step_registry::{self, registry_view};
use greenroom_domain::policy::action::{RegistryManage, RegistryRead};
use greenroom_store::step_registry::RegistryRecord;

use crate::http::rules::body::Body;
use crate::http::rules::command::HandlerResult;
use crate::http::rules::dry_run::DryRun;
use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::idempotency::IdempotencyKey;
use crate::http::rules::page::{PageQuery, list_with};
use crate::http::rules::path::{OrganizationPath, PathParams, RegistryPath, parse_id};
use crate::http::rules::permit::Permit;
use crate::http::rules::precondition::Precondition;
use crate::http::rules::problem_responses::{BodyProblems, CommandProblems, ConditionProblems, ReadProblems};
use crate::http::rules::query::Query;
use crate::http::rules::record_response::RecordResponse;

/// List step registries, sorted by name
///
/// Deleted registries are not in the list, and stay readable by their ids. `total` is exact up to 10,000.
#[utoipa::path(get, path = "/organizations/{orgId}/step-registries", tag = "step-registries",
    params(OrganizationPath, PageQuery),
    responses((status = 200, body = List<StepRegistry>), ReadProblems))]
pub async fn list_step_registries(
    permit: Permit<RegistryRead>,
    query: Query<PageQuery>,
) -> Result<Json<List<StepRegistry>>, EarlyResponse> {
    let page = query.0.page()?;
    let found = permit.app.store.step_registries(permit.organization(), page).await?;
    Ok(Json(list_with(page, found, registry_view)))
}

/// Create a step registry
///
/// Definitions refer to it by its name, which is unique in the organization. It is synchronized immediately, and every 15
/// minutes after that; `syncedAt` is null until the first synchronization has ended. An organization has 200 registries at
/// most. A `credential` can never be read back; it needs a master key in the server (`503 secrets_unavailable`). The same key
/// with the same body returns the same record for 24 hours.
#[utoipa::path(post, path = "/organizations/{orgId}/step-registries", tag = "step-registries",
    params(OrganizationPath, IdempotencyKey),
    request_body = CreateStepRegistry,
    responses((status = 201, body = Data<StepRegistry>), CommandProblems, BodyProblems))]
pub async fn create_step_registry(
    permit: Permit<RegistryManage>,
    key: IdempotencyKey,
    body: Body<CreateStepRegistry>,
) -> HandlerResult {
    let (keys, mut command) = open(&permit, key, &body.bytes, body.value.credential.is_some()).await?;
    let created = step_registry::create(&mut command, keys.as_ref(), body.value).await?;
    Ok(command.finish(respond(StatusCode::CREATED, created)?).await?)
}

/// View a step registry
///
/// The `ETag` is the revision, which counts the changes by admins, followed by a part that changes with every
/// synchronization, which `If-Match` ignores. A deleted registry stays readable, with `deletedAt`.
#[utoipa::path(get, path = "/organizations/{orgId}/step-registries/{registryId}", tag = "step-registries",
    params(OrganizationPath, RegistryPath),
    responses((status = 200, body = Data<StepRegistry>), ReadProblems))]
pub async fn get_step_registry(
    permit: Permit<RegistryRead>,
    path: PathParams<RegistryPath>,
) -> Result<Response, EarlyResponse> {
    let found = permit.app.store.step_registry(permit.organization(), parse_id(&path.0.registry_id)?).await?;
    Ok(respond(StatusCode::OK, found.ok_or_else(Failure::not_found)?)?.into_response())
}

/// Change a step registry
///
/// Another `url` or `credential`, other `signers` or another `requireSignature` begin a synchronization; one that runs does not
/// count. Another `url` lets it read again all tags that were refused, and other rules for signatures those that were
/// refused for their signature. If a credential is set, another `url` needs it again, or null (`422` at `/credential`): it is
/// never sent to another address than the one it was set for. Versions that are known stay as they are, and so does
/// everything that is locked. Fields that are left out stay unchanged, and a request that changes nothing records no
/// event; a `credential` is always a change.
#[utoipa::path(patch, path = "/organizations/{orgId}/step-registries/{registryId}", tag = "step-registries",
    params(OrganizationPath, RegistryPath, IdempotencyKey, Precondition),
    request_body = UpdateStepRegistry,
    responses((status = 200, body = Data<StepRegistry>), CommandProblems, BodyProblems, ConditionProblems))]
pub async fn update_step_registry(
    permit: Permit<RegistryManage>,
    path: PathParams<RegistryPath>,
    key: IdempotencyKey,
    condition: Precondition,
    body: Body<UpdateStepRegistry>,
) -> HandlerResult {
    let id = parse_id(&path.0.registry_id)?;
    let has_credential = matches!(body.value.credential, Some(Some(_)));
    let (keys, mut command) = open(&permit, key, &body.bytes, has_credential).await?;
    let updated = step_registry::update(&mut command, keys.as_ref(), (id, &condition), body.value).await?;
    Ok(command.finish(respond(StatusCode::OK, updated)?).await?)
}

/// Delete a step registry
///
/// It is not synchronized any more, nothing new is resolved from it, and its name can be used again. Definitions that have
/// locked its steps go on: the content is kept by its digest, and a lock refers to the id of the registry, never to its name
/// alone. Deleting again changes nothing and returns the record.
#[utoipa::path(delete, path = "/organizations/{orgId}/step-registries/{registryId}", tag = "step-registries",
    params(OrganizationPath, RegistryPath, DryRun, IdempotencyKey, Precondition),
    responses((status = 200, body = Data<StepRegistry>), CommandProblems, ConditionProblems))]
pub async fn delete_step_registry(
    permit: Permit<RegistryManage>,
    path: PathParams<RegistryPath>,
    query: Query<DryRun>,
    key: IdempotencyKey,
    condition: Precondition,
) -> HandlerResult {
    let id = parse_id(&path.0.registry_id)?;
    let mut command = permit.open(key, &[]).await?;
    let deleted = step_registry::delete(&mut command, id, &condition).await?;
    query.0.finish(command, respond(StatusCode::OK, deleted)?).await
}

/// Synchronize a step registry now
///
/// The response does not wait for the end: `syncedAt`, `status` and `error` of the registry have the result. Requests within 10
/// seconds after a synchronization are delayed until then. A disabled registry can't be synchronized (`409
/// invalid_state`).
#[utoipa::path(post, path = "/organizations/{orgId}/step-registries/{registryId}/sync", tag = "step-registries",
    params(OrganizationPath, RegistryPath, IdempotencyKey),
    responses((status = 202, body = Data<StepRegistry>), CommandProblems))]
pub async fn sync_step_registry(
    permit: Permit<RegistryManage>,
    path: PathParams<RegistryPath>,
    key: IdempotencyKey,
) -> HandlerResult {
    let id = parse_id(&path.0.registry_id)?;
    let mut command = permit.open(key, &[]).await?;
    let registry = step_registry::request_sync(&mut command, id).await?;
    Ok(command.finish(respond(StatusCode::ACCEPTED, registry)?).await?)
}

/// Resolve a reference to a step, as saving a definition would now
///
/// Returns the highest version that fits the reference, is not yanked, has been known for the `minimumAgeSeconds` of the
/// registry, and is signed if the registry requires that. If there is none, the problem (`422` at `/uses`) states why, and
/// which name may have been meant. Nothing is changed, so an `Idempotency-Key` is ignored.
#[utoipa::path(post, path = "/organizations/{orgId}/step-registries/resolve", tag = "step-registries",
    params(OrganizationPath),
    request_body = ResolveStep,
    responses((status = 200, body = Data<ResolvedStep>), CommandProblems, BodyProblems))]
pub async fn resolve_step(
    permit: Permit<RegistryRead>,
    body: Body<ResolveStep>,
) -> Result<Json<Data<ResolvedStep>>, EarlyResponse> {
    let (store, organization) = (&permit.app.store, permit.organization());
    let data = step_registry::resolve::resolve(store, organization, &body.value.uses).await?;
    Ok(Json(Data { data }))
}

/// Opens the command of a request. If its body has a credential, the keys that seal it are opened, and the hash of the body that
/// is stored for an `Idempotency-Key` is keyed, so that the credential can't be guessed from it.
async fn open(
    permit: &Permit<RegistryManage>,
    key: IdempotencyKey,
    body: &[u8],
    has_credential: bool,
) -> Result<(Option<OrganizationKeys>, OpenCommand), Interruption> {
    if !has_credential {
        return Ok((None, permit.open(key, body).await?));
    }
    let keys = OrganizationKeys::open(&permit.app, permit.organization()).await?;
    let command = permit.open_with_fingerprint(key, keys.fingerprint(body)).await?;
    Ok((Some(keys), command))
}

fn respond(status: StatusCode, registry: RegistryRecord) -> Result<RecordResponse, Failure> {
    let (revision, suffix) = (registry.revision, step_registry::etag_suffix(&registry));
    let response = RecordResponse::new(status, &registry_view(registry))?;
    Ok(response.with_revision_and_suffix(revision, &suffix))
}
