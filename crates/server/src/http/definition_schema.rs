//! The JSON Schema of pipeline definitions, so that editors complete and check them. Public: it contains no
//! organization's data.

use axum::Json;
use greenroom_domain::definition;
use serde_json::Value;

use crate::http::rules::problem_responses::PublicProblems;

/// Read the JSON Schema of pipeline definitions
///
/// The document is public and changes only with the version of the server. A definition that matches the
/// schema can still be invalid, because some rules can't be expressed in it; `validate` checks all of them.
#[utoipa::path(get, path = "/schemas/pipeline-definition.json", tag = "documents", security(()),
    responses((status = 200, body = Value), PublicProblems))]
pub async fn get_definition_schema() -> Json<Value> {
    Json(definition::json_schema())
}
