//! Checks tokens that are limited to pipelines. The pipeline of a request is derived from its path, here for
//! all operations. For other tokens this costs no query.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use greenroom_domain::id::PipelineId;
use greenroom_domain::token_grant::PipelineLimit;
use greenroom_store::pipeline::PipelineName;

use crate::app::failure::Failure;
use crate::http::path::parse_id;
use crate::http::permit::AuthenticatedRequest;

/// The pipeline that was checked. `PathParams` replaces the slug in the path with its id, so that the handler
/// uses the pipeline that was checked, even if the slug moves to another pipeline in between.
#[derive(Clone, Copy, Debug)]
pub struct CheckedPipeline(pub PipelineId);

/// Rejects a request for another pipeline as not found, and one that belongs to no pipeline as forbidden.
pub async fn check(request: &AuthenticatedRequest, parts: &mut Parts) -> Result<(), Failure> {
    let limit = &request.principal.pipelines;
    if *limit == PipelineLimit::All {
        return Ok(());
    }
    let path =
        RawPathParams::from_request_parts(parts, &request.app).await.map_err(|_| Failure::not_found())?;
    let variable =
        |wanted: &str| path.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value.to_owned());
    let pipeline = if let Some(text) = variable("pipelineId") {
        find_by_name(request, &text).await?
    } else if let Some(text) = variable("deploymentId") {
        let deployment = parse_id(&text)?;
        request.app.store.pipeline_of_deployment(request.organization(), deployment).await?
    } else {
        return Err(Failure::token_limited());
    };
    let pipeline = pipeline.filter(|pipeline| limit.contains(*pipeline)).ok_or_else(Failure::not_found)?;
    parts.extensions.insert(CheckedPipeline(pipeline));
    Ok(())
}

async fn find_by_name(request: &AuthenticatedRequest, text: &str) -> Result<Option<PipelineId>, Failure> {
    let name = PipelineName::parse(text).ok_or_else(Failure::not_found)?;
    if let PipelineName::Id(id) = name {
        return Ok(Some(id));
    }
    Ok(request.app.store.pipeline(request.organization(), &name).await?.map(|pipeline| pipeline.id))
}
