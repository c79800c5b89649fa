//! Fixes of failures: requesting, reading and canceling them. A worker continues them (`worker/fix`).

use greenroom_api_types::fix::{CreateFixPullRequest, FixPullRequest, FixWaitingOn, PullRequestLink};
use greenroom_api_types::person::Person;
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::fix::{FixSource, FixStatus, RUNS};
use greenroom_domain::id::{AnalysisId, FixId};
use greenroom_domain::pipeline::{Pipeline, PipelineStatus};
use greenroom_domain::policy::Action;
use greenroom_domain::principal::Principal;
use greenroom_domain::text::{Branch, CommitId};
use greenroom_store::Command;
use greenroom_store::fix::{CancelOutcome, FixRecord, FixableFailure, NewFix};
use greenroom_store::page::{Page, PageResult};
use greenroom_store::pipeline::PipelineName;
use uuid::Uuid;

use crate::failure::{Code, Failure};
use crate::web_url::WebUrls;
use crate::{App, analysis, commit, forge, pipeline_role};

/// How often a cancellation is tried again if a worker has continued the fix meanwhile.
const CANCEL_TRIES: usize = 3;

/// A valid request.
struct Change<'a> {
    commit: CommitId,
    branch: &'a str,
    runs: u8,
}

/// Requests the proof of a fix, and the pull request of it.
#[boxed_futures]
pub async fn create(
    command: &mut Command,
    (app, web_urls): (&App, WebUrls<'_>),
    analysis: AnalysisId,
    request: &CreateFixPullRequest,
) -> Result<FixPullRequest, Failure> {
    let change = checked(request)?;
    let failure = command.failure_of_analysis(analysis).await?.ok_or_else(Failure::not_found)?;
    analysis::require(command, failure.deployment_id).await?;
    for action in [Action::SessionHold, Action::DeploymentRunOwn] {
        pipeline_role::require(command, failure.pipeline_id, action).await?;
    }
    let Some(fingerprint) = failure.fingerprint.as_deref() else {
        let detail =
            "The evidence of this failure is still being collected. Wait until the analysis has succeeded.";
        return Err(Failure::new(Code::InvalidState, detail));
    };
    if change.commit.as_str() == failure.commit_id {
        return Err(Failure::field("/commitId", "must be another commit than the one that fails"));
    }
    let labels = labels_for(command, app, &failure).await?;
    if let Some(live) = command.live_fix(failure.pipeline_id, fingerprint).await? {
        return Err(exists(Some(live)));
    }
    let id = FixId::from(Uuid::now_v7());
    let web_url = web_urls.deployments();
    let new = NewFix {
        id,
        analysis,
        failure: &failure,
        fingerprint,
        commit_id: change.commit.as_str(),
        branch: change.branch,
        labels: &labels,
        runs: change.runs,
        web_url: web_url.as_deref(),
    };
    command.create_fix(&new).await.map_err(|error| match error.is_taken("fixes_live") {
        true => exists(None),
        false => error.into(),
    })?;
    command.fix(id).await?.map(fix_view).ok_or_else(Failure::not_found)
}

/// Cancels a fix before its pull request is opened. The requester may, and everyone who may cancel deployments of
/// others.
#[boxed_futures]
pub async fn cancel(command: &mut Command, id: FixId) -> Result<FixPullRequest, Failure> {
    for _ in 0..CANCEL_TRIES {
        let fix = command.fix(id).await?.ok_or_else(Failure::not_found)?;
        let is_own = fix.requested_by == command.principal().user_id;
        let action = if is_own { Action::DeploymentRunOwn } else { Action::DeploymentRunAny };
        pipeline_role::require(command, fix.pipeline_id, action).await?;
        if fix.status() == FixStatus::Canceled {
            return Ok(fix_view(fix));
        }
        if !fix.status().is_cancelable() {
            return Err(not_cancelable(&fix));
        }
        if command.cancel_fix(&fix).await? == CancelOutcome::Canceled {
            return command.fix(id).await?.map(fix_view).ok_or_else(Failure::not_found);
        }
    }
    let detail = "The fix was continued at the same time. Try again.";
    Err(Failure::new(Code::InvalidState, detail))
}

#[boxed_futures]
pub async fn read(app: &App, principal: &Principal, id: FixId) -> Result<FixPullRequest, Failure> {
    let found = app.store.fix(principal.organization_id, id).await?;
    found.map(fix_view).ok_or_else(Failure::not_found)
}

#[boxed_futures]
pub async fn list(
    app: &App,
    principal: &Principal,
    analysis: AnalysisId,
    page: Page,
) -> Result<PageResult<FixRecord>, Failure> {
    let organization = principal.organization_id;
    app.store.analysis(organization, analysis).await?.ok_or_else(Failure::not_found)?;
    Ok(app.store.fixes_of_analysis(organization, analysis, page).await?)
}

fn checked(request: &CreateFixPullRequest) -> Result<Change<'_>, Failure> {
    match request.source.known() {
        Some(FixSource::Commit) => {}
        Some(FixSource::Model) => {
            let detail = "No model writes fixes here. Push the change to a branch, and send its `commitId` and `branch` with \
                          `\"source\": \"commit\"`.";
            return Err(Failure::new(Code::AnalysisDisabled, detail));
        }
        None => return Err(Failure::field("/source", "must be `commit`")),
    }
    let commit = request.commit_id.as_deref().ok_or_else(|| Failure::field("/commitId", "is required"))?;
    let commit = commit::parse(commit)?;
    if !commit.is_full() {
        return Err(Failure::field("/commitId", "must be complete, 40 or 64 digits"));
    }
    let branch = request.branch.as_deref().ok_or_else(|| Failure::field("/branch", "is required"))?;
    Branch::new(branch).map_err(|error| Failure::field("/branch", error))?;
    let runs = request.runs.unwrap_or(*RUNS.start());
    if !RUNS.contains(&runs) {
        let detail = format!("must be between {} and {}", RUNS.start(), RUNS.end());
        return Err(Failure::field("/runs", detail));
    }
    Ok(Change { commit, branch, runs })
}

/// Returns the labels of the environments in which fixes of the pipeline are verified. Its repository has to have a
/// forge.
async fn labels_for(
    command: &mut Command,
    app: &App,
    failure: &FixableFailure,
) -> Result<Vec<String>, Failure> {
    let pipeline = command.pipeline(&PipelineName::Id(failure.pipeline_id)).await?;
    let pipeline: Pipeline = pipeline.ok_or_else(Failure::not_found)?;
    if pipeline.status == PipelineStatus::Archived {
        let detail = "An archived pipeline deploys nothing any more, so a fix of it can't be verified.";
        return Err(Failure::new(Code::PipelineArchived, detail));
    }
    let definition = command.current_definition(&pipeline).await?;
    let Some(fix) = &definition.fix else {
        let detail = "The pipeline does not name the environments in which fixes are verified. Add `fix: { labels: [...] }` to its \
                      definition, with labels of its ephemeral environments.";
        return Err(Failure::new(Code::NoEnvironmentForFixes, detail));
    };
    let repository = pipeline.repository.as_deref().unwrap_or_default();
    forge::for_repository(&app.store, command.principal().organization_id, repository).await?;
    Ok(fix.labels.clone())
}

fn exists(live: Option<FixId>) -> Failure {
    let detail = "Another fix of this failure is being verified, or its pull request is open. Wait for its end, or cancel it.";
    let failure = Failure::new(Code::FixExists, detail);
    match live {
        Some(id) => failure.with("fixId", id.to_string().into()),
        None => failure,
    }
}

fn not_cancelable(fix: &FixRecord) -> Failure {
    let detail = match fix.status() {
        FixStatus::Opening => {
            "The pull request is being opened. Wait a moment, and close it at the forge.".to_owned()
        }
        FixStatus::Opened => "The pull request is open. Close it at the forge.".to_owned(),
        status => format!("The fix has ended: it is {status}."),
    };
    Failure::new(Code::InvalidState, detail)
}

pub fn fix_view(fix: FixRecord) -> FixPullRequest {
    let (status, waiting_on) = (fix.status(), waiting_on(&fix));
    FixPullRequest {
        id: fix.id.to_string(),
        analysis_id: fix.analysis_id.to_string(),
        failure_id: fix.failure_id.to_string(),
        pipeline_id: fix.pipeline_id.to_string(),
        deployment_id: fix.deployment_id.to_string(),
        stage: fix.stage,
        step: fix.step,
        fingerprint: fix.fingerprint,
        source: FixSource::Commit.into(),
        failing_commit_id: fix.failing_commit_id,
        commit_id: fix.commit_id,
        branch: fix.branch,
        status: status.into(),
        reason: fix.reason.map(Into::into),
        detail: fix.detail,
        deadline_at: (!waiting_on.is_empty()).then_some(fix.deadline_at),
        waiting_on,
        runs: fix.progress.runs,
        succeeded_runs: fix.progress.succeeded_runs,
        session_id: fix.session_id.map(|session| session.to_string()),
        env_name: fix.env_name,
        reproduction_id: fix.reproduction_id.map(|id| id.to_string()),
        verification_ids: fix.verification_ids.iter().map(ToString::to_string).collect(),
        pull_request: fix.pull_request.map(|(number, url)| PullRequestLink { number, url }),
        requested_by: Person { id: fix.requested_by.to_string(), name: fix.requested_by_name },
        created_at: fix.created_at,
        updated_at: fix.updated_at,
        ended_at: fix.ended_at,
    }
}

fn waiting_on(fix: &FixRecord) -> Vec<FixWaitingOn> {
    let one = match fix.status() {
        FixStatus::Queued | FixStatus::Waiting => {
            Some(FixWaitingOn::Environment { labels: fix.labels.clone() })
        }
        FixStatus::Reproducing | FixStatus::Verifying => fix
            .current_deployment()
            .map(|deployment| FixWaitingOn::Deployment { deployment_id: deployment.to_string() }),
        FixStatus::Opening => Some(FixWaitingOn::Forge),
        _ => None,
    };
    one.into_iter().collect()
}
