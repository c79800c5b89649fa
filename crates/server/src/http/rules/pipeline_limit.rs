//! The pipeline that a request belongs to, derived from its path, here for all operations. Tokens that are limited
//! to pipelines are checked against it, and grants on it may raise the role of the caller. For other
//! callers this costs no query.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use greenroom_app::App;
use greenroom_app::failure::Failure;
use greenroom_domain::id::{OrganizationId, PipelineId};
use greenroom_domain::principal::Principal;
use greenroom_domain::token_grant::PipelineLimit;
use greenroom_store::pipeline::PipelineName;

use crate::http::rules::path::CheckedPipeline;

/// What the path of a request names.
enum PathOwner {
    Pipeline(PipelineId),
    /// A record that belongs to the organization, or nothing that belongs to a pipeline.
    Organization,
    /// A record that does not exist.
    Missing,
}

/// Rejects a request for another pipeline as not found, and one that belongs to no pipeline as forbidden.
pub async fn check(app: &App, principal: &Principal, parts: &mut Parts) -> Result<(), Failure> {
    let (organization, limit) = (principal.organization_id, &principal.pipelines);
    if *limit == PipelineLimit::All {
        return Ok(());
    }
    let pipeline = match find_owner(app, organization, parts).await? {
        PathOwner::Pipeline(pipeline) if limit.contains(pipeline) => pipeline,
        PathOwner::Pipeline(_) | PathOwner::Missing => return Err(Failure::not_found()),
        PathOwner::Organization => return Err(Failure::token_limited()),
    };
    parts.extensions.insert(CheckedPipeline(pipeline));
    Ok(())
}

/// Returns the pipeline of the path, if it has one. From then on the handler uses this pipeline, even if the slug
/// in the path moves to another one.
pub async fn pipeline_of_path(
    app: &App,
    organization: OrganizationId,
    parts: &mut Parts,
) -> Result<Option<PipelineId>, Failure> {
    let PathOwner::Pipeline(pipeline) = find_owner(app, organization, parts).await? else { return Ok(None) };
    parts.extensions.insert(CheckedPipeline(pipeline));
    Ok(Some(pipeline))
}

async fn find_owner(
    app: &App,
    organization: OrganizationId,
    parts: &mut Parts,
) -> Result<PathOwner, Failure> {
    let path = RawPathParams::from_request_parts(parts, app).await.map_err(|_| Failure::not_found())?;
    let variable =
        |wanted: &str| path.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value.to_owned());
    let pipeline = if let Some(text) = variable("pipelineId") {
        find_by_name(app, organization, &text).await?
    } else if let Some(text) = variable("deploymentId") {
        match text.parse() {
            Ok(deployment) => app.store.pipeline_of_deployment(organization, deployment).await?,
            Err(_) => None,
        }
    } else if let Some(text) = variable("secretId") {
        let Ok(secret) = text.parse() else { return Ok(PathOwner::Missing) };
        match app.store.secret(organization, secret).await? {
            Some(secret) => match secret.scope.pipeline() {
                Some(pipeline) => Some(pipeline),
                None => return Ok(PathOwner::Organization),
            },
            None => None,
        }
    } else if let Some(text) = variable("analysisId") {
        match text.parse() {
            Ok(analysis) => app.store.pipeline_of_analysis(organization, analysis).await?,
            Err(_) => None,
        }
    } else if let Some(text) = variable("fixId") {
        match text.parse() {
            Ok(fix) => app.store.pipeline_of_fix(organization, fix).await?,
            Err(_) => None,
        }
    } else if let Some(text) = variable("approvalId") {
        match text.parse() {
            Ok(approval) => app.store.pipeline_of_approval(organization, approval).await?,
            Err(_) => None,
        }
    } else {
        return Ok(PathOwner::Organization);
    };
    Ok(pipeline.map_or(PathOwner::Missing, PathOwner::Pipeline))
}

async fn find_by_name(
    app: &App,
    organization: OrganizationId,
    text: &str,
) -> Result<Option<PipelineId>, Failure> {
    let Some(name) = PipelineName::parse(text) else { return Ok(None) };
    if let PipelineName::Id(id) = name {
        return Ok(Some(id));
    }
    Ok(app.store.pipeline(organization, &name).await?.map(|pipeline| pipeline.id))
}
