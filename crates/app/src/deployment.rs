//! Deployments: creating, reading, canceling and retrying them.

use std::time::Duration;

use greenroom_api_types::deployment::{Attempt, CreateDeployment, Deployment, Stage, StageInput, StepRun};
use greenroom_api_types::environment::Holder;
use greenroom_api_types::session::{Person, WaitingOn};
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::approval::gated_before_checkout;
use greenroom_domain::definition::{Definition, DeployRule};
use greenroom_domain::deployment::{
    NotRetried, Reason, Trigger, certain_environments, describe_deploy_rule, may_deploy,
};
use greenroom_domain::id::{DeploymentId, PipelineId, UserId};
use greenroom_domain::pipeline::{Pipeline, PipelineStatus};
use greenroom_domain::policy::Action;
use greenroom_domain::principal::Principal;
use greenroom_domain::text::{Branch, CommitId};
use greenroom_store::Command;
use greenroom_store::deployment::{
    ActionOutcome, DeploymentRecord, JobRecord, NewPipelineDeployment, PersonRecord, RetryOptions,
    StageRecord, StepRecord,
};
use greenroom_store::job::JobInput;
use greenroom_store::pipeline::PipelineName;
use serde_json::json;
use uuid::Uuid;

use crate::environment::kind;
use crate::failure::{Code, Failure};
use crate::trace;
use crate::web_url::WebUrls;
use crate::{App, commit, pipeline_role};

/// Accepts a deployment of all of a pipeline's stages.
#[boxed_futures]
pub async fn create(
    command: &mut Command,
    name: &PipelineName,
    request: &CreateDeployment,
) -> Result<DeploymentId, Failure> {
    let commit = commit::parse(&request.commit_id)?;
    let (branch, allows_older) = (request.branch.as_deref(), request.allow_older.unwrap_or_default());
    let pipeline = command.pipeline_for_update(name).await?.ok_or_else(Failure::not_found)?;
    if allows_older {
        pipeline_role::require(command, pipeline.id, Action::DeploymentRollBack).await?;
    }
    if pipeline.status == PipelineStatus::Archived {
        return Err(Failure::new(
            Code::PipelineArchived,
            "An archived pipeline deploys nothing any more. Create a new one; its slug is free.",
        ));
    }
    branch.map(Branch::new).transpose().map_err(|error| Failure::field("/branch", error))?;
    let definition = command.current_definition(&pipeline).await?;
    allow_deploy(command, &pipeline, &certain_environments(&definition)).await?;
    require_full_commit(&commit, &definition, &pipeline)?;
    let on_behalf_of = on_behalf_of(command, request).await?;
    let id = DeploymentId::from(Uuid::now_v7());
    let new = NewPipelineDeployment {
        pipeline: pipeline.id,
        commit_id: commit.as_str(),
        branch,
        trigger: Trigger::Api,
        allows_older,
        on_behalf_of: on_behalf_of.as_ref().map(|(user, name)| (*user, name.as_str())),
    };
    command.deploy_pipeline(id, new).await?;
    trace::record(command, id).await?;
    Ok(id)
}

/// An approval is for one commit, so its id has to be complete when people vote. A checkout completes it; before the
/// first one, the request has to name all of it.
fn require_full_commit(
    commit: &CommitId,
    definition: &Definition,
    pipeline: &Pipeline,
) -> Result<(), Failure> {
    match gated_before_checkout(definition, pipeline.repository.is_some()).filter(|_| !commit.is_full()) {
        None => Ok(()),
        Some(stage) => Err(Failure::field(
            "/commitId",
            format!(
                "must be complete, 40 or 64 digits, because the stage `{stage}` waits for an approval of one commit"
            ),
        )),
    }
}

/// Returns the person for whom a service account starts the deployment.
async fn on_behalf_of(
    command: &mut Command,
    request: &CreateDeployment,
) -> Result<Option<(UserId, String)>, Failure> {
    let Some(named) = &request.on_behalf_of else { return Ok(None) };
    if command.principal().service_token.is_none() {
        let detail = "is only for service accounts: a person starts deployments in their own name";
        return Err(Failure::field("/onBehalfOf", detail));
    }
    let missing = || Failure::field("/onBehalfOf/userId", "must be the id of a member of the organization");
    let user = named.user_id.parse().map_err(|_| missing())?;
    let name = command.name_of_person(user).await?.ok_or_else(missing)?;
    Ok(Some((user, name)))
}

/// Checks the rights that a retry needs besides canceling and retrying: a rollback needs `DeploymentRollBack`, and the
/// environment of the stage may name who deploys there.
#[boxed_futures]
pub async fn allow_retry(
    command: &mut Command,
    pipeline: PipelineId,
    (deployment, stage): (DeploymentId, &str),
    options: RetryOptions,
) -> Result<(), Failure> {
    if options.allows_older {
        pipeline_role::require(command, pipeline, Action::DeploymentRollBack).await?;
    }
    let Some(environment) = command.environment_of_stage(deployment, stage).await? else { return Ok(()) };
    let pipeline = command.pipeline(&PipelineName::Id(pipeline)).await?.ok_or_else(Failure::not_found)?;
    allow_deploy(command, &pipeline, &[environment.as_str()]).await
}

/// Refuses a deployment whose stages would fail because the caller may not deploy to their environments. What
/// counts is the check before a stage is queued, and when its first step starts (`store/lasting_environment`).
async fn allow_deploy(
    command: &mut Command,
    pipeline: &Pipeline,
    environments: &[&str],
) -> Result<(), Failure> {
    let definition = command.current_definition(pipeline).await?;
    let rules: Vec<(&str, &DeployRule)> = environments
        .iter()
        .filter_map(|name| Some((*name, definition.environment(name)?.deploy.as_ref()?)))
        .collect();
    if rules.is_empty() {
        return Ok(());
    }
    let groups: Vec<String> = rules.iter().flat_map(|(_, rule)| rule.groups.clone()).collect();
    let user = command.principal().user_id;
    let deployer = command.deployer(pipeline.id, user, &groups).await?;
    match rules.into_iter().find(|(_, rule)| !may_deploy(Some(rule), &deployer)) {
        None => Ok(()),
        Some((environment, rule)) => Err(Failure::new(
            Code::DeployDenied,
            format!(
                "You may not deploy to `{environment}`. Ask one of these: {}.",
                describe_deploy_rule(rule)
            ),
        )
        .with("environment", environment.into())
        .with("groups", json!(rule.groups))
        .with("roles", json!(rule.roles))),
    }
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
#[boxed_futures]
pub async fn view(app: &App, principal: &Principal, id: DeploymentId) -> Result<Deployment, Failure> {
    let organization = principal.organization_id;
    let record = app.store.deployment_record(organization, id).await?.ok_or_else(Failure::not_found)?;
    let stages = app.store.stage_records(organization, id).await?;
    let jobs = app.store.job_records(organization, id, None).await?;
    let stages = stages.into_iter().map(|record| stage(record, &jobs)).collect();
    Ok(Deployment { stages, ..to_summary(app.web_urls(principal), record) })
}

/// Waits until the deployment has ended, or the server drains, for `wait` at most.
#[boxed_futures]
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
        on_behalf_of: record.on_behalf_of.map(|(id, name)| Person { id: id.to_string(), name }),
        canceled_by: record.canceled_by.map(person),
        retried_by: record.retried_by.map(person),
        created_at: record.created_at,
        started_at: record.started_at,
        ended_at: record.ended_at,
        expired_at: record.expired_at,
        skipped_environments: record.skipped_environments,
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
    let inputs = newest.map(|job| job.inputs.iter().cloned().map(input).collect()).unwrap_or_default();
    let detail = record.detail.or_else(|| newest.and_then(|job| job.detail.clone()));
    let detail = detail.or_else(|| restricted(record.reason, &record.pool));
    let detail = detail.or_else(|| denied(record.reason, record.environment.as_deref()));
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
        gate_overridden: record.gate_overridden.and_then(|json| serde_json::from_value(json).ok()),
        inputs,
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

/// Returns the detail of a stage whose deployment was started or last retried by a user who may not deploy there.
fn denied(reason: Option<Reason>, environment: Option<&str>) -> Option<String> {
    let environment = environment.filter(|_| reason == Some(Reason::DeployDenied))?;
    Some(format!(
        "the user who started or last retried the deployment may not deploy to `{environment}`: one of those whom `deploy` of the \
         environment names can retry the stage"
    ))
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
        inputs: record.inputs.into_iter().map(input).collect(),
        steps: record.steps.into_iter().map(step).collect(),
    }
}

fn input(record: JobInput) -> StageInput {
    StageInput {
        kind: record.kind,
        name: record.name,
        stage: record.stage,
        pool: record.pool,
        zone: record.zone,
        sha256: record.sha256,
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
        step_digest: record.step_digest,
        log_bytes: record.log_bytes,
        started_at: record.started_at,
        ended_at: record.ended_at,
    }
}
