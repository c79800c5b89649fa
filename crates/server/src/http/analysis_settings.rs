//! `/organizations/{orgId}/analysis-settings`

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use greenroom_api_types::analysis_settings::{AnalysisSettings, UpdateAnalysisSettings};
use greenroom_api_types::envelope::Data;
use greenroom_app::analysis_settings::{self, view};
use greenroom_app::failure::Failure;
use greenroom_app::secret::sealing::OrganizationKeys;
use greenroom_domain::model::budget::BudgetState;
use greenroom_domain::policy::action::AnalysisConfigure;
use greenroom_store::model::ModelSettingsRecord;

use crate::http::rules::body::Body;
use crate::http::rules::command::HandlerResult;
use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::idempotency::IdempotencyKey;
use crate::http::rules::path::OrganizationPath;
use crate::http::rules::permit::Permit;
use crate::http::rules::precondition::Precondition;
use crate::http::rules::problem_responses::{BodyProblems, CommandProblems, ConditionProblems, ReadProblems};
use crate::http::rules::record_response::RecordResponse;

/// View the settings of failure analysis
///
/// The model that explains failures, its limits, and what was used of them. An organization has no model until an admin sets
/// one. No response contains the credential. The `ETag` is the revision, which counts the changes by admins, followed by a part
/// that changes with calls of the model, which `If-Match` ignores.
#[utoipa::path(get, path = "/organizations/{orgId}/analysis-settings", tag = "analysis-settings",
    params(OrganizationPath),
    responses((status = 200, body = Data<AnalysisSettings>), ReadProblems))]
pub async fn get_analysis_settings(permit: Permit<AnalysisConfigure>) -> Result<Response, EarlyResponse> {
    let store = &permit.app.store;
    let settings = store.model_settings(permit.organization()).await?;
    let usage = store.model_usage(permit.organization()).await?;
    Ok(respond(settings, &usage)?.into_response())
}

/// Change the settings of failure analysis
///
/// Evidence of failures, with lines of logs, is sent to `address` once a model is enabled. Another `address` needs the credential
/// again (`422` at `/credential`): it is never sent to another address than the one it was set for. A credential needs a
/// master key in the server (`503 secrets_unavailable`). Nothing is sent to the model now. Fields that are left out stay
/// unchanged, and a request that changes nothing records no event; a `credential` is always a change.
#[utoipa::path(patch, path = "/organizations/{orgId}/analysis-settings", tag = "analysis-settings",
    params(OrganizationPath, IdempotencyKey, Precondition),
    request_body = UpdateAnalysisSettings,
    responses((status = 200, body = Data<AnalysisSettings>), CommandProblems, BodyProblems, ConditionProblems))]
pub async fn update_analysis_settings(
    permit: Permit<AnalysisConfigure>,
    key: IdempotencyKey,
    condition: Precondition,
    body: Body<UpdateAnalysisSettings>,
) -> HandlerResult {
    let usage = permit.app.store.model_usage(permit.organization()).await?;
    let (keys, mut command) = if matches!(body.value.credential, Some(Some(_))) {
        let keys = OrganizationKeys::open(&permit.app, permit.organization()).await?;
        // The stored hash of the body is keyed, so that the credential can't be guessed from it.
        let command = permit.open_with_fingerprint(key, keys.fingerprint(&body.bytes)).await?;
        (Some(keys), command)
    } else {
        (None, permit.open(key, &body.bytes).await?)
    };
    let updated = analysis_settings::update(&mut command, keys.as_ref(), &condition, body.value).await?;
    Ok(command.finish(respond(updated, &usage)?).await?)
}

fn respond(settings: ModelSettingsRecord, usage: &BudgetState) -> Result<RecordResponse, Failure> {
    let (revision, suffix) = (settings.revision, analysis_settings::etag_suffix(usage));
    let response = RecordResponse::new(StatusCode::OK, &view(settings, usage))?;
    Ok(response.with_revision_and_suffix(revision, &suffix))
}
