//! Jobs, from a runner's side: getting one, keeping it, saying how its steps go, and its end.

use std::collections::BTreeMap;
use std::time::Duration;

use greenroom_api_types::runner::{
    Artifact as Input, Cache, CheckedOut, Complete, Heartbeat, Job, JobStep, MustBeOn, PermanentFailure,
    Source, StepEnd, StepEndStatus, StepStart,
};
use greenroom_domain::definition::NO_ENVIRONMENT;
use greenroom_domain::definition::{self, Step, StepWork};
use greenroom_domain::deployment::{Reason, variables_of};
use greenroom_domain::id::{JobId, StepRunId};
use greenroom_domain::output::{self, MAX_DEPLOYMENT_BYTES};
use greenroom_domain::reported_text::clean;
use greenroom_domain::text::{Branch, CommitId};
use greenroom_domain::token::{SecretKind, TokenSecret};
use greenroom_store::artifact::Artifact;
use greenroom_store::job::{
    Assigned, Begun, CheckoutRecorded, Completed, EndedStep, JobReport, JobWord, Noted, RunnerPrincipal,
};
use greenroom_worker::engine::PolledJob;
use tokio::sync::oneshot;

use crate::app::App;
use crate::app::failure::{Code, Failure};
use crate::app::token::new_secret_of;

/// How long a runner waits for a job at most.
pub const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// What one step may log.
pub const LOG_LIMIT: u64 = 1024 * 1024 * 1024 + 64 * 1024 * 1024;

/// Before asking again.
const AFTER_NOTHING: Duration = Duration::from_millis(100);

/// How long a job stays a runner's, and what follows from that.
#[derive(Clone, Copy, Debug)]
pub struct JobTiming {
    pub lease: Duration,
    pub heartbeat: Duration,
    /// Less than what passes from the lease's end until the job counts as lost.
    pub silence: Duration,
}

impl Default for JobTiming {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { lease: seconds(60), heartbeat: seconds(5), silence: seconds(20) }
    }
}

/// Waits for a job of the runner's pool. From the moment in which one is there it goes on in a task of its own: if the
/// runner hangs up just then, the job goes back to its queue at once and not when its lease is over.
pub async fn acquire(app: &App, runner: RunnerPrincipal, wait: Duration) -> Result<Option<Job>, Failure> {
    let deadline = tokio::time::Instant::now() + wait;
    loop {
        let left = deadline.saturating_duration_since(tokio::time::Instant::now());
        if left.is_zero() || app.draining.is_cancelled() {
            return Ok(None);
        }
        let polled = tokio::select! {
            () = app.draining.cancelled() => return Ok(None),
            polled = app.engine.poll_job(runner.pool_id, left) => polled,
        };
        let Ok(Some(polled)) = polled else {
            // None came, or the engine is away: a moment later it may be back.
            tokio::time::sleep(AFTER_NOTHING.min(left)).await;
            continue;
        };
        let (sender, receiver) = oneshot::channel();
        let (own, runner) = (app.clone(), runner.clone());
        app.departures.spawn(async move { hand_over(&own, &runner, polled, sender).await });
        if let Ok(Some(job)) = receiver.await {
            return Ok(Some(job));
        }
    }
}

async fn hand_over(
    app: &App,
    runner: &RunnerPrincipal,
    polled: PolledJob,
    sender: oneshot::Sender<Option<Job>>,
) {
    let secret = new_secret_of(SecretKind::Job);
    let (hash, job) = (secret.hash(), polled.run.job_id);
    if polled.run.organization_id != runner.organization_id || sender.is_closed() {
        return;
    }
    let word = JobWord { runner, job, secret: &hash };
    let task_token = polled.accept();
    let told = match app.store.assign_job(word, &task_token, app.job_timing.lease).await {
        Ok(Some(assigned)) => {
            app.bell.ring();
            app.engine_heard.note(job).await;
            if sender.send(Some(told(app, runner, job, &secret, assigned))).is_ok() {
                return;
            }
            if let Err(error) = app.store.take_job_back(word).await {
                // Then its lease runs out.
                tracing::warn!(error = &error as &dyn std::error::Error, %job, "a job was not taken back");
            }
            app.engine.fail(&task_token, "the runner hung up").await
        }
        Ok(None) => app.engine.complete(&task_token).await,
        Err(error) => {
            tracing::warn!(error = &error as &dyn std::error::Error, %job, "a job could not be given to a runner");
            app.engine.fail(&task_token, "the database was away").await
        }
    };
    if let Err(error) = told {
        tracing::debug!(error = &error as &dyn std::error::Error, %job, "the engine will notice by itself");
    }
}

/// What the runner is told.
fn told(app: &App, runner: &RunnerPrincipal, job: JobId, secret: &TokenSecret, of: Assigned) -> Job {
    let seconds = |duration: Duration| u32::try_from(duration.as_secs()).unwrap_or(u32::MAX);
    let environment = of.environment.as_ref().map(|(name, _)| name.as_str());
    let stage = of.definition.stage(&of.stage);
    let shared = stage.map(|stage| variables_of(&of.definition, environment, stage)).unwrap_or_default();
    let platform = platform_variables(runner, job, &of);
    let definitions = stage.map(|stage| stage.steps.as_slice()).unwrap_or_default();
    let steps = of
        .steps
        .iter()
        .zip(definitions)
        .map(|((id, name), step)| step_of(*id, name, step, &shared, &platform))
        .collect();
    Job {
        job_id: job.to_string(),
        job_token: secret.reveal().to_owned(),
        lease_seconds: seconds(app.job_timing.lease),
        heartbeat_seconds: seconds(app.job_timing.heartbeat).max(1),
        silence_seconds: seconds(app.job_timing.silence),
        organization_id: runner.organization_id.to_string(),
        pipeline_id: of.pipeline_id.to_string(),
        pipeline: of.pipeline_slug.clone(),
        deployment_id: of.deployment_id.to_string(),
        stage: of.stage.clone(),
        attempt: u32::try_from(of.attempt).unwrap_or_default(),
        source: of.repository.map(|repository| Source {
            repository,
            commit_id: of.commit_id.clone(),
            must_be_on: of.proof.map(|proof| MustBeOn { branch: proof.branch, any_of: proof.any_of }),
        }),
        timeout_seconds: u64::try_from(of.timeout_seconds).unwrap_or_default(),
        log_limit_bytes: LOG_LIMIT,
        network: of.network.into(),
        inputs: of.artifacts.into_iter().map(input).collect(),
        artifacts: stage.map(|stage| stage.artifacts.clone()).unwrap_or_default(),
        caches: stage.map(|stage| stage.caches.iter().map(cache).collect()).unwrap_or_default(),
        steps,
    }
}

fn input(artifact: Artifact) -> Input {
    Input {
        artifact_id: artifact.id.to_string(),
        stage: artifact.stage,
        size: u64::try_from(artifact.bytes).unwrap_or_default(),
        sha256: artifact.sha256,
    }
}

fn cache(cache: &definition::Cache) -> Cache {
    Cache { key: cache.key.clone(), paths: cache.paths.clone() }
}

fn step_of(
    id: StepRunId,
    name: &str,
    step: &Step,
    shared: &BTreeMap<String, String>,
    platform: &BTreeMap<String, String>,
) -> JobStep {
    let (image, run) = match &step.work {
        StepWork::Script { image, run } => (image.clone(), run.clone()),
        // Never planned for a runner.
        StepWork::Registry { .. } => (String::new(), "exit 1".to_owned()),
    };
    let mut variables = shared.clone();
    variables.extend(step.variables.clone());
    variables.extend(platform.clone());
    variables.insert("GREENROOM_STEP".to_owned(), name.to_owned());
    JobStep {
        step_run_id: id.to_string(),
        name: name.to_owned(),
        image,
        run,
        variables,
        timeout_seconds: step.timeout_seconds,
    }
}

fn platform_variables(runner: &RunnerPrincipal, job: JobId, of: &Assigned) -> BTreeMap<String, String> {
    let mut variables = BTreeMap::new();
    let mut set = |name: &str, value: String| variables.insert(format!("GREENROOM_{name}"), value);
    set("ORGANIZATION_ID", runner.organization_id.to_string());
    set("PIPELINE", of.pipeline_slug.clone());
    set("PIPELINE_ID", of.pipeline_id.to_string());
    set("DEPLOYMENT_ID", of.deployment_id.to_string());
    set("JOB_ID", job.to_string());
    set("STAGE", of.stage.clone());
    set("ATTEMPT", of.attempt.to_string());
    set("COMMIT_ID", of.commit_id.clone());
    set("PURPOSE", of.purpose.to_string());
    // A script that reads the variable never sees an empty text and takes it for a name.
    let lasting = || of.definition.stage(&of.stage)?.environment.as_deref();
    let lasting = || lasting().and_then(|name| of.definition.environment(name));
    let (environment, url) = match &of.environment {
        Some((name, url)) => (name.as_str(), url.as_deref()),
        None => lasting().map_or((NO_ENVIRONMENT, None), |lasting| (&lasting.name, lasting.url.as_deref())),
    };
    set("ENVIRONMENT", environment.to_owned());
    if let Some(url) = url {
        set("ENVIRONMENT_URL", url.to_owned());
    }
    if let Some(fence) = of.fence {
        set("FENCE", fence.to_string());
    }
    if let Some(session) = of.session_id {
        set("SESSION_ID", greenroom_domain::id::SessionId::from(session).to_string());
    }
    for (stage, values) in &of.outputs {
        let stage = stage.to_uppercase().replace('-', "_");
        for (name, value) in values {
            set(&format!("OUTPUT_{stage}_{name}"), value.clone());
        }
    }
    variables
}

pub async fn heartbeat(app: &App, word: JobWord<'_>) -> Result<Heartbeat, Failure> {
    let beat = app.store.beat(word, app.job_timing.lease).await?.ok_or_else(gone)?;
    if let Some(task_token) = beat.task_token
        && !app.engine_heard.knows(word.job)
    {
        // The engine's own time-out is only a second look: PostgreSQL's lease decides. So nobody waits for this.
        let (own, job) = (app.clone(), word.job);
        app.departures.spawn(async move {
            if own.engine.heartbeat(&task_token).await.is_ok() {
                own.engine_heard.note(job).await;
            }
        });
    }
    Ok(Heartbeat {
        lease_seconds: u32::try_from(beat.lease.as_secs()).unwrap_or(u32::MAX),
        cancel: beat.cancel.map(|reason| greenroom_api_types::runner::Cancel {
            grace_seconds: u32::try_from(beat.grace_seconds).unwrap_or_default(),
            reason,
        }),
    })
}

pub async fn begin_step(
    app: &App,
    word: JobWord<'_>,
    step: StepRunId,
    start: &StepStart,
) -> Result<(), Failure> {
    let digest = start.image_digest.as_deref();
    if digest.is_some_and(|digest| !is_digest(digest)) {
        return Err(Failure::field("/imageDigest", "must be `sha256:` and 64 of the digits 0-9 and a-f"));
    }
    match app.store.begin_step(word, step, digest).await? {
        Begun::Yes => Ok(()),
        Begun::Gone => Err(gone()),
        Begun::Unproven => Err(Failure::new(
            Code::InvalidState,
            "The commit has to be proven to be on a branch before a step starts (`source.mustBeOn`), and the checkout has \
             reported none. This runner may be too old: update it.",
        )),
        Begun::Canceled => {
            Err(Failure::new(Code::JobCanceled, "The job is to end: start no further step, and complete it."))
        }
        Begun::FenceOutdated => Err(fence_outdated()),
    }
}

pub async fn end_step(app: &App, word: JobWord<'_>, step: StepRunId, end: StepEnd) -> Result<(), Failure> {
    let status = match end.status {
        StepEndStatus::Succeeded => "succeeded",
        StepEndStatus::Failed => "failed",
        StepEndStatus::Errored => "errored",
        StepEndStatus::Canceled => "canceled",
    };
    for (name, value) in &end.outputs {
        output::check(name, value)
            .map_err(|error| Failure::field(&format!("/outputs/{}", clean(name)), error))?;
    }
    let end = EndedStep {
        status: status.to_owned(),
        exit_code: end.exit_code,
        reason: end.reason.as_deref().map(clean),
        outputs: end.outputs,
        log_bytes: i64::try_from(end.log_bytes).unwrap_or(i64::MAX),
    };
    match app.store.end_step(word, step, &end).await? {
        Noted::Yes => Ok(()),
        Noted::Gone => Err(gone()),
        Noted::OutputsTooLarge(bytes) => {
            let limit = MAX_DEPLOYMENT_BYTES / 1024;
            let detail = format!(
                "are too large: with them the deployment's outputs would have {bytes} bytes as variables of later stages, \
                 and {limit} KiB is the most"
            );
            Err(Failure::field("/outputs", detail))
        }
        Noted::LogIncomplete(have) => {
            let detail =
                format!("Only {have} bytes of the step's log are here; send the rest before its end.");
            Err(Failure::new(Code::LogOffset, detail).with("expected", have.into()))
        }
    }
}

/// Records what a job has checked out.
pub async fn record_checkout(app: &App, word: JobWord<'_>, done: &CheckedOut) -> Result<(), Failure> {
    full_commit(&done.commit_id)?;
    let branch = done.branch.as_deref().map(Branch::new).transpose();
    let branch = branch.map_err(|error| Failure::field("/branch", error))?;
    let branch = branch.as_ref().map(Branch::as_str);
    match app.store.record_checkout(word, &done.commit_id, branch).await? {
        CheckoutRecorded::Yes => Ok(()),
        CheckoutRecorded::Gone => Err(gone()),
        CheckoutRecorded::OtherCommit(own) => Err(other_commit(&own)),
    }
}

fn is_digest(text: &str) -> bool {
    let digits = text.strip_prefix("sha256:").unwrap_or_default();
    digits.len() == 64 && digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
}

fn full_commit(commit: &str) -> Result<(), Failure> {
    match CommitId::new(commit) {
        Ok(id) if id.is_full() => Ok(()),
        _ => Err(Failure::field("/commitId", "must be a full commit id: 40 or 64 of the digits 0-9 and a-f")),
    }
}

fn other_commit(own: &str) -> Failure {
    Failure::field("/commitId", format!("must begin with {own}, which is the deployment's commit"))
}

const fn reason_of(failure: PermanentFailure) -> Reason {
    match failure {
        PermanentFailure::CommitNotFound => Reason::CommitNotFound,
        PermanentFailure::CommitNotOnBranch => Reason::CommitNotOnBranch,
        PermanentFailure::RepositoryUnavailable => Reason::RepositoryUnavailable,
        PermanentFailure::ImageNotFound => Reason::ImageNotFound,
    }
}

pub async fn complete(app: &App, word: JobWord<'_>, end: &Complete) -> Result<(), Failure> {
    end.commit_id.as_deref().map_or(Ok(()), full_commit)?;
    let error = end.error.as_deref().map(clean);
    let report = JobReport {
        error: error.as_deref(),
        timed_out: end.timed_out,
        commit_id: end.commit_id.as_deref(),
        failure: end.failure.map(reason_of),
    };
    let done = app.store.complete_job(word, report).await?;
    let Completed { task_token, wake, other_commit: other } = done.ok_or_else(gone)?;
    if let Some(own) = other {
        return Err(other_commit(&own));
    }
    if let Some(task_token) = task_token {
        let own = app.clone();
        // The word to the engine carries nothing and may fail: then the relay says it.
        app.departures.spawn(async move {
            if own.engine.complete(&task_token).await.is_ok()
                && let Some(wake) = wake
                && let Err(error) = own.store.wakes_done(&[wake]).await
            {
                tracing::debug!(
                    error = &error as &dyn std::error::Error,
                    "a wake stays, and will be for nothing"
                );
            }
        });
    }
    app.bell.ring();
    Ok(())
}

pub fn fence_outdated() -> Failure {
    Failure::new(
        Code::FenceOutdated,
        "The environment has passed on to another session. Start no further step, and complete the job.",
    )
}

pub fn gone() -> Failure {
    Failure::new(
        Code::JobGone,
        "The job is not this runner's, or not any more. End everything that belongs to it at once.",
    )
}
