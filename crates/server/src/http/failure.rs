//! `/organizations/{orgId}/failures`: what is remembered of failures.

use axum::Json;
use greenroom_api_types::envelope::{Data, List};
use greenroom_api_types::failure::{
    Failure as FailureView, FailureHistory, FailureNote, FailureVerdict, WriteFailureNote,
};
use greenroom_app::evidence::history;
use greenroom_app::failure::Failure;
use greenroom_domain::failure::VerdictKind;
use greenroom_domain::policy::action::{self, DeploymentRead};
use greenroom_domain::principal::Principal;
use greenroom_store::failure::FailureFilter;
use greenroom_store::pipeline::PipelineName;
use jiff::Timestamp;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::http::rules::body::Body;
use crate::http::rules::command::HandlerResult;
use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::idempotency::IdempotencyKey;
use crate::http::rules::page::{list_with, page};
use crate::http::rules::path::{FailurePath, OrganizationPath, PathParams};
use crate::http::rules::permit::{Narrowed, Permit};
use crate::http::rules::problem_responses::{BodyProblems, CommandProblems, ReadProblems};
use crate::http::rules::query::{Query, check_filter, check_timestamp, parse_names, parse_pipeline};
use crate::http::rules::record_response::RecordResponse;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct FailureQuery {
    /// The number of records to return.
    #[param(minimum = 1, maximum = 100, default = 20)]
    limit: Option<i64>,
    /// The number of records to skip. A page past the end is an empty list.
    #[param(minimum = 0, default = 0)]
    offset: Option<i64>,
    /// Include only failures of this pipeline: id or slug.
    pipeline_id: Option<String>,
    /// Include only failures with this fingerprint.
    fingerprint: Option<String>,
    /// Include only failures with this verdict, or with one of several, separated by commas.
    #[param(inline, style = Form, explode = false, value_type = Option<Vec<FailureVerdict>>)]
    verdict: Option<String>,
    /// Include only failures at this time or later. `since` is another name of this parameter.
    #[serde(alias = "since")]
    from: Option<Timestamp>,
    /// Include only failures before this time.
    to: Option<Timestamp>,
}

impl FailureQuery {
    fn filter(self, principal: &Principal) -> Result<(Option<PipelineName>, FailureFilter), Failure> {
        let pipeline = self.pipeline_id.as_deref().map(parse_pipeline).transpose()?;
        let verdicts = self.verdict.map(|text| parse_names::<VerdictKind>("verdict", &text)).transpose()?;
        let filter = FailureFilter {
            pipeline: None,
            fingerprint: self.fingerprint.map(|text| check_filter("fingerprint", text)).transpose()?,
            verdicts: verdicts.map(|known| known.iter().map(ToString::to_string).collect()),
            from: check_timestamp("from", self.from)?,
            to: check_timestamp("to", self.to)?,
            within: principal.pipelines.clone(),
        };
        Ok((pipeline, filter))
    }
}

/// List failed attempts of stages, newest first
///
/// Each has its decisive line and its fingerprint, which equal failures share. A token that is limited to pipelines sees only
/// theirs. Failures are kept as long as events, 400 days unless the server is configured otherwise. `total` is exact up to
/// 10,000.
#[utoipa::path(get, path = "/organizations/{orgId}/failures", tag = "failures",
    params(OrganizationPath, FailureQuery),
    responses((status = 200, body = List<FailureView>), ReadProblems))]
pub async fn list_failures(
    permit: Permit<DeploymentRead, Narrowed>,
    query: Query<FailureQuery>,
) -> Result<Json<List<FailureView>>, EarlyResponse> {
    let page = page(query.0.limit, query.0.offset)?;
    let (pipeline, filter) = query.0.filter(&permit.principal)?;
    let found = history::list(&permit.app, &permit.principal, pipeline, filter, page).await?;
    Ok(Json(list_with(page, found, history::failure_view)))
}

/// View all failures with one fingerprint
///
/// How often it was seen, since when, what ended the last one, the note about it, and the newest 20.
#[utoipa::path(get, path = "/organizations/{orgId}/failures/{fingerprint}", tag = "failures",
    params(OrganizationPath, FailurePath),
    responses((status = 200, body = Data<FailureHistory>), ReadProblems))]
pub async fn get_failure(
    permit: Permit<DeploymentRead>,
    path: PathParams<FailurePath>,
) -> Result<Json<Data<FailureHistory>>, EarlyResponse> {
    let data = history::history(&permit.app, &permit.principal, &path.0.fingerprint).await?;
    Ok(Json(Data { data }))
}

/// Write a note about failures with one fingerprint
///
/// It is shown with every failure that has this fingerprint: what it was, or what to do. It replaces the note before; an empty
/// text deletes it. The same text again changes nothing but the time.
#[utoipa::path(put, path = "/organizations/{orgId}/failures/{fingerprint}/note", tag = "failures",
    params(OrganizationPath, FailurePath, IdempotencyKey),
    request_body = WriteFailureNote,
    responses((status = 200, description = "The note; null if it was deleted", body = Data<Option<FailureNote>>),
        CommandProblems, BodyProblems))]
pub async fn write_failure_note(
    permit: Permit<action::FailureNote>,
    path: PathParams<FailurePath>,
    key: IdempotencyKey,
    body: Body<WriteFailureNote>,
) -> HandlerResult {
    let mut command = permit.open(key, &body.bytes).await?;
    let note = history::write_note(&mut command, &path.0.fingerprint, &body.value).await?;
    Ok(command.finish(RecordResponse::ok(&note)?).await?)
}
