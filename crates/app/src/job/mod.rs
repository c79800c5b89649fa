//! Requests of runners about jobs: acquiring one, renewing its lease, reporting its steps, completing it.

pub mod credentials;
pub mod heartbeat_throttle;
pub mod platform_credential;
pub mod refusal;
pub mod response;
pub mod step_archive;
pub mod timing;

use std::time::Duration;

use greenroom_api_types::runner::{
    CheckedOut, Complete, Heartbeat, Job, PermanentFailure, StepEnd, StepEndStatus, StepStart, StepStarted,
};
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::deployment::{BranchProof, Reason, StepStatus};
use greenroom_domain::id::StepRunId;
use greenroom_domain::output::{self, MAX_DEPLOYMENT_BYTES};
use greenroom_domain::reported_text::clean;
use greenroom_domain::text::{Branch, CommitId};
use greenroom_domain::token::SecretKind;
use greenroom_engine::PolledJob;
use greenroom_store::job::{
    CheckoutOutcome, CompletedJob, JobCredentials, JobLookup, JobReport, RunnerPrincipal, StepEndOutcome,
    StepResult, StepStartOutcome,
};
use greenroom_traces::Beginning;
use greenroom_worker::trace;
use tokio::sync::oneshot;

use crate::App;
use crate::command::notify;
use crate::failure::{Code, Failure};
use crate::id_token;
use crate::job::refusal::{fence_outdated, gone};

pub use crate::job::response::MAX_LOG_BYTES;
use crate::job::response::{job_response, whole_seconds};
use crate::secret::sealing::open_step_secrets;
use crate::token::new_secret_of;

/// The longest time that a request waits for a job.
pub const MAX_WAIT: Duration = Duration::from_secs(30);

/// The delay before the engine is polled again.
const IDLE_DELAY: Duration = Duration::from_millis(100);

/// Waits for a job of the runner's pool. A polled job is assigned in a detached task: if the runner
/// disconnects during that, the job is requeued immediately and not only when its lease expires.
#[boxed_futures]
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
            // There was no job, or the engine is unavailable.
            tokio::time::sleep(IDLE_DELAY.min(left)).await;
            continue;
        };
        let (sender, receiver) = oneshot::channel();
        let (own, runner) = (app.clone(), runner.clone());
        app.detached_tasks.spawn(async move { assign(&own, &runner, polled, sender).await });
        if let Ok(Some(job)) = receiver.await {
            return Ok(Some(job));
        }
    }
}

async fn assign(
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
    let credentials = JobCredentials { runner, job, secret: &hash };
    let (task_token, beginning) = (polled.accept(), Beginning::now());
    let reported = match app.store.assign_job(credentials, &task_token, app.job_timing.lease).await {
        Ok(Some(assigned)) => {
            notify(app, false);
            app.heartbeat_throttle.record(job).await;
            let deployment = assigned.deployment_id;
            let span =
                trace::span(&app.store, runner.organization_id, deployment, beginning, "assign job").await;
            let response = job_response(app, runner, (job, &secret), assigned, span.traceparent());
            if sender.send(Some(response)).is_ok() {
                return;
            }
            span.fail("the runner disconnected");
            if let Err(error) = app.store.requeue_job(credentials).await {
                // Its lease will expire.
                tracing::warn!(error = &error as &dyn std::error::Error, %job, "could not requeue a job");
            }
            app.engine.fail(&task_token, "the runner disconnected").await
        }
        Ok(None) => app.engine.complete(&task_token).await,
        Err(error) => {
            tracing::warn!(error = &error as &dyn std::error::Error, %job, "could not assign a job");
            app.engine.fail(&task_token, "the database was unavailable").await
        }
    };
    if let Err(error) = reported {
        // The engine's task will time out.
        tracing::debug!(error = &error as &dyn std::error::Error, %job, "could not notify the engine");
    }
}

/// Returns what was read with job credentials.
pub fn found<T>(lookup: JobLookup<T>) -> Result<T, Failure> {
    match lookup {
        JobLookup::Found(found) => Ok(found),
        JobLookup::NotFound => Err(Failure::not_found()),
        JobLookup::Gone => Err(gone()),
    }
}

#[boxed_futures]
pub async fn heartbeat(app: &App, credentials: JobCredentials<'_>) -> Result<Heartbeat, Failure> {
    let beat = app.store.renew_job_lease(credentials, app.job_timing.lease).await?.ok_or_else(gone)?;
    if let Some(task_token) = beat.task_token
        && !app.heartbeat_throttle.is_recent(credentials.job)
    {
        // The engine's timeout is only a fallback: the lease in PostgreSQL decides. So the request does not
        // wait for this.
        let (own, job) = (app.clone(), credentials.job);
        app.detached_tasks.spawn(async move {
            if own.engine.heartbeat(&task_token).await.is_ok() {
                own.heartbeat_throttle.record(job).await;
            }
        });
    }
    Ok(Heartbeat {
        lease_seconds: whole_seconds(beat.lease),
        cancel: beat.cancel.map(|reason| greenroom_api_types::runner::Cancel {
            grace_seconds: beat.grace_seconds,
            reason: reason.into(),
        }),
    })
}

#[boxed_futures]
pub async fn begin_step(
    app: &App,
    credentials: JobCredentials<'_>,
    step: StepRunId,
    start: &StepStart,
) -> Result<StepStarted, Failure> {
    let digest = start.image_digest.as_deref();
    if digest.is_some_and(|digest| !is_digest(digest)) {
        return Err(Failure::field("/imageDigest", "must be `sha256:` and 64 of the digits 0-9 and a-f"));
    }
    match app.store.begin_step(credentials, step, digest).await? {
        StepStartOutcome::Accepted(accepted) => {
            // A step whose secrets can't be opened does not start, and no read is recorded.
            let organization = credentials.runner.organization_id;
            let secrets = open_step_secrets(app, organization, &accepted.secrets)?;
            let requested = accepted.id_tokens.clone();
            if requested.is_some() {
                id_token::master_keys(app)?;
            }
            accepted.commit().await?;
            // Signing may read keys with another connection, so the transaction ends before. If it fails, the
            // runner repeats the request.
            let id_tokens = match requested {
                Some(requested) => id_token::sign(app, &requested).await?,
                None => Vec::new(),
            };
            Ok(StepStarted { secrets, id_tokens })
        }
        StepStartOutcome::Refused { detail, task_token } => {
            if let Some(task_token) = task_token {
                end_task(app, task_token, None);
            }
            notify(app, true);
            let detail = format!("The job has failed, because {detail}. End everything that belongs to it.");
            Err(Failure::new(Code::JobGone, detail))
        }
        StepStartOutcome::GateClosed { detail, task_token } => {
            if let Some(task_token) = task_token {
                end_task(app, task_token, None);
            }
            notify(app, true);
            let detail = format!(
                "The stage may not begin now, because {detail}. End everything that belongs to the job."
            );
            Err(Failure::new(Code::JobGone, detail))
        }
        StepStartOutcome::Gone => Err(gone()),
        StepStartOutcome::Unproven => Err(Failure::new(
            Code::InvalidState,
            "The commit has to be proven to be on a branch before a step starts (`source.mustBeOn`), and the checkout has \
             reported none. This runner may be too old: update it.",
        )),
        StepStartOutcome::OutOfOrder => Err(Failure::new(
            Code::InvalidState,
            "A step starts only when all steps before it have succeeded. Start the job's steps in the order in which it \
             lists them, and complete the job if one of them does not succeed.",
        )),
        StepStartOutcome::Canceled => {
            Err(Failure::new(Code::JobCanceled, "The job is to end: start no further step, and complete it."))
        }
        StepStartOutcome::FenceOutdated => Err(fence_outdated()),
    }
}

#[boxed_futures]
pub async fn end_step(
    app: &App,
    credentials: JobCredentials<'_>,
    step: StepRunId,
    end: StepEnd,
) -> Result<(), Failure> {
    let status = match end.status {
        StepEndStatus::Succeeded => StepStatus::Succeeded,
        StepEndStatus::Failed => StepStatus::Failed,
        StepEndStatus::Errored => StepStatus::Errored,
        StepEndStatus::Canceled => StepStatus::Canceled,
    };
    for (name, value) in &end.outputs {
        output::check(name, value)
            .map_err(|error| Failure::field(&format!("/outputs/{}", clean(name)), error))?;
    }
    let end = StepResult {
        status,
        exit_code: end.exit_code,
        reason: end.reason.as_deref().map(clean),
        outputs: end.outputs,
        log_bytes: end.log_bytes,
    };
    match app.store.end_step(credentials, step, &end).await? {
        StepEndOutcome::Recorded => Ok(()),
        StepEndOutcome::Gone => Err(gone()),
        StepEndOutcome::NotStarted => Err(Failure::new(
            Code::InvalidState,
            "A step that has not started can't have succeeded or failed. Request its start first, or report it as `errored` \
             or `canceled`.",
        )),
        StepEndOutcome::OutputsTooLarge(bytes) => {
            let limit = MAX_DEPLOYMENT_BYTES / 1024;
            let detail = format!(
                "are too large: with them the deployment's outputs would have {bytes} bytes as variables of later stages, \
                 and {limit} KiB is the most"
            );
            Err(Failure::field("/outputs", detail))
        }
        StepEndOutcome::LogIncomplete(have) => {
            let detail =
                format!("Only {have} bytes of the step's log are here; send the rest before its end.");
            Err(Failure::new(Code::LogOffset, detail).with("expected", have.into()))
        }
    }
}

/// Records the commit that a job has checked out.
#[boxed_futures]
pub async fn record_checkout(
    app: &App,
    credentials: JobCredentials<'_>,
    done: &CheckedOut,
) -> Result<(), Failure> {
    full_commit(&done.commit_id)?;
    let branch = done.branch.as_deref().map(Branch::new).transpose();
    let branch = branch.map_err(|error| Failure::field("/branch", error))?;
    let branch = branch.as_ref().map(Branch::as_str);
    match app.store.record_checkout(credentials, &done.commit_id, branch).await? {
        CheckoutOutcome::Recorded => Ok(()),
        CheckoutOutcome::Gone => Err(gone()),
        CheckoutOutcome::OtherCommit(own) => Err(other_commit(&own)),
        CheckoutOutcome::OtherBranch(required) => Err(other_branch(required.as_ref())),
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

fn other_branch(required: Option<&BranchProof>) -> Failure {
    let detail = match required {
        Some(proof) => format!("must be {proof} (`source.mustBeOn`)"),
        None => "must be null, because this job has no branch to prove (`source.mustBeOn`)".to_owned(),
    };
    Failure::field("/branch", detail)
}

const fn reason_of(failure: PermanentFailure) -> Reason {
    match failure {
        PermanentFailure::CommitNotFound => Reason::CommitNotFound,
        PermanentFailure::CommitNotOnBranch => Reason::CommitNotOnBranch,
        PermanentFailure::RepositoryUnavailable => Reason::RepositoryUnavailable,
        PermanentFailure::CheckoutHostNotAllowed => Reason::CheckoutHostNotAllowed,
        PermanentFailure::ImageNotFound => Reason::ImageNotFound,
        PermanentFailure::SecretDenied => Reason::SecretDenied,
        PermanentFailure::StepDigestMismatch => Reason::StepDigestMismatch,
    }
}

#[boxed_futures]
pub async fn complete(app: &App, credentials: JobCredentials<'_>, end: &Complete) -> Result<(), Failure> {
    end.commit_id.as_deref().map_or(Ok(()), full_commit)?;
    let error = end.error.as_deref().map(clean);
    let report = JobReport {
        error: error.as_deref(),
        timed_out: end.timed_out,
        commit_id: end.commit_id.as_deref(),
        failure: end.failure.map(reason_of),
    };
    let done = app.store.complete_job(credentials, report).await?;
    let CompletedJob { task_token, wake_up, other_commit: other } = done.ok_or_else(gone)?;
    if let Some(own) = other {
        return Err(other_commit(&own));
    }
    if let Some(task_token) = task_token {
        end_task(app, task_token, wake_up);
    }
    notify(app, false);
    Ok(())
}

/// Ends a job's task in the engine, and deletes its wake-up from the outbox. This call to the engine carries no
/// data and may fail: then the relay delivers the wake-up.
fn end_task(app: &App, task_token: Vec<u8>, wake_up: Option<i64>) {
    let own = app.clone();
    app.detached_tasks.spawn(async move {
        if own.engine.complete(&task_token).await.is_ok()
            && let Some(wake_up) = wake_up
            && let Err(error) = own.store.delete_wake_ups(&[wake_up]).await
        {
            tracing::debug!(
                error = &error as &dyn std::error::Error,
                "could not delete the outbox row; a redundant wake-up will be sent"
            );
        }
    });
}
