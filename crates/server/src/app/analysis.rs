//! Analyses of failures: requesting and reading them, and feedback about them. Without a model, an analysis is a record of
//! what the evidence shows.

use greenroom_api_types::analysis::{
    Analysis, AnalysisFeedback, AnalysisWaitingOn, CreateAnalysis, GiveAnalysisFeedback,
};
use greenroom_api_types::evidence::DecisiveLine;
use greenroom_api_types::person::Person;
use greenroom_domain::analysis::{AnalysisStatus, MAX_PER_FAILURE, check_comment, required_right};
use greenroom_domain::id::{AnalysisId, DeploymentId};
use greenroom_domain::principal::Principal;
use greenroom_domain::text::Name;
use greenroom_store::Command;
use greenroom_store::analysis::{AnalysisRecord, FeedbackRecord};
use greenroom_store::page::{Page, PageResult};
use uuid::Uuid;

use crate::app::App;
use crate::app::evidence::expired;
use crate::app::failure::{Code, Failure};
use crate::app::pipeline_role;

/// Requests an analysis of the last failure of a stage. Each request creates one, up to a limit: that of an unchanged failure
/// costs two rows, and shows who has requested it and when.
pub async fn create(
    command: &mut Command,
    deployment: DeploymentId,
    request: &CreateAnalysis,
) -> Result<Analysis, Failure> {
    let stage = request.stage.as_deref();
    stage.map(Name::new).transpose().map_err(|error| Failure::field("/stage", error))?;
    require(command, deployment).await?;
    let failure = match command.lock_failure_to_analyze(deployment, stage).await? {
        Some(failure) => failure,
        None => return Err(nothing_failed(command, deployment, stage).await?),
    };
    if failure.is_expired && failure.is_collected {
        return Err(expired(failure.fingerprint.into_iter().collect()));
    }
    if failure.analyses >= MAX_PER_FAILURE {
        let detail = format!(
            "This failure has {MAX_PER_FAILURE} analyses, and no more can be requested. Read one of them, or retry the stage."
        );
        return Err(Failure::new(Code::AnalysisLimit, detail).with("limit", MAX_PER_FAILURE.into()));
    }
    let id = AnalysisId::from(Uuid::now_v7());
    command.create_analysis(id, &failure).await?;
    let created = command.analysis(id).await?;
    created.map(analysis_view).ok_or_else(Failure::not_found)
}

/// Stores the caller's feedback about an analysis that has ended.
pub async fn give_feedback(
    command: &mut Command,
    id: AnalysisId,
    request: &GiveAnalysisFeedback,
) -> Result<Analysis, Failure> {
    let comment = check_comment(request.comment.as_deref().unwrap_or_default());
    let comment = comment.map_err(|error| Failure::field("/comment", error))?;
    let analysis = command.analysis(id).await?.ok_or_else(Failure::not_found)?;
    require(command, analysis.deployment_id).await?;
    if !analysis.status.is_final() {
        let detail = format!("The analysis is {}. Wait until it has ended.", analysis.status);
        return Err(Failure::new(Code::InvalidState, detail));
    }
    command.give_feedback(&analysis, request.helpful, comment).await?;
    let updated = command.analysis(id).await?;
    updated.map(analysis_view).ok_or_else(Failure::not_found)
}

pub async fn read(app: &App, principal: &Principal, id: AnalysisId) -> Result<Analysis, Failure> {
    let found = app.store.analysis(principal.organization_id, id).await?;
    found.map(analysis_view).ok_or_else(Failure::not_found)
}

pub async fn list(
    app: &App,
    principal: &Principal,
    deployment: DeploymentId,
    page: Page,
) -> Result<PageResult<AnalysisRecord>, Failure> {
    let organization = principal.organization_id;
    app.store.pipeline_of_deployment(organization, deployment).await?.ok_or_else(Failure::not_found)?;
    Ok(app.store.analyses_of_deployment(organization, deployment, page).await?)
}

/// Requires the right to request analyses of a deployment. It depends on whose session the deployment was made in.
pub async fn require(command: &mut Command, deployment: DeploymentId) -> Result<(), Failure> {
    let found = command.owner_of_deployment(deployment).await?;
    let (pipeline, owner) = found.ok_or_else(Failure::not_found)?;
    let is_own = owner.is_some_and(|owner| command.principal().owns(owner));
    pipeline_role::require(command, pipeline, required_right(is_own)).await
}

async fn nothing_failed(
    command: &mut Command,
    deployment: DeploymentId,
    stage: Option<&str>,
) -> Result<Failure, Failure> {
    let detail = match stage {
        None => "No stage of this deployment has failed, so there is nothing to analyze.".to_owned(),
        Some(stage) if command.has_stage(deployment, stage).await? => {
            format!("The stage `{stage}` has not failed, so there is nothing to analyze.")
        }
        Some(_) => return Ok(Failure::not_found()),
    };
    Ok(Failure::new(Code::NotFailed, detail))
}

pub fn analysis_view(record: AnalysisRecord) -> Analysis {
    let is_waiting = matches!(record.status, AnalysisStatus::Queued | AnalysisStatus::Collecting);
    let findings = record.findings;
    Analysis {
        id: record.id.to_string(),
        pipeline_id: record.pipeline_id.to_string(),
        deployment_id: record.deployment_id.to_string(),
        failure_id: record.failure_id.to_string(),
        stage: record.stage_key,
        attempt: record.attempt,
        step: record.step,
        step_run_id: record.step_run_id.map(|step| step.to_string()),
        status: record.status.into(),
        reason: record.reason.map(Into::into),
        waiting_on: is_waiting.then_some(AnalysisWaitingOn::Evidence).into_iter().collect(),
        deadline_at: (!record.status.is_final()).then_some(record.deadline_at),
        category: findings.as_ref().map(|findings| findings.category.into()),
        verdict: findings.as_ref().map(|findings| findings.verdict.into()),
        fingerprint: findings.as_ref().map(|findings| findings.fingerprint.clone()),
        decisive_line: findings
            .map(|findings| DecisiveLine { line: findings.decisive_line, text: findings.decisive }),
        model: None,
        cause: None,
        next: Vec::new(),
        created_by: Person { id: record.created_by.to_string(), name: record.created_by_name },
        created_at: record.created_at,
        ended_at: record.ended_at,
        feedback: record.feedback.into_iter().map(feedback_view).collect(),
    }
}

fn feedback_view(record: FeedbackRecord) -> AnalysisFeedback {
    AnalysisFeedback {
        by: Person { id: record.user_id.to_string(), name: record.user_name },
        helpful: record.helpful,
        comment: record.comment,
        at: record.given_at,
    }
}
