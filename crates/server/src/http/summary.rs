//! `/organizations/{orgId}/summary`

use axum::response::{IntoResponse, Response};
use greenroom_api_types::envelope::Data;
use greenroom_api_types::pipeline::EnvironmentCounts;
use greenroom_api_types::summary::{DeploymentCounts, PipelineCounts, Summary, YourCounts};
use greenroom_domain::policy::action::EnvironmentRead;
use greenroom_store::summary::{Summary as Record, SummaryFilter};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::path::OrganizationPath;
use crate::http::rules::permit::{Narrowed, Permit};
use crate::http::rules::problem_responses::ReadProblems;
use crate::http::rules::query::{Query, parse_pipeline};
use crate::http::rules::record_response::RecordResponse;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct SummaryQuery {
    /// Count only what belongs to this pipeline: id or slug.
    pipeline_id: Option<String>,
}

/// Count environments, sessions and deployments
///
/// The counts are those at the time of the request, each read on its own, so that they can differ by what
/// changes in between. Archived pipelines and what belongs to them are not counted. A token that is limited
/// to pipelines sees only the counts of those. The `ETag` is a hash of the response, for `If-None-Match`.
#[utoipa::path(get, path = "/organizations/{orgId}/summary", tag = "environments",
    params(OrganizationPath, SummaryQuery),
    responses((status = 200, body = Data<Summary>), ReadProblems))]
pub async fn get_summary(
    permit: Permit<EnvironmentRead, Narrowed>,
    query: Query<SummaryQuery>,
) -> Result<Response, EarlyResponse> {
    let filter = SummaryFilter {
        user: permit.principal.user_id,
        lineage: permit.principal.lineage.clone(),
        pipeline: query.0.pipeline_id.as_deref().map(parse_pipeline).transpose()?,
        within: permit.principal.pipelines.clone(),
    };
    let found = permit.app.store.summary(permit.organization(), &filter).await?;
    Ok(RecordResponse::ok(&wire(found))?.with_content_etag().into_response())
}

fn wire(found: Record) -> Summary {
    let live = found.deployments;
    Summary {
        pipelines: PipelineCounts { total: found.pipelines, stopped: found.stopped_pipelines },
        environments: EnvironmentCounts { total: found.environments, free: found.free_environments },
        queued_sessions: found.waiting_sessions,
        yours: YourCounts {
            held: found.held_by_user,
            queued: found.waiting_of_user,
            turns: found.unconfirmed_of_user,
            handovers: found.requested_of_user,
        },
        deployments: DeploymentCounts {
            queued: live.queued,
            running: live.running,
            waiting: live.waiting,
            paused: live.paused,
            canceling: live.canceling,
        },
    }
}
