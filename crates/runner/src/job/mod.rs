//! Runs a job from its first heartbeat to its last: checkout, inputs, caches, steps, artifact, report.
//! Whether a step may run is decided by the server at each step's start.

mod credentials;
mod error;
pub mod folders;
mod heartbeat;
mod id_token_renewal;
mod id_tokens;
pub mod lease;
mod liveness;
mod materials;
mod outputs;
mod registry_step;
pub mod retry;
mod secrets;
mod step;
mod step_end;
mod variables;
mod work;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use greenroom_api_types::runner::{Complete, Job, PermanentFailure};
use greenroom_client::JobClient;
use greenroom_traces::{Span, SpanKind};
use tokio::task::JoinSet;
use tokio::time::Instant;

use self::credentials::PlatformCredentials;
use self::error::JobError;
use self::folders::JobFolder;
use self::lease::{CanceledBy, Cancellation, Lease};
use self::liveness::StartSignal;
use self::materials::Materials;
use self::retry::retry_while_leased;
use self::step::StepOutcome;
use self::work::Work;
use crate::backend::{Backend, Images, NotReady};
use crate::checkout::{Access, checkout};
use crate::error_chain::error_chain;
use crate::step_archive::StepArchives;
use crate::stop::Stop;

/// How long steps may take to end at shutdown, after the drain time is over.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(10);
const SHUTDOWN_REASON: &str = "the runner was shut down";

/// A job that this runner has acquired.
#[derive(Clone, Debug)]
pub struct AcquiredJob {
    pub job: Arc<Job>,
    /// When it was requested. Its lease is not counted from a later time.
    pub requested_at: Instant,
}

/// The resources of this machine that a job uses.
#[derive(Clone, Copy, Debug)]
pub struct JobResources<'a> {
    pub folder: &'a JobFolder,
    /// The number of the job's slot. No concurrent job has the same one.
    pub slot: u32,
    /// What the job's checkout may reach.
    pub access: &'a Access,
    /// The kept archives of steps of registries.
    pub step_archives: &'a Arc<StepArchives>,
}

/// How the work ended, for the report.
enum Outcome {
    /// The reports of the steps contain the result.
    Done,
    /// This runner has lost the job and must not report anything.
    LeaseEnded,
    Error(JobError),
    /// The stage or a step has timed out. The message is set if no step's report contains it.
    TimedOut(Option<String>),
}

/// Runs a job and removes everything that it leaves on this machine. Its steps are terminated gracefully on
/// `stop.now`, and killed if the runner was revoked.
pub async fn run<B: Backend>(
    AcquiredJob { job, requested_at }: AcquiredJob,
    client: &JobClient,
    JobResources { folder, slot, access, step_archives }: JobResources<'_>,
    backend: &B,
    stop: &Stop,
) {
    let received = Instant::now();
    let length = Duration::from_secs(job.lease_seconds.into());
    let deadline = received + Duration::from_secs(job.timeout_seconds);
    let lease = Lease::received(requested_at, received, length).with_deadline(deadline + step::TIMEOUT_GRACE);
    let lease = Arc::new(lease);
    let start_signal = Arc::new(StartSignal::default());
    let mut background = spawn_background_tasks(&job, client, folder, &lease, &start_signal, stop);
    let credentials = PlatformCredentials::new(client, &lease);
    let span = job_span(&job);
    let work = Work {
        job: &job,
        client,
        lease: &lease,
        start_signal: &start_signal,
        folder,
        slot,
        backend,
        access,
        step_archives,
        credentials: &credentials,
        span: &span,
        deadline,
    };
    work.run_and_report().await;
    background.shutdown().await;
    if let Err(error) = folder.remove().await {
        tracing::error!(%error, "could not remove a job's folder");
    }
}

/// Begins the span of a job, below its assignment. Without a trace of the deployment there is none.
fn job_span(job: &Job) -> Span {
    let Some(parent) = &job.traceparent else { return Span::none() };
    let span = Span::begin("job", SpanKind::Consumer, Some(parent));
    span.set("greenroom.job_id", job.job_id.clone());
    span.set("greenroom.deployment_id", job.deployment_id.clone());
    span.set("greenroom.stage", job.stage.clone());
    span.set("greenroom.attempt", i64::from(job.attempt));
    span
}

/// Starts heartbeats, the liveness file and the reactions to a shutdown in separate tasks, so that the work
/// can't delay them.
fn spawn_background_tasks(
    job: &Arc<Job>,
    client: &JobClient,
    folder: &JobFolder,
    lease: &Arc<Lease>,
    start_signal: &Arc<StartSignal>,
    stop: &Stop,
) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    let (own_job, own_client, own_lease) = (Arc::clone(job), client.clone(), Arc::clone(lease));
    let own_stop = stop.clone();
    tasks.spawn(async move { heartbeat::run(&own_client, &own_job, &own_lease, &own_stop).await });
    let silence = Duration::from_secs(job.silence_seconds.into());
    let (control, own_lease, start_signal) = (folder.control(), Arc::clone(lease), Arc::clone(start_signal));
    tasks.spawn(async move { liveness::run(&control, silence, &own_lease, &start_signal).await });
    let (revoked, own_lease) = (stop.revoked.clone(), Arc::clone(lease));
    tasks.spawn(async move {
        revoked.cancelled().await;
        own_lease.revoke();
    });
    let (now, own_lease) = (stop.now.clone(), Arc::clone(lease));
    tasks.spawn(async move {
        now.cancelled().await;
        let reason = SHUTDOWN_REASON.to_owned();
        own_lease.cancel(Cancellation { grace: SHUTDOWN_GRACE, reason, by: CanceledBy::Runner });
    });
    tasks
}

impl<B: Backend> Work<'_, B> {
    async fn run_and_report(&self) {
        let mut failure = None;
        let (mut error, timed_out) = match self.run_phases().await {
            Outcome::Done => (None, false),
            Outcome::LeaseEnded => return,
            Outcome::Error(error) => {
                failure = error.failure;
                (Some(error.message), false)
            }
            Outcome::TimedOut(message) => (message, true),
        };
        if let Some(Cancellation { by: CanceledBy::Runner, reason, .. }) = self.lease.cancellation() {
            error = Some(reason);
            failure = None;
        }
        let error = error.map(|error| self.credentials.mask(&error));
        if let Some(error) = &error {
            tracing::warn!(error, "the job failed");
            self.span.fail("the job failed");
        }
        self.lease.end_sent();
        let complete = Complete { error, timed_out, commit_id: None, failure };
        if let Err(error) =
            retry_while_leased(self.lease, "end of the job", || self.client.complete(&complete)).await
        {
            tracing::warn!(error = error_chain(&error), "could not report the end of the job");
        }
    }

    /// Prepares the workspace, runs the steps, and uploads artifact and caches.
    async fn run_phases(&self) -> Outcome {
        // No work starts before the lease's expiry is confirmed.
        tokio::select! {
            biased;
            () = self.lease.ended() => return Outcome::LeaseEnded,
            () = self.lease.confirmed() => {}
        }
        let materials =
            Materials { job: self.job, client: self.client, lease: self.lease, folder: self.folder };
        let _held = self.hold_step_archives();
        let ready = async {
            let (images, found) = self.prepare(&materials).await?;
            self.change_workspace_owner().await?;
            Ok::<_, JobError>((images, found))
        };
        let preparation = self.span.child("prepare job");
        let ready = self.unless_interrupted(ready).await;
        drop(preparation);
        let (images, found) = match ready {
            Ok(ready) => ready,
            Err(outcome) => return outcome,
        };
        for (number, step) in self.job.steps.iter().enumerate() {
            if self.lease.cancellation().is_some() {
                return Outcome::Done;
            }
            match self.step(number, step, &images).await {
                StepOutcome::Succeeded => {}
                StepOutcome::Ended => return Outcome::Done,
                StepOutcome::TimedOut => return Outcome::TimedOut(None),
                StepOutcome::LeaseEnded => return Outcome::LeaseEnded,
                StepOutcome::Failed(error) => return Outcome::Error(error),
            }
        }
        let upload = async {
            materials.keep_artifact().await?;
            materials.save_caches(&found).await;
            Ok::<_, JobError>(())
        };
        match self.unless_interrupted(upload).await {
            Ok(()) => Outcome::Done,
            Err(outcome) => outcome,
        }
    }

    /// Fetches steps of registries, checks out the source, unpacks the inputs, prepares the backend, and restores the
    /// caches. Returns the resolved images, and the keys of the caches that were found.
    async fn prepare<'m>(
        &self,
        materials: &'m Materials<'_>,
    ) -> Result<(Images, HashSet<&'m str>), JobError> {
        self.fetch_registry_steps().await?;
        if let Some(source) = &self.job.source {
            let done = checkout(source, &self.folder.workspace(), self.access, self.credentials).await;
            let done = done.map_err(|error| {
                tracing::warn!(error = error_chain(&error), "the checkout failed");
                JobError { failure: error.failure, message: format!("the checkout failed: {error}") }
            })?;
            let reported =
                retry_while_leased(self.lease, "checkout", || self.client.checked_out(&done)).await;
            reported.map_err(|error| format!("could not report the checkout: {error}"))?;
        }
        let unpacker = materials.unpacker().await?;
        materials.unpack_inputs(&unpacker).await?;
        let ready = self.backend.ready(self.job, self.slot, self.credentials).await;
        let images = ready.map_err(|error| {
            let chain = self.credentials.mask(&error_chain(&error));
            tracing::warn!(error = chain, "could not prepare the job");
            let failure = match &error {
                NotReady::ImageNotFound(_) => Some(PermanentFailure::ImageNotFound),
                NotReady::Credential(error) => error.failure,
                NotReady::Other(_) => None,
            };
            JobError { failure, message: error.to_string() }
        })?;
        Ok((images, materials.restore_caches(&unpacker).await))
    }

    async fn change_workspace_owner(&self) -> Result<(), String> {
        match self.backend.owner() {
            Some(owner) => self
                .folder
                .change_workspace_owner(owner)
                .await
                .map_err(|error| format!("could not change the owner of the workspace: {error}")),
            None => Ok(()),
        }
    }

    /// Runs work between the steps. It is dropped when the job is canceled, lost, or timed out.
    async fn unless_interrupted<T>(
        &self,
        work: impl Future<Output = Result<T, JobError>>,
    ) -> Result<T, Outcome> {
        tokio::select! {
            biased;
            () = self.lease.ended() => Err(Outcome::LeaseEnded),
            done = work => done.map_err(Outcome::Error),
            _ = self.lease.canceled() => Err(Outcome::Done),
            () = tokio::time::sleep_until(self.deadline) => {
                let message = format!("the stage took more than {} s", self.job.timeout_seconds);
                Err(Outcome::TimedOut(Some(message)))
            }
        }
    }
}
