//! Tokens that are limited to pipelines: the pipeline of a request is found from its path, in one place for all operations.
//! Other tokens pay nothing for this.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use greenroom_domain::id::PipelineId;
use greenroom_domain::token_grant::PipelineLimit;
use greenroom_store::pipeline::PipelineName;

use crate::app::failure::Failure;
use crate::http::path::id;
use crate::http::permit::Caller;

/// The pipeline that was checked. `At` puts it in the place of the slug in the path, so that what was checked is what is
/// used, even if the slug moves to another pipeline in between.
#[derive(Clone, Copy, Debug)]
pub struct CheckedPipeline(pub PipelineId);

/// Refuses a request for another pipeline as not found, and one that belongs to no pipeline as forbidden.
pub async fn check(caller: &Caller, parts: &mut Parts) -> Result<(), Failure> {
    let limit = &caller.principal.pipelines;
    if *limit == PipelineLimit::All {
        return Ok(());
    }
    let path =
        RawPathParams::from_request_parts(parts, &caller.app).await.map_err(|_| Failure::not_found())?;
    let variable =
        |wanted: &str| path.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value.to_owned());
    let pipeline = if let Some(text) = variable("pipelineId") {
        named(caller, &text).await?
    } else if let Some(text) = variable("deploymentId") {
        let deployment = id(&text)?;
        caller.app.store.pipeline_of_deployment(caller.organization(), deployment).await?
    } else {
        return Err(Failure::token_limited());
    };
    let pipeline = pipeline.filter(|pipeline| limit.contains(*pipeline)).ok_or_else(Failure::not_found)?;
    parts.extensions.insert(CheckedPipeline(pipeline));
    Ok(())
}

async fn named(caller: &Caller, text: &str) -> Result<Option<PipelineId>, Failure> {
    let name = PipelineName::parse(text).ok_or_else(Failure::not_found)?;
    if let PipelineName::Id(id) = name {
        return Ok(Some(id));
    }
    Ok(caller.app.store.pipeline(caller.organization(), &name).await?.map(|pipeline| pipeline.id))
}
