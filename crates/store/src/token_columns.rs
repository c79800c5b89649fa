//! The columns of a token that limit it: its scopes and its pipelines.

use greenroom_domain::id::PipelineId;
use greenroom_domain::scope::Scopes;
use greenroom_domain::token_grant::PipelineLimit;

use crate::StoreError;
use crate::error::parse_column;

/// Parses the column `scopes`.
pub(crate) fn scopes(names: &[String]) -> Result<Scopes, StoreError> {
    names.iter().map(|scope| parse_column("api_tokens.scopes", scope)).collect()
}

/// Returns the value of the column `scopes`.
pub(crate) fn scope_names(scopes: Scopes) -> Vec<String> {
    scopes.iter().map(|scope| scope.as_str().to_owned()).collect()
}

/// Parses the column `pipelines`.
pub(crate) fn pipeline_limit(ids: Option<Vec<uuid::Uuid>>) -> PipelineLimit {
    PipelineLimit::new(ids.map(|ids| ids.into_iter().map(PipelineId::from).collect()))
}

/// Returns the value of the column `pipelines`, which is also the form for filters in queries.
pub(crate) fn limit_ids(limit: &PipelineLimit) -> Option<Vec<uuid::Uuid>> {
    limit.ids().map(|ids| ids.iter().map(|id| id.uuid()).collect())
}
