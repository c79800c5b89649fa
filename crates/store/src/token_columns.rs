//! The columns of a token that limit it: its scopes, its pipelines and its number of sessions; and those that
//! copy the token of a service account into its sessions.

use greenroom_domain::id::{PipelineId, TokenId};
use greenroom_domain::owner::ServiceToken;
use greenroom_domain::scope::Scopes;
use greenroom_domain::token_grant::PipelineLimit;

use crate::StoreError;
use crate::error::{from_column, parse_column};

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

/// Parses the column `max_sessions`.
pub(crate) fn max_sessions(number: Option<i32>) -> Result<Option<u16>, StoreError> {
    number.map(|number| from_column("api_tokens.max_sessions", number)).transpose()
}

/// Parses the columns of a session, or of the holder of a lock, that are set for service accounts only.
pub(crate) fn service_token(id: Option<uuid::Uuid>, name: Option<String>) -> Option<ServiceToken> {
    id.map(|id| ServiceToken { id: id.into(), name: name.unwrap_or_default() })
}

/// Parses the column `lineage`.
pub(crate) fn lineage(ids: Option<Vec<uuid::Uuid>>) -> Vec<TokenId> {
    ids.unwrap_or_default().into_iter().map(TokenId::from).collect()
}

/// Returns the value of the column `lineage`, which is also the form for filters in queries.
pub(crate) fn lineage_ids(lineage: &[TokenId]) -> Vec<uuid::Uuid> {
    lineage.iter().map(|id| id.uuid()).collect()
}
