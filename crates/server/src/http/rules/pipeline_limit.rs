//! Checks tokens that are limited to pipelines. The pipeline of a request is derived from its path, here for
//! all operations. For other tokens this costs no query.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use greenroom_domain::id::{OrganizationId, PipelineId};
use greenroom_domain::principal::Principal;
use greenroom_domain::token_grant::PipelineLimit;
use greenroom_store::pipeline::PipelineName;

use crate::app::App;
use crate::app::failure::Failure;
use crate::http::rules::path::{CheckedPipeline, parse_id};

/// Rejects a request for another pipeline as not found, and one that belongs to no pipeline as forbidden.
pub async fn check(app: &App, principal: &Principal, parts: &mut Parts) -> Result<(), Failure> {
    let (organization, limit) = (principal.organization_id, &principal.pipelines);
    if *limit == PipelineLimit::All {
        return Ok(());
    }
    let path = RawPathParams::from_request_parts(parts, app).await.map_err(|_| Failure::not_found())?;
    let variable =
        |wanted: &str| path.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value.to_owned());
    let pipeline = if let Some(text) = variable("pipelineId") {
        find_by_name(app, organization, &text).await?
    } else if let Some(text) = variable("deploymentId") {
        let deployment = parse_id(&text)?;
        app.store.pipeline_of_deployment(organization, deployment).await?
    } else if let Some(text) = variable("secretId") {
        let secret =
            app.store.secret(organization, parse_id(&text)?).await?.ok_or_else(Failure::not_found)?;
        Some(secret.scope.pipeline().ok_or_else(Failure::token_limited)?)
    } else {
        return Err(Failure::token_limited());
    };
    let pipeline = pipeline.filter(|pipeline| limit.contains(*pipeline)).ok_or_else(Failure::not_found)?;
    parts.extensions.insert(CheckedPipeline(pipeline));
    Ok(())
}

async fn find_by_name(
    app: &App,
    organization: OrganizationId,
    text: &str,
) -> Result<Option<PipelineId>, Failure> {
    let name = PipelineName::parse(text).ok_or_else(Failure::not_found)?;
    if let PipelineName::Id(id) = name {
        return Ok(Some(id));
    }
    Ok(app.store.pipeline(organization, &name).await?.map(|pipeline| pipeline.id))
}
