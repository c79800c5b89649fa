//! `/organizations/{orgId}/secrets`

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use greenroom_api_types::envelope::{Data, List};
use greenroom_api_types::secret::{
    CreateSecret, DeploymentSecretRead, SavedSecret, Secret, SecretRead as ReadRecord, SecretVersion,
    SetSecretValue, UpdateSecret,
};
use greenroom_app::failure::Failure;
use greenroom_app::secret::sealing::OrganizationKeys;
use greenroom_app::secret::{self, value};
use greenroom_domain::id::{DeploymentId, PipelineId, SecretId};
use greenroom_domain::policy::action::{SecretEdit, SecretEditOrganization, SecretRead, SecretReadLog};
use greenroom_store::pipeline::PipelineName;
use greenroom_store::secret::{SecretFilter, SecretRecord};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::http::rules::body::Body;
use crate::http::rules::command::HandlerResult;
use crate::http::rules::dry_run::DryRun;
use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::idempotency::IdempotencyKey;
use crate::http::rules::page::{PageQuery, list_with, page};
use crate::http::rules::path::{
    DeploymentPath, OrganizationPath, PathParams, SecretPath, SecretVersionPath, parse_id,
};
use crate::http::rules::permit::{AuthenticatedRequest, InRequest, Permit};
use crate::http::rules::precondition::Precondition;
use crate::http::rules::problem_responses::{BodyProblems, CommandProblems, ConditionProblems, ReadProblems};
use crate::http::rules::query::Query;
use crate::http::rules::record_response::RecordResponse;

/// A value of 64 KiB, with room for JSON's escape sequences.
const MAX_VALUE_BYTES: usize = 512 * 1024;

/// Editing a secret of a pipeline, or one of the whole organization: the use case requires the one that applies.
type Edit = (SecretEdit, SecretEditOrganization);

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct SecretQuery {
    /// The number of records to return.
    #[param(minimum = 1, maximum = 100, default = 20)]
    limit: Option<i64>,
    /// The number of records to skip. A page past the end is an empty list.
    #[param(minimum = 0, default = 0)]
    offset: Option<i64>,
    /// Include only secrets of this pipeline and its environments, by id or slug.
    pipeline_id: Option<String>,
    /// Include only secrets with this name.
    name: Option<String>,
}

/// List secrets, sorted by name
///
/// Secrets with the same name are sorted by scope: that of the organization comes first. Deleted secrets are
/// not in the list. A token that is limited to pipelines sees only theirs. A viewer with a grant on a pipeline has to name it
/// as `pipelineId`. No value is ever returned. `total` is exact up to 10,000.
#[utoipa::path(get, path = "/organizations/{orgId}/secrets", tag = "secrets",
    params(OrganizationPath, SecretQuery),
    responses((status = 200, body = List<Secret>), ReadProblems))]
pub async fn list_secrets(
    permit: Permit<SecretRead, InRequest>,
    query: Query<SecretQuery>,
) -> Result<Json<List<Secret>>, EarlyResponse> {
    let SecretQuery { limit, offset, pipeline_id, name } = query.0;
    let page = page(limit, offset)?;
    let pipeline = match pipeline_id {
        Some(text) => Some(pipeline_id_of(&permit, &text).await?),
        None => None,
    };
    secret::allow_list(&permit.app.store, &permit.principal, pipeline).await?;
    let filter = SecretFilter { within: permit.principal.pipelines.clone(), pipeline, name };
    let found = permit.app.store.secrets(permit.organization(), &filter, page).await?;
    Ok(Json(list_with(page, found, secret::secret_view)))
}

/// Create a secret with its first value
///
/// Steps get it by its name, from their next start on. Of several secrets with the same name, a step gets the
/// one with the narrowest scope; if a rule of that one denies it, the step gets none. The value can never be
/// read back. A secret of the whole organization needs the role admin and the scope `admin`, and must name
/// `pipelines` in its policy if it has another rule or a `use`. `warnings` names the environments, pools and
/// branches that match nothing yet, because they are mistyped or meant for later. The same key with the same
/// body returns the same record for 24 hours.
#[utoipa::path(post, path = "/organizations/{orgId}/secrets", tag = "secrets",
    params(OrganizationPath, IdempotencyKey),
    request_body = CreateSecret,
    responses((status = 201, body = SavedSecret), CommandProblems, BodyProblems))]
pub async fn create_secret(
    permit: Permit<Edit, InRequest>,
    key: IdempotencyKey,
    body: Body<CreateSecret, MAX_VALUE_BYTES>,
) -> HandlerResult {
    secret::allow_create(&permit.app.store, &permit.principal, &body.value).await?;
    let keys = OrganizationKeys::open(&permit.app, permit.organization()).await?;
    let mut command = permit.open_with_fingerprint(key, keys.fingerprint(&body.bytes)).await?;
    let created = secret::create(&mut command, &keys, body.value).await?;
    let warnings = secret::warnings(&mut command, &created).await?;
    Ok(command.finish(respond(StatusCode::CREATED, created)?.with_warnings(&warnings)?).await?)
}

/// View a secret, without its value
///
/// The value is never returned. The `ETag` changes with every change of the secret and with every new, activated or
/// staged version. A deleted secret stays readable, with `deletedAt`.
#[utoipa::path(get, path = "/organizations/{orgId}/secrets/{secretId}", tag = "secrets",
    params(OrganizationPath, SecretPath),
    responses((status = 200, body = Data<Secret>), ReadProblems))]
pub async fn get_secret(
    permit: Permit<SecretRead>,
    path: PathParams<SecretPath>,
) -> Result<Response, EarlyResponse> {
    let found = find(&permit, &path.0.secret_id).await?;
    Ok(respond(StatusCode::OK, found)?.into_response())
}

/// Change a secret's description or policy
///
/// The new policy holds for steps that start after this request; steps that run keep what they got. Fields that
/// are left out stay unchanged, and a request that changes nothing records no event. `warnings` names what
/// matches nothing yet. Name, scope, `use` and value can't be changed here.
#[utoipa::path(patch, path = "/organizations/{orgId}/secrets/{secretId}", tag = "secrets",
    params(OrganizationPath, SecretPath, IdempotencyKey, Precondition),
    request_body = UpdateSecret,
    responses((status = 200, body = SavedSecret), CommandProblems, BodyProblems, ConditionProblems))]
pub async fn update_secret(
    permit: Permit<Edit>,
    path: PathParams<SecretPath>,
    key: IdempotencyKey,
    condition: Precondition,
    body: Body<UpdateSecret>,
) -> HandlerResult {
    let id = parse_id(&path.0.secret_id)?;
    let mut command = permit.open(key, &body.bytes).await?;
    let updated = secret::update(&mut command, id, &condition, body.value).await?;
    let warnings = secret::warnings(&mut command, &updated).await?;
    Ok(command.finish(respond(StatusCode::OK, updated)?.with_warnings(&warnings)?).await?)
}

/// Delete a secret and destroy all of its values
///
/// Steps that start after this request don't get it, and its name is free again. Its record, its versions
/// without their values, and the log of its reads stay readable. Deleting again changes nothing and returns the
/// record.
#[utoipa::path(delete, path = "/organizations/{orgId}/secrets/{secretId}", tag = "secrets",
    params(OrganizationPath, SecretPath, DryRun, IdempotencyKey, Precondition),
    responses((status = 200, body = Data<Secret>), CommandProblems, ConditionProblems))]
pub async fn delete_secret(
    permit: Permit<Edit>,
    path: PathParams<SecretPath>,
    query: Query<DryRun>,
    key: IdempotencyKey,
    condition: Precondition,
) -> HandlerResult {
    let id = parse_id(&path.0.secret_id)?;
    let mut command = permit.open(key, &[]).await?;
    let deleted = secret::delete(&mut command, id, &condition).await?;
    query.0.finish(command, respond(StatusCode::OK, deleted)?).await
}

/// Set the value of a secret: a new version
///
/// Every step that starts after this request gets the new version; steps that run keep theirs. With `staged`,
/// the version is stored and not used until it is activated. The version before is retired and can be activated
/// again until it is destroyed. Without an `Idempotency-Key`, each request makes a version.
#[utoipa::path(put, path = "/organizations/{orgId}/secrets/{secretId}/value", tag = "secrets",
    params(OrganizationPath, SecretPath, IdempotencyKey, Precondition),
    request_body = SetSecretValue,
    responses((status = 200, body = Data<SecretVersion>), CommandProblems, BodyProblems, ConditionProblems))]
pub async fn set_secret_value(
    permit: Permit<Edit>,
    path: PathParams<SecretPath>,
    key: IdempotencyKey,
    condition: Precondition,
    body: Body<SetSecretValue, MAX_VALUE_BYTES>,
) -> HandlerResult {
    let before = find(&permit, &path.0.secret_id).await?;
    secret::allow_edit(&permit.app.store, &permit.principal, &before.scope).await?;
    let keys = OrganizationKeys::open(&permit.app, permit.organization()).await?;
    let mut command = permit.open_with_fingerprint(key, keys.fingerprint(&body.bytes)).await?;
    let version = value::set(&mut command, &keys, before.id, &condition, body.value).await?;
    Ok(command.finish(RecordResponse::ok(&secret::version_view(version))?).await?)
}

/// List the versions of a secret, newest first
///
/// Versions are numbered from 1 without gaps, and are kept for ever; destroyed ones have no value any more.
#[utoipa::path(get, path = "/organizations/{orgId}/secrets/{secretId}/versions", tag = "secrets",
    params(OrganizationPath, SecretPath, PageQuery),
    responses((status = 200, body = List<SecretVersion>), ReadProblems))]
pub async fn list_secret_versions(
    permit: Permit<SecretRead>,
    path: PathParams<SecretPath>,
    query: Query<PageQuery>,
) -> Result<Json<List<SecretVersion>>, EarlyResponse> {
    let page = query.0.page()?;
    let secret = find(&permit, &path.0.secret_id).await?;
    let found = permit.app.store.secret_versions(permit.organization(), &secret, page).await?;
    Ok(Json(list_with(page, found, secret::version_view)))
}

/// Activate a version of a secret
///
/// Every step that starts after this request gets it. The version that was active before is retired. A version
/// whose value was destroyed can't be activated. Activating the active version changes nothing.
#[utoipa::path(post, path = "/organizations/{orgId}/secrets/{secretId}/versions/{version}/activate", tag = "secrets",
    params(OrganizationPath, SecretVersionPath, IdempotencyKey),
    responses((status = 200, body = Data<SecretVersion>), CommandProblems))]
pub async fn activate_secret_version(
    permit: Permit<Edit>,
    path: PathParams<SecretVersionPath>,
    key: IdempotencyKey,
) -> HandlerResult {
    let (id, version) = path.0.parse()?;
    let mut command = permit.open(key, &[]).await?;
    let activated = value::activate(&mut command, id, version).await?;
    Ok(command.finish(RecordResponse::ok(&secret::version_view(activated))?).await?)
}

/// Destroy the value of a version of a secret
///
/// The value is deleted and can't be restored. The active version can't be destroyed. Destroying again changes
/// nothing. Backups of the database contain the sealed value until they are deleted.
#[utoipa::path(post, path = "/organizations/{orgId}/secrets/{secretId}/versions/{version}/destroy", tag = "secrets",
    params(OrganizationPath, SecretVersionPath, DryRun, IdempotencyKey),
    responses((status = 200, body = Data<SecretVersion>), CommandProblems))]
pub async fn destroy_secret_version(
    permit: Permit<Edit>,
    path: PathParams<SecretVersionPath>,
    query: Query<DryRun>,
    key: IdempotencyKey,
) -> HandlerResult {
    let (id, version) = path.0.parse()?;
    let mut command = permit.open(key, &[]).await?;
    let destroyed = value::destroy(&mut command, id, version).await?;
    query.0.finish(command, RecordResponse::ok(&secret::version_view(destroyed))?).await
}

/// List the reads of a secret, newest first
///
/// There is one entry per secret and step, however often the step's start was repeated. Entries are kept as long
/// as the secret's record. `total` is exact up to 10,000.
#[utoipa::path(get, path = "/organizations/{orgId}/secrets/{secretId}/reads", tag = "secrets",
    params(OrganizationPath, SecretPath, PageQuery),
    responses((status = 200, body = List<ReadRecord>), ReadProblems))]
pub async fn list_secret_reads(
    permit: Permit<SecretReadLog>,
    path: PathParams<SecretPath>,
    query: Query<PageQuery>,
) -> Result<Json<List<ReadRecord>>, EarlyResponse> {
    let page = query.0.page()?;
    let secret = find(&permit, &path.0.secret_id).await?;
    let found = permit.app.store.secret_reads(permit.organization(), secret.id, page).await?;
    Ok(Json(list_with(page, found, secret::read_view)))
}

/// List the secrets that a deployment has read, oldest first
///
/// These are the secrets to rotate if something of the deployment has leaked. There is one entry per secret and
/// step. An entry whose `versionStatus` is `active` names a secret that has not been rotated since. `total` is
/// exact up to 10,000.
#[utoipa::path(get, path = "/organizations/{orgId}/deployments/{deploymentId}/secret-reads", tag = "secrets",
    params(OrganizationPath, DeploymentPath, PageQuery),
    responses((status = 200, body = List<DeploymentSecretRead>), ReadProblems))]
pub async fn list_deployment_secret_reads(
    permit: Permit<SecretReadLog>,
    path: PathParams<DeploymentPath>,
    query: Query<PageQuery>,
) -> Result<Json<List<DeploymentSecretRead>>, EarlyResponse> {
    let page = query.0.page()?;
    let (store, organization) = (&permit.app.store, permit.organization());
    let id: DeploymentId = parse_id(&path.0.deployment_id)?;
    store.pipeline_of_deployment(organization, id).await?.ok_or_else(Failure::not_found)?;
    let found = store.secret_reads_of_deployment(organization, id, page).await?;
    Ok(Json(list_with(page, found, secret::read_of_deployment_view)))
}

async fn find(request: &AuthenticatedRequest, text: &str) -> Result<SecretRecord, Failure> {
    let id: SecretId = parse_id(text)?;
    let found = request.app.store.secret(request.organization(), id).await?;
    found.ok_or_else(Failure::not_found)
}

/// Returns the pipeline of a filter.
async fn pipeline_id_of(request: &AuthenticatedRequest, text: &str) -> Result<PipelineId, Failure> {
    let unknown = || Failure::field("pipelineId", "is not a pipeline of this organization");
    let name = PipelineName::parse(text).ok_or_else(unknown)?;
    let found = request.app.store.pipeline(request.organization(), &name).await?.ok_or_else(unknown)?;
    if request.principal.pipelines.contains(found.id) { Ok(found.id) } else { Err(unknown()) }
}

fn respond(status: StatusCode, secret: SecretRecord) -> Result<RecordResponse, Failure> {
    let revision = secret.revision;
    Ok(RecordResponse::new(status, &secret::secret_view(secret))?.with_revision(revision))
}
