//! Deployments: creating, reading, canceling and retrying them.

use std::time::Duration;

use greenroom_api_types::deployment::{Attempt, Deployment, Stage, StepRun};
use greenroom_api_types::environment::Holder;
use greenroom_api_types::session::{Person, WaitingOn};
use greenroom_domain::deployment::{NotRetried, Reason, Trigger};
use greenroom_domain::id::DeploymentId;
use greenroom_domain::pipeline::PipelineStatus;
use greenroom_domain::policy::Action;
use greenroom_domain::principal::Principal;
use greenroom_domain::text::{Branch, CommitId};
use greenroom_store::Command;
use greenroom_store::deployment::{
    ActionOutcome, DeploymentRecord, JobRecord, NewPipelineDeployment, PersonRecord, StageRecord, StepRecord,
};
use greenroom_store::pipeline::PipelineName;
use uuid::Uuid;

use crate::app::App;
use crate::app::environment::kind;
use crate::app::failure::{Code, Failure};
use crate::app::web_url::WebUrls;

/// Accepts a deployment of all of a pipeline's stages.
pub async fn create(
    command: &mut Command,
    name: &PipelineName,
    commit: &str,
    branch: Option<&str>,
    allows_older: bool,
) -> Result<DeploymentId, Failure> {
    if allows_older {
        command.principal().require(Action::DeploymentRollBack)?;
    }
    let commit = CommitId::new(commit).map_err(|error| Failure::field("/commitId", error))?;
    let pipeline = command.pipeline_for_update(name).await?.ok_or_else(Failure::not_found)?;
    if pipeline.status == PipelineStatus::Archived {
        return Err(Failure::new(
            Code::PipelineArchived,
            "An archived pipeline deploys nothing any more. Create a new one; its slug is free.",
        ));
    }
    branch.map(Branch::new).transpose().map_err(|error| Failure::field("/branch", error))?;
    let id = DeploymentId::from(Uuid::now_v7());
    let new = NewPipelineDeployment {
        pipeline: pipeline.id,
        commit_id: commit.as_str(),
        branch,
        trigger: Trigger::Api,
        allows_older,
    };
    command.deploy_pipeline(id, new).await?;
    Ok(id)
}

/// Turns the outcome of a request that changes a deployment into a failure, unless the request succeeded.
pub fn check_outcome(outcome: ActionOutcome, stage: Option<&str>) -> Result<(), Failure> {
    let refused = |detail: String| Err(Failure::new(Code::InvalidState, detail));
    let stage = stage.unwrap_or_default();
    match outcome {
        ActionOutcome::Done | ActionOutcome::Unchanged => Ok(()),
        ActionOutcome::NoSuchDeployment | ActionOutcome::NoSuchStage => Err(Failure::not_found()),
        ActionOutcome::NotRetried(NotRetried::NoSuchStage) => Err(Failure::not_found()),
        ActionOutcome::NotRetried(NotRetried::NotEnded) => {
            refused(format!("The stage `{stage}` has not ended. Cancel it first, or wait for its end."))
        }
        ActionOutcome::NotRetried(NotRetried::Succeeded) => refused(format!(
            "The stage `{stage}` has succeeded. Retry one that has not, make a new deployment, or retry it with `\"allowOlder\": \
             true` to roll back (maintainers)."
        )),
        ActionOutcome::NotRetried(NotRetried::NeedsOthers) => refused(format!(
            "The stage `{stage}` needs others that have not succeeded. Retry those: what follows them is tried again too."
        )),
        ActionOutcome::NotRetried(NotRetried::NotInDefinition) => refused(format!(
            "The newest definition has no stage `{stage}` for this deployment. Retry with `inputs: same`, or make a new deployment."
        )),
        ActionOutcome::NotRetried(NotRetried::OthersAtWork) => refused(
            "Other stages of this deployment are at work with its definition. Wait for their end, or retry with `inputs: same`."
                .to_owned(),
        ),
        ActionOutcome::NotRetried(NotRetried::Canceling) => {
            refused("The deployment is being canceled. Wait until it has ended.".to_owned())
        }
        ActionOutcome::NotRetried(NotRetried::Teardown) => refused(
            "A teardown is not retried stage by stage. If it failed, a maintainer repeats it: `POST …/{envName}/cleanup`."
                .to_owned(),
        ),
        ActionOutcome::NotRetried(NotRetried::SessionEnded) => refused(
            "The session of this deployment has ended, so it can't go on. Claim the environment and deploy the commit."
                .to_owned(),
        ),
        ActionOutcome::NotRetried(NotRetried::Expired) => refused(
            "This deployment ended so long ago that what its stages left was removed. Make a new deployment of the commit."
                .to_owned(),
        ),
        ActionOutcome::NotRetried(NotRetried::NewerDeployment(newer)) => Err(Failure::new(
            Code::InvalidState,
            format!("A newer deployment ran here since: {newer}. Make a new deployment of the commit you want, or \
                 retry with `\"allowOlder\": true` to roll back (maintainers)."),
        )
        .with("newerDeploymentId", newer.to_string().into())),
    }
}

/// Returns a deployment with its stages and what it waits for.
pub async fn view(app: &App, principal: &Principal, id: DeploymentId) -> Result<Deployment, Failure> {
    let organization = principal.organization_id;
    let record = app.store.deployment_record(organization, id).await?.ok_or_else(Failure::not_found)?;
    let stages = app.store.stage_records(organization, id).await?;
    let jobs = app.store.job_records(organization, id, None).await?;
    let stages = stages.into_iter().map(|record| stage(record, &jobs)).collect();
    Ok(Deployment { stages, ..to_summary(app.web_urls(principal), record) })
}

/// Waits until the deployment has ended, or the server drains, for `wait` at most.
pub async fn wait_for_end(
    app: &App,
    principal: &Principal,
    id: DeploymentId,
    wait: Duration,
) -> Result<(), Failure> {
    let mut follower = app.deployment_tails.follow(principal.organization_id, id);
    let mut has_ended = view(app, principal, id).await?.ended_at.is_some();
    let timeout = tokio::time::sleep(wait);
    tokio::pin!(timeout);
    while !has_ended {
        tokio::select! {
            () = &mut timeout => break,
            () = app.draining.cancelled() => break,
            () = follower.changed() => {}
        }
        has_ended = follower.state(view(app, principal, id)).await?.has_ended();
    }
    Ok(())
}

/// Returns a deployment without its stages, as in a list.
pub fn to_summary(urls: WebUrls<'_>, record: DeploymentRecord) -> Deployment {
    Deployment {
        waiting_on: waiting_on(&record),
        web_url: urls.deployment(record.id),
        id: record.id.to_string(),
        pipeline_id: record.pipeline_id.to_string(),
        pipeline: record.pipeline_slug,
        definition_version: record.definition_version,
        purpose: record.purpose.into(),
        trigger: record.trigger.into(),
        env_name: record.environment.map(|(_, name)| name),
        session_id: record.session_id.map(|id| id.to_string()),
        commit_id: record.commit_id,
        branch: record.branch,
        status: record.status.into(),
        reason: record.reason.map(Into::into),
        detail: record.detail,
        rollback: record.rollback,
        created_by: Person {
            id: record.created_by.to_string(),
            name: record.created_by_name.unwrap_or_default(),
        },
        canceled_by: record.canceled_by.map(person),
        retried_by: record.retried_by.map(person),
        created_at: record.created_at,
        started_at: record.started_at,
        ended_at: record.ended_at,
        expired_at: record.expired_at,
        deadline_at: record.deadline_at,
        stages: Vec::new(),
    }
}

/// Returns why a deployment is blocked. The domain has no number of runners, so it is added here.
pub fn waiting_on(record: &DeploymentRecord) -> Vec<WaitingOn> {
    let with_runners = |waiting: WaitingOn| match waiting {
        WaitingOn::Runner { stage, pool, .. } => {
            let online = Some(record.online_runners.get(&pool).copied().unwrap_or(0));
            WaitingOn::Runner { stage, pool, online }
        }
        other => other,
    };
    record.waiting_on.iter().cloned().map(WaitingOn::from).map(with_runners).collect()
}

fn person(record: PersonRecord) -> Holder {
    Holder { id: record.id.to_string(), name: record.name, kind: kind(&record.kind), token: None }
}

pub fn stage(record: StageRecord, jobs: &[JobRecord]) -> Stage {
    let newest = jobs.iter().find(|job| job.stage == record.key && job.attempt == record.attempt);
    let steps = newest.map(|job| job.steps.iter().cloned().map(step).collect()).unwrap_or_default();
    let detail = record.detail.or_else(|| newest.and_then(|job| job.detail.clone()));
    let detail = detail.or_else(|| restricted(record.reason, &record.pool));
    Stage {
        key: record.key,
        name: record.name,
        needs: record.needs,
        pool: record.pool,
        environment: record.environment,
        status: record.status.into(),
        reason: record.reason.map(Into::into),
        detail,
        attempt: record.attempt,
        retry_at: record.retry_at,
        canceled_by: record.canceled_by.map(person),
        retried_by: record.retried_by.map(person),
        started_at: record.started_at,
        ended_at: record.ended_at,
        deadline_at: record.deadline_at,
        steps,
    }
}

/// Returns the detail of a stage whose pool does not accept it.
fn restricted(reason: Option<Reason>, pool: &str) -> Option<String> {
    (reason == Some(Reason::PoolRestricted)).then(|| {
        format!(
            "the pool `{pool}` takes no jobs of this pipeline, or none that deploy to this environment: use another pool, or \
             ask an admin to allow it"
        )
    })
}

pub fn attempt(record: JobRecord) -> Attempt {
    Attempt {
        job_id: record.id.to_string(),
        attempt: record.attempt,
        status: record.status.into(),
        reason: record.reason.map(Into::into),
        detail: record.detail,
        runner: record.runner,
        queued_at: record.queued_at,
        started_at: record.started_at,
        ended_at: record.ended_at,
        steps: record.steps.into_iter().map(step).collect(),
    }
}

fn step(record: StepRecord) -> StepRun {
    StepRun {
        id: record.id.to_string(),
        name: record.name,
        status: record.status.into(),
        exit_code: record.exit_code,
        reason: record.reason,
        outputs: record.outputs,
        image_digest: record.image_digest,
        log_bytes: record.log_bytes,
        started_at: record.started_at,
        ended_at: record.ended_at,
    }
}
