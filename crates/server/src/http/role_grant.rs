//! `/organizations/{orgId}/pipelines/{pipelineId}/grants`

use axum::Json;
use greenroom_api_types::envelope::{Data, List};
use greenroom_api_types::person::Person;
use greenroom_api_types::role_grant::{DeletedGrant, Grant, GrantedGroup, SetGrant};
use greenroom_app::role_grant;
use greenroom_domain::policy::action::{GrantManage, GrantRead};
use greenroom_domain::role_grant::Grantee;
use greenroom_store::pipeline::PipelineName;
use greenroom_store::role_grant::GrantRecord;

use crate::http::environment::find_pipeline;
use crate::http::rules::body::Body;
use crate::http::rules::command::HandlerResult;
use crate::http::rules::dry_run::{DryRun, ended_sessions};
use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::idempotency::IdempotencyKey;
use crate::http::rules::page::{PageQuery, list_with};
use crate::http::rules::path::{GroupGrantPath, OrganizationPath, PathParams, PipelinePath, UserGrantPath};
use crate::http::rules::permit::Permit;
use crate::http::rules::problem_responses::{BodyProblems, CommandProblems, ReadProblems};
use crate::http::rules::query::Query;
use crate::http::rules::record_response::RecordResponse;

/// List the grants on a pipeline
///
/// Those of groups come first, each sorted by name. The role of a user on the pipeline is the highest of the role in the
/// organization, the user's grant and the grants of the user's groups. `total` is exact up to 10,000.
#[utoipa::path(get, path = "/organizations/{orgId}/pipelines/{pipelineId}/grants", tag = "pipelines",
    params(OrganizationPath, PipelinePath, PageQuery),
    responses((status = 200, body = List<Grant>), ReadProblems))]
pub async fn list_grants(
    permit: Permit<GrantRead>,
    path: PathParams<PipelinePath>,
    query: Query<PageQuery>,
) -> Result<Json<List<Grant>>, EarlyResponse> {
    let page = query.0.page()?;
    let pipeline = find_pipeline(&permit, &path.0.pipeline_id).await?;
    let found = permit.app.store.grants(permit.organization(), pipeline, page).await?;
    Ok(Json(list_with(page, found, view)))
}

/// Grant a group a role on a pipeline
///
/// Its members have at least this role there from the next request on. A grant never lowers a role, and what needs an
/// admin can't be granted. It replaces the group's earlier grant; the same role again changes nothing. A pipeline has 200 grants at
/// most.
#[utoipa::path(put, path = "/organizations/{orgId}/pipelines/{pipelineId}/grants/groups/{groupId}", tag = "pipelines",
    params(OrganizationPath, GroupGrantPath, IdempotencyKey),
    request_body = SetGrant,
    responses((status = 200, body = Data<Grant>), CommandProblems, BodyProblems))]
pub async fn set_group_grant(
    permit: Permit<GrantManage>,
    path: PathParams<GroupGrantPath>,
    key: IdempotencyKey,
    body: Body<SetGrant>,
) -> HandlerResult {
    set(&permit, path.0.parse()?, key, body).await
}

/// Grant a user a role on a pipeline
///
/// The user has at least this role there from the next request on. A grant never lowers a role, and what needs an
/// admin can't be granted. It replaces the user's earlier grant; the same role again changes nothing. A pipeline has 200 grants at
/// most.
#[utoipa::path(put, path = "/organizations/{orgId}/pipelines/{pipelineId}/grants/users/{userId}", tag = "pipelines",
    params(OrganizationPath, UserGrantPath, IdempotencyKey),
    request_body = SetGrant,
    responses((status = 200, body = Data<Grant>), CommandProblems, BodyProblems))]
pub async fn set_user_grant(
    permit: Permit<GrantManage>,
    path: PathParams<UserGrantPath>,
    key: IdempotencyKey,
    body: Body<SetGrant>,
) -> HandlerResult {
    set(&permit, path.0.parse()?, key, body).await
}

/// Delete the grant of a group on a pipeline
///
/// Sessions and holds that only this grant permitted end in the same transaction; beyond 500 sessions, the others end
/// within seconds. With `dryRun=true`, the response lists the sessions that would end, and nothing changes. Deleting
/// again changes nothing.
#[utoipa::path(delete, path = "/organizations/{orgId}/pipelines/{pipelineId}/grants/groups/{groupId}", tag = "pipelines",
    params(OrganizationPath, GroupGrantPath, DryRun, IdempotencyKey),
    responses((status = 200, body = Data<DeletedGrant>), CommandProblems))]
pub async fn delete_group_grant(
    permit: Permit<GrantManage>,
    path: PathParams<GroupGrantPath>,
    query: Query<DryRun>,
    key: IdempotencyKey,
) -> HandlerResult {
    delete(&permit, path.0.parse()?, query.0, key).await
}

/// Delete the grant of a user on a pipeline
///
/// Sessions and holds that only this grant permitted end in the same transaction; beyond 500 sessions, the others end
/// within seconds. With `dryRun=true`, the response lists the sessions that would end, and nothing changes. Deleting
/// again changes nothing.
#[utoipa::path(delete, path = "/organizations/{orgId}/pipelines/{pipelineId}/grants/users/{userId}", tag = "pipelines",
    params(OrganizationPath, UserGrantPath, DryRun, IdempotencyKey),
    responses((status = 200, body = Data<DeletedGrant>), CommandProblems))]
pub async fn delete_user_grant(
    permit: Permit<GrantManage>,
    path: PathParams<UserGrantPath>,
    query: Query<DryRun>,
    key: IdempotencyKey,
) -> HandlerResult {
    delete(&permit, path.0.parse()?, query.0, key).await
}

async fn set(
    permit: &Permit<GrantManage>,
    (pipeline, grantee): (PipelineName, Grantee),
    key: IdempotencyKey,
    body: Body<SetGrant>,
) -> HandlerResult {
    let mut command = permit.open(key, &body.bytes).await?;
    let grant = role_grant::set(&mut command, &pipeline, grantee, body.value.role.into()).await?;
    Ok(command.finish(RecordResponse::ok(&view(grant))?).await?)
}

async fn delete(
    permit: &Permit<GrantManage>,
    (pipeline, grantee): (PipelineName, Grantee),
    dry_run: DryRun,
    key: IdempotencyKey,
) -> HandlerResult {
    let mut command = permit.open(key, &[]).await?;
    let (pipeline, ended) =
        role_grant::delete(&mut command, &pipeline, grantee, dry_run.is_dry_run()).await?;
    let grantee_id = match grantee {
        Grantee::Group(id) => id.to_string(),
        Grantee::User(id) => id.to_string(),
    };
    let deleted =
        DeletedGrant { pipeline_id: pipeline.id.to_string(), grantee_id, ended: ended_sessions(ended) };
    dry_run.finish(command, RecordResponse::ok(&deleted)?).await
}

fn view(grant: GrantRecord) -> Grant {
    let (group, user) = match grant.grantee {
        Grantee::Group(id) => (Some(GrantedGroup { id: id.to_string(), name: grant.name }), None),
        Grantee::User(id) => (None, Some(Person { id: id.to_string(), name: grant.name })),
    };
    Grant {
        pipeline_id: grant.pipeline_id.to_string(),
        group,
        user,
        role: grant.role.into(),
        created_at: grant.created_at,
        created_by: grant.created_by.to_string(),
        updated_at: grant.updated_at,
    }
}
