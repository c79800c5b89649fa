//! Analyses of failures: requesting and reading them, and feedback about them. Without a model, an analysis is a record of
//! what the evidence shows. A worker calls the model (`greenroom_worker::model`).

use greenroom_api_types::analysis::{
    Analysis, AnalysisFeedback, AnalysisModel, AnalysisPrompt, AnalysisWaitingOn, CreateAnalysis,
    GiveAnalysisFeedback,
};
use greenroom_api_types::evidence::DecisiveLine;
use greenroom_api_types::person::Person;
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::analysis::{AnalysisStatus, MAX_PER_FAILURE, check_comment, required_right};
use greenroom_domain::failure::Category;
use greenroom_domain::id::{AnalysisId, DeploymentId};
use greenroom_domain::model::Explanation;
use greenroom_domain::model::budget::{Amount, Exhausted, reserve};
use greenroom_domain::principal::Principal;
use greenroom_domain::text::Name;
use greenroom_store::Command;
use greenroom_store::analysis::{AnalysisRecord, FeedbackRecord, ModelName};
use greenroom_store::page::{Page, PageResult};
use uuid::Uuid;

use crate::App;
use crate::evidence::expired;
use crate::failure::{Code, Failure};
use crate::pipeline_role;

/// Requests an analysis of the last failure of a stage. Each request creates one, up to a limit: that of an unchanged failure
/// costs two rows, and shows who has requested it and when.
#[boxed_futures]
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
    if request.model == Some(true) {
        require_model(command).await?;
    }
    let id = AnalysisId::from(Uuid::now_v7());
    command.create_analysis(id, &failure, request.model).await?;
    let created = command.analysis(id).await?;
    created.map(analysis_view).ok_or_else(Failure::not_found)
}

/// Requires a model that can be called now. The worker decides again when it reserves the call.
async fn require_model(command: &mut Command) -> Result<(), Failure> {
    let settings = command.model_settings_for_share().await?.settings;
    if settings.endpoint().is_none() {
        let detail = "This organization has no model, or its model is not enabled. An admin sets it by \
                      `PATCH /analysis-settings`; leave out `model` to get everything that needs none.";
        return Err(Failure::new(Code::AnalysisDisabled, detail));
    }
    let (used, now) = command.model_usage_now().await?;
    let least = Amount { requests: 1, tokens: 1, cost: 0 };
    match reserve(used, &settings.limits, least, now) {
        Ok(_) => Ok(()),
        Err(exhausted) => Err(budget_exhausted(&exhausted)),
    }
}

fn budget_exhausted(exhausted: &Exhausted) -> Failure {
    let detail = format!(
        "The organization's limit of {} for its model is used up. Wait until `resetsAt`, ask an admin for a higher limit, or leave out \
         `model` to get everything that needs none.",
        exhausted.which
    );
    let resets_at = exhausted.resets_at.map(|at| at.to_string());
    Failure::new(Code::BudgetExhausted, detail)
        .with("budget", exhausted.which.as_str().into())
        .with("resetsAt", resets_at.into())
}

/// Returns what was sent to a model for an analysis, by the last call.
#[boxed_futures]
pub async fn prompt(app: &App, principal: &Principal, id: AnalysisId) -> Result<AnalysisPrompt, Failure> {
    let organization = principal.organization_id;
    let call = app.store.model_calls_of(organization, id).await?.pop().ok_or_else(Failure::not_found)?;
    let Some(text) = call.prompt else { return Err(expired(Vec::new())) };
    let settled = call.settled.as_ref();
    Ok(AnalysisPrompt {
        analysis_id: id.to_string(),
        model: call.model,
        host: call.host,
        text,
        hash: call.prompt_hash,
        sent_at: call.reserved_at,
        input_tokens: settled.map(|settled| settled.input_tokens),
        output_tokens: settled.map(|settled| settled.output_tokens),
        cost_micros: settled.map(|settled| settled.cost),
        error: call.settled.and_then(|settled| settled.error),
    })
}

/// Stores the caller's feedback about an analysis that has ended.
#[boxed_futures]
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

#[boxed_futures]
pub async fn read(app: &App, principal: &Principal, id: AnalysisId) -> Result<Analysis, Failure> {
    let found = app.store.analysis(principal.organization_id, id).await?;
    found.map(analysis_view).ok_or_else(Failure::not_found)
}

#[boxed_futures]
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
#[boxed_futures]
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
    let waiting_on = match record.status {
        AnalysisStatus::Queued | AnalysisStatus::Collecting => Some(AnalysisWaitingOn::Evidence),
        AnalysisStatus::Analyzing => Some(AnalysisWaitingOn::Model),
        AnalysisStatus::Succeeded | AnalysisStatus::Failed | AnalysisStatus::Refused => None,
    };
    let findings = record.findings;
    let (explanation, reused_from) = (record.explanation.as_ref(), record.reused_from);
    let model = record.model.map(|model| model_view(model, explanation, reused_from));
    let (cause, next) =
        record.explanation.map(|explanation| (explanation.cause, explanation.next)).unwrap_or_default();
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
        detail: record.detail,
        waiting_on: waiting_on.into_iter().collect(),
        deadline_at: (!record.status.is_final()).then_some(record.deadline_at),
        category: findings.as_ref().map(|findings| findings.category.into()),
        verdict: findings.as_ref().map(|findings| findings.verdict.into()),
        fingerprint: findings.as_ref().map(|findings| findings.fingerprint.clone()),
        decisive_line: findings
            .map(|findings| DecisiveLine { line: findings.decisive_line, text: findings.decisive }),
        model,
        cause,
        next,
        created_by: Person { id: record.created_by.to_string(), name: record.created_by_name },
        created_at: record.created_at,
        ended_at: record.ended_at,
        feedback: record.feedback.into_iter().map(feedback_view).collect(),
    }
}

fn model_view(
    model: ModelName,
    explanation: Option<&Explanation>,
    reused_from: Option<AnalysisId>,
) -> AnalysisModel {
    let category = explanation.and_then(|explanation| explanation.category.as_deref());
    AnalysisModel {
        name: model.name,
        host: model.host,
        category: category.and_then(|name| name.parse::<Category>().ok()).map(Into::into),
        evidence: explanation.map(|explanation| explanation.evidence.clone()).unwrap_or_default(),
        suspects: explanation.map(|explanation| explanation.suspects.clone()).unwrap_or_default(),
        confidence: explanation.map(|explanation| explanation.confidence.into()),
        enough: explanation.map(|explanation| explanation.is_enough),
        reused_from: reused_from.map(|analysis| analysis.to_string()),
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
