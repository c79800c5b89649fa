//! A job from its first heartbeat to its last: checkout, inputs, caches, steps, artifact, report. Decides nothing about
//! right and wrong: the server does, at each step's start.

mod alive;
pub mod folders;
mod heartbeat;
pub mod lease;
mod materials;
mod outputs;
pub mod patience;
mod step;
mod verdict;

use std::sync::Arc;
use std::time::Duration;

use greenroom_api_types::runner::{Complete, Job, PermanentFailure};
use greenroom_client::JobClient;
use tokio::task::JoinSet;
use tokio::time::Instant;

use self::alive::Starting;
use self::folders::JobFolder;
use self::lease::{CanceledBy, Cancellation, Lease};
use self::materials::Materials;
use self::patience::insist;
use self::step::StepOutcome;
use crate::backend::{Backend, Images, NotReady};
use crate::checkout::{Access, checkout};
use crate::runner::Stop;

/// How long steps may take to end when the runner is told to stop and has waited long enough.
const STOP_GRACE: Duration = Duration::from_secs(10);
const STOP_REASON: &str = "the runner was told to stop";

/// Where a job is carried out.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    pub folder: &'a JobFolder,
    /// The number of its slot. No other job has it at the same time.
    pub slot: u32,
    /// What its checkout may reach.
    pub access: &'a Access,
}

/// What every part of the work on a job needs.
struct Work<'a, B> {
    job: &'a Job,
    client: &'a JobClient,
    lease: &'a Arc<Lease>,
    starting: &'a Starting,
    folder: &'a JobFolder,
    slot: u32,
    backend: &'a B,
    access: &'a Access,
    /// When the stage's time is over.
    deadline: Instant,
}

/// How the work went, for the report.
enum Outcome {
    /// The steps say how it went.
    Done,
    /// The job is no longer this runner's: nobody is to be told anything.
    Over,
    Error(Trouble),
    /// The time of the stage or of a step was over; what to say of it, if no step says it.
    TimedOut(Option<String>),
}

/// Why a job can't be carried out.
struct Trouble {
    /// A mistake that a retry can't fix.
    failure: Option<PermanentFailure>,
    message: String,
}

impl From<String> for Trouble {
    fn from(message: String) -> Self {
        Trouble { failure: None, message }
    }
}

/// Carries a job out, and leaves nothing behind. When `stop` is told, its steps are asked to end; when the runner was revoked,
/// they are killed.
pub async fn run<B: Backend>(
    (job, asked): (Arc<Job>, Instant),
    client: &JobClient,
    Place { folder, slot, access }: Place<'_>,
    backend: &B,
    stop: &Stop,
) {
    let received = Instant::now();
    let length = Duration::from_secs(job.lease_seconds.into());
    let deadline = received + Duration::from_secs(job.timeout_seconds);
    let lease = Lease::received(asked, received, length).with_deadline(deadline + step::TIMEOUT_GRACE);
    let lease = Arc::new(lease);
    let starting = Arc::new(Starting::default());
    let mut beside = beside(&job, client, folder, &lease, &starting, stop);
    let work = Work {
        job: &job,
        client,
        lease: &lease,
        starting: &starting,
        folder,
        slot,
        backend,
        access,
        deadline,
    };
    work.carry_out().await;
    beside.shutdown().await;
    if let Err(error) = folder.remove().await {
        tracing::error!(%error, "a job's folder could not be removed");
    }
}

/// What goes on beside the work, in tasks of its own, so that nothing that the work does can hold it up.
fn beside(
    job: &Arc<Job>,
    client: &JobClient,
    folder: &JobFolder,
    lease: &Arc<Lease>,
    starting: &Arc<Starting>,
    stop: &Stop,
) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    let (own_job, own_client, own_lease) = (Arc::clone(job), client.clone(), Arc::clone(lease));
    let revoked = stop.revoked.clone();
    tasks.spawn(async move { heartbeat::run(&own_client, &own_job, &own_lease, &revoked).await });
    let silence = Duration::from_secs(job.silence_seconds.into());
    let (control, own_lease, starting) = (folder.control(), Arc::clone(lease), Arc::clone(starting));
    tasks.spawn(async move { alive::run(&control, silence, &own_lease, &starting).await });
    let (revoked, own_lease) = (stop.revoked.clone(), Arc::clone(lease));
    tasks.spawn(async move {
        revoked.cancelled().await;
        own_lease.revoke();
    });
    let (now, own_lease) = (stop.now.clone(), Arc::clone(lease));
    tasks.spawn(async move {
        now.cancelled().await;
        let reason = STOP_REASON.to_owned();
        own_lease.cancel(Cancellation { grace: STOP_GRACE, reason, by: CanceledBy::Runner });
    });
    tasks
}

impl<B: Backend> Work<'_, B> {
    async fn carry_out(&self) {
        let mut failure = None;
        let (mut error, timed_out) = match self.stages().await {
            Outcome::Done => (None, false),
            Outcome::Over => return,
            Outcome::Error(trouble) => {
                failure = trouble.failure;
                (Some(trouble.message), false)
            }
            Outcome::TimedOut(words) => (words, true),
        };
        if let Some(Cancellation { by: CanceledBy::Runner, reason, .. }) = self.lease.cancellation() {
            error = Some(reason);
            failure = None;
        }
        if let Some(error) = &error {
            tracing::warn!(error, "the job could not be carried out");
        }
        let complete = Complete { error, timed_out, commit_id: None, failure };
        if let Err(error) = insist(self.lease, "end of the job", || self.client.complete(&complete)).await {
            tracing::warn!(%error, "the job's end was not accepted");
        }
    }

    async fn stages(&self) -> Outcome {
        // Nothing begins before it is known for how long the job is ours.
        tokio::select! {
            biased;
            () = self.lease.over() => return Outcome::Over,
            () = self.lease.confirmed() => {}
        }
        let materials =
            Materials { job: self.job, client: self.client, lease: self.lease, folder: self.folder };
        let ready = async {
            let images = self.prepare(&materials).await?;
            let found = materials.restore_caches().await;
            self.give_workspace().await?;
            Ok::<_, Trouble>((images, found))
        };
        let (images, found) = match self.unless_interrupted(ready).await {
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
                StepOutcome::Over => return Outcome::Over,
                StepOutcome::Failed(error) => return Outcome::Error(error.into()),
            }
        }
        let leave = async {
            materials.keep_artifact().await?;
            materials.save_caches(&found).await;
            Ok::<_, Trouble>(())
        };
        match self.unless_interrupted(leave).await {
            Ok(()) => Outcome::Done,
            Err(outcome) => outcome,
        }
    }

    /// Everything that may fail before the first step.
    async fn prepare(&self, materials: &Materials<'_>) -> Result<Images, Trouble> {
        if let Some(source) = &self.job.source {
            let done = checkout(source, &self.folder.workspace(), self.access).await;
            let done = done.map_err(|error| Trouble {
                failure: error.failure,
                message: format!("the checkout failed: {error}"),
            })?;
            let reported = insist(self.lease, "checkout", || self.client.checked_out(&done)).await;
            reported.map_err(|error| format!("what was checked out was not accepted: {error}"))?;
        }
        materials.unpack_inputs().await?;
        self.backend.ready(self.job, self.slot).await.map_err(|error| Trouble {
            failure: match error {
                NotReady::ImageNotFound(_) => Some(PermanentFailure::ImageNotFound),
                NotReady::Other(_) => None,
            },
            message: error.to_string(),
        })
    }

    async fn give_workspace(&self) -> Result<(), String> {
        match self.backend.owner() {
            Some(owner) => self
                .folder
                .give_workspace(owner)
                .await
                .map_err(|error| format!("the workspace could not be given to the steps' user: {error}")),
            None => Ok(()),
        }
    }

    /// Work that no step is part of: it is dropped when the job is canceled, lost, or out of time.
    async fn unless_interrupted<T>(
        &self,
        work: impl Future<Output = Result<T, Trouble>>,
    ) -> Result<T, Outcome> {
        tokio::select! {
            biased;
            () = self.lease.over() => Err(Outcome::Over),
            done = work => done.map_err(Outcome::Error),
            _ = self.lease.canceled() => Err(Outcome::Done),
            () = tokio::time::sleep_until(self.deadline) => {
                let words = format!("the stage took more than {} s", self.job.timeout_seconds);
                Err(Outcome::TimedOut(Some(words)))
            }
        }
    }
}
