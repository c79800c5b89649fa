//! Takes jobs, as many at once as there is room for, until it is told to stop.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use greenroom_api_types::runner::{Acquire, Job};
use greenroom_client::{Error, RunnerClient};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::backend::Backend;
use crate::checkout::Access;
use crate::job;
use crate::job::folders::WorkDir;
use crate::job::patience::Pauses;
use crate::slots::{Slot, Slots};

/// How long to wait after the server has refused: somebody has to change something first.
const REFUSED_PAUSE: Duration = Duration::from_secs(30);
/// How many places ask for a job at once. With one after the other, many places would be filled slowly, and jobs would
/// lie in their queue while there is room for them; each that asks is a request that the server keeps open.
const ASKING: usize = 4;

pub struct Runner<B> {
    pub client: RunnerClient,
    pub backend: Arc<B>,
    pub work_dir: Arc<WorkDir>,
    pub concurrency: u32,
    pub access: Arc<Access>,
    pub drain: Duration,
}

/// How a runner is told to stop.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    /// No more jobs; what runs may go on for the drain time.
    pub drain: CancellationToken,
    /// What runs is to end now.
    pub now: CancellationToken,
    /// The runner's token was revoked: nothing of its jobs may run any more, and nothing is reported.
    pub revoked: CancellationToken,
}

/// Why a runner has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It was told to.
    Stopped,
    /// Its token was revoked: it would never get a job again.
    Revoked,
}

/// A job, when it was requested, and the slot in which it runs.
type Taken = (Job, Instant, Slot);

impl<B: Backend> Runner<B> {
    /// Until it is told to stop, or its token is revoked, and every job has ended.
    pub async fn run(self, stop: Stop) -> anyhow::Result<Ending> {
        self.backend.sweep().await?;
        self.work_dir.sweep().await?;
        let slots = Slots::new(self.concurrency);
        let mut jobs = JoinSet::new();
        let mut asking: FuturesUnordered<_> =
            (0..ASKING).map(|_| self.next_job(&slots, Pauses::default(), &stop.revoked)).collect();
        loop {
            while jobs.try_join_next().is_some() {}
            let (job, pauses) = tokio::select! {
                biased;
                () = stop.revoked.cancelled() => break,
                () = stop.drain.cancelled() => break,
                Some(asked) = asking.next() => asked,
            };
            asking.push(self.next_job(&slots, pauses, &stop.revoked));
            let Some((job, asked, slot)) = job else { continue };
            let span =
                tracing::info_span!("job", id = job.job_id, pipeline = job.pipeline, stage = job.stage);
            let work = self.carry_out((Arc::new(job), asked), slot, stop.clone());
            jobs.spawn(work.instrument(span));
        }
        drop(asking);
        if !stop.revoked.is_cancelled() {
            self.drain(jobs, &stop).await;
        } else if !jobs.is_empty() {
            tracing::warn!(jobs = jobs.len(), "ending the jobs of this revoked runner");
            while jobs.join_next().await.is_some() {}
        }
        // No job runs any more, so that everything with this runner's labels is to be removed, such as its networks.
        if let Err(error) = self.backend.sweep().await {
            tracing::warn!(%error, "something was left behind; the next start removes it");
        }
        Ok(if stop.revoked.is_cancelled() { Ending::Revoked } else { Ending::Stopped })
    }

    /// Waits for a slot, and then for a job; none if none came. Also the pauses to go on with.
    async fn next_job(
        &self,
        slots: &Slots,
        mut pauses: Pauses,
        revoked: &CancellationToken,
    ) -> (Option<Taken>, Pauses) {
        let Some(slot) = slots.take().await else { return (None, pauses) };
        let ask = Acquire { wait_seconds: None, version: Some(env!("CARGO_PKG_VERSION").to_owned()) };
        let asked = Instant::now();
        let pause = match self.client.acquire(&ask).await {
            Ok(job) => return (job.map(|job| (job, asked, slot)), Pauses::default()),
            Err(Error::Unavailable { reason, retry_after, .. }) => {
                tracing::warn!(reason, "the server could not be asked for a job");
                pauses.next(retry_after)
            }
            Err(error) if error.is_runner_revoked() => {
                tracing::error!("this runner's token was revoked; an admin can make a new runner");
                revoked.cancel();
                return (None, pauses);
            }
            Err(Error::Refused { status: 404, .. }) => {
                tracing::error!(
                    "the server has no jobs for runners at this address; does --url end with /api/v1?"
                );
                REFUSED_PAUSE
            }
            Err(error) => {
                tracing::error!(%error, "the server gives this runner no jobs; is its token still good?");
                REFUSED_PAUSE
            }
        };
        tokio::time::sleep(pause).await;
        (None, pauses)
    }

    fn carry_out(
        &self,
        (job, asked): (Arc<Job>, Instant),
        slot: Slot,
        stop: Stop,
    ) -> impl Future<Output = ()> + Send + use<B> {
        let (client, backend, work_dir) =
            (self.client.clone(), Arc::clone(&self.backend), Arc::clone(&self.work_dir));
        let access = Arc::clone(&self.access);
        async move {
            tracing::info!(attempt = job.attempt, steps = job.steps.len(), "taken");
            // Without a folder or a client the job is left alone: its lease runs out, and the server gives it to another.
            let prepared = work_dir.job(&job.job_id).map_err(|error| error.to_string());
            let prepared = prepared.and_then(|folder| {
                client.job(&job).map(|client| (folder, client)).map_err(|error| error.to_string())
            });
            match prepared {
                Ok((folder, client)) => {
                    let place = job::Place { folder: &folder, slot: slot.number(), access: &access };
                    job::run((job, asked), &client, place, backend.as_ref(), &stop).await
                }
                Err(error) => tracing::error!(error, "the job cannot be begun"),
            }
            tracing::info!("done");
            drop(slot);
        }
    }

    async fn drain(&self, mut jobs: JoinSet<()>, stop: &Stop) {
        tracing::info!(jobs = jobs.len(), "taking no more jobs");
        let all_ended = async { while jobs.join_next().await.is_some() {} };
        tokio::pin!(all_ended);
        tokio::select! {
            () = &mut all_ended => return,
            () = tokio::time::sleep(self.drain) => {}
            () = stop.now.cancelled() => {}
        }
        tracing::warn!("the drain time is over: ending what still runs");
        stop.now.cancel();
        all_ended.await;
    }
}
