//! The evidence of failed stages, and what is remembered of failures. A worker collects it
//! (`greenroom_worker::evidence`); here it is read.

pub mod bundle;
pub mod history;
mod running;
mod view;

use greenroom_api_types::evidence::{AvailableModel, DeploymentEvidence, EvidenceAction};
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::failure::EvidenceStatus;
use greenroom_domain::id::{DeploymentId, StepRunId};
use greenroom_domain::principal::Principal;
use greenroom_store::failure::FailureRecord;
use view::FailureContext;

use crate::App;
use crate::evidence::bundle::DeployedBy;
use crate::failure::{Code, Failure};
use crate::next_action::API_ROOT;
use crate::web_url::WebUrls;

/// The number of lines of a response, unless the request names another.
pub const DEFAULT_LINES: u64 = 40;
pub const MAX_LINES: u64 = 200;

/// Which evidence is read.
#[derive(Clone, Copy, Debug)]
pub struct EvidenceRequest {
    pub deployment: DeploymentId,
    /// Only that of one step, of any attempt.
    pub step: Option<StepRunId>,
    /// How many lines of each failure.
    pub lines: u64,
}

/// Returns the evidence of a deployment's failures.
#[boxed_futures]
pub async fn read(
    app: &App,
    principal: &Principal,
    request: EvidenceRequest,
) -> Result<DeploymentEvidence, Failure> {
    let EvidenceRequest { deployment, step, lines } = request;
    let organization = principal.organization_id;
    let found =
        app.store.deployment_record(organization, deployment).await?.ok_or_else(Failure::not_found)?;
    let failures = app.store.failures_of_deployment(organization, deployment, step).await?;
    let running = match step {
        Some(step) if failures.is_empty() => {
            let running = app.store.running_step(organization, deployment, step).await?;
            let running = running.ok_or_else(Failure::not_found)?;
            Some(running::read(app, principal, running, lines).await?)
        }
        _ => None,
    };
    if found.expired_at.is_some() && failures.iter().any(|failure| failure.collected.is_some()) {
        let collected = failures.into_iter().filter_map(|failure| failure.collected);
        return Err(expired(collected.map(|collected| collected.fingerprint).collect()));
    }
    let model = match failures.is_empty() {
        true => None,
        false => available_model(app, principal).await?,
    };
    let is_collecting = failures.iter().any(|failure| failure.collected.is_none());
    let actions = actions(principal, deployment, &failures);
    let mut views = Vec::with_capacity(failures.len());
    for failure in failures {
        let context = FailureContext::read(app, principal, &failure).await?;
        views.push(view::failure_view(failure, context, lines));
    }
    let status = if is_collecting { EvidenceStatus::Collecting } else { EvidenceStatus::Ready };
    Ok(DeploymentEvidence {
        deployment_id: deployment.to_string(),
        status: status.into(),
        failures: views,
        running,
        model,
        actions,
    })
}

/// Returns the evidence as one text, for a coding agent.
#[boxed_futures]
pub async fn render(
    app: &App,
    principal: &Principal,
    deployment: DeploymentId,
    evidence: &DeploymentEvidence,
    urls: WebUrls<'_>,
) -> Result<String, Failure> {
    let found = app.store.deployment_record(principal.organization_id, deployment).await?;
    let found = found.ok_or_else(Failure::not_found)?;
    let session = found.environment.zip(found.session_id);
    let deployed_by = DeployedBy {
        pipeline: found.pipeline_slug,
        session: session.map(|((_, environment), session)| (environment, session.to_string())),
    };
    Ok(bundle::render(evidence, &deployed_by, principal, urls))
}

async fn available_model(app: &App, principal: &Principal) -> Result<Option<AvailableModel>, Failure> {
    let settings = app.store.model_settings(principal.organization_id).await?.settings;
    let host = settings.endpoint().map(|address| address.host().to_owned());
    Ok(settings.model.zip(host).map(|(name, host)| AvailableModel { name, host }))
}

fn actions(
    principal: &Principal,
    deployment: DeploymentId,
    failures: &[FailureRecord],
) -> Vec<EvidenceAction> {
    let base = format!("{API_ROOT}/organizations/{}/deployments/{deployment}", principal.organization_slug);
    let request = |action: &str, method: &str, path: String| EvidenceAction {
        action: action.to_owned(),
        method: method.to_owned(),
        href: format!("{base}/{path}"),
    };
    let mut requests = Vec::new();
    for failure in failures {
        requests.push(request("retry_stage", "POST", format!("stages/{}/retry", failure.stage_key)));
        if let Some(step) = failure.step_run_id {
            requests.push(request("read_log", "GET", format!("steps/{step}/logs?tail=200")));
        }
    }
    if !failures.is_empty() {
        requests.push(request("analyze", "POST", "analyses".to_owned()));
    }
    requests
}

/// The evidence of failures with these fingerprints was deleted.
pub fn expired(fingerprints: Vec<String>) -> Failure {
    let detail = "The logs of this deployment were deleted at the end of their retention, and the evidence with them. The decisive \
                  lines are still listed under `/failures`.";
    Failure::new(Code::EvidenceExpired, detail).with("fingerprints", fingerprints.into())
}
