//! Acquires jobs and runs as many concurrently as there are slots, until shutdown.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use greenroom_api_types::runner::Acquire;
use greenroom_client::{Error, RunnerClient};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::backend::Backend;
use crate::checkout::Access;
use crate::error_chain::error_chain;
use crate::job::folders::WorkDir;
use crate::job::retry::Backoff;
use crate::job::{self, AcquiredJob};
use crate::slots::{Slot, Slots};
pub use crate::stop::Stop;

/// The delay after a refusal by the server, which an operator has to resolve.
const REFUSED_DELAY: Duration = Duration::from_secs(30);
/// How many free slots request a job concurrently. With only one request at a time, many free slots would be
/// filled slowly while jobs wait in the queue. With more, the server would have to keep more requests open.
const CONCURRENT_ACQUIRES: usize = 4;

pub struct Runner<B> {
    pub client: RunnerClient,
    pub backend: Arc<B>,
    pub work_dir: Arc<WorkDir>,
    pub concurrency: u32,
    pub access: Arc<Access>,
    pub drain: Duration,
}

/// Why a runner has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It was shut down.
    Stopped,
    /// Its token was revoked. It would never get a job again.
    Revoked,
}

impl<B: Backend> Runner<B> {
    /// Runs until a shutdown or until the token is revoked, and until every job has ended.
    pub async fn run(self, stop: Stop) -> anyhow::Result<Ending> {
        self.backend.sweep().await?;
        self.work_dir.sweep().await?;
        let slots = Slots::new(self.concurrency);
        let mut jobs = JoinSet::new();
        let mut acquiring: FuturesUnordered<_> = (0..CONCURRENT_ACQUIRES)
            .map(|_| self.next_job(&slots, Backoff::default(), &stop.revoked))
            .collect();
        loop {
            while jobs.try_join_next().is_some() {}
            let (acquired, backoff) = tokio::select! {
                biased;
                () = stop.revoked.cancelled() => break,
                () = stop.drain.cancelled() => break,
                Some(acquired) = acquiring.next() => acquired,
            };
            acquiring.push(self.next_job(&slots, backoff, &stop.revoked));
            let Some((acquired, slot)) = acquired else { continue };
            let job = &acquired.job;
            let span =
                tracing::info_span!("job", id = job.job_id, pipeline = job.pipeline, stage = job.stage);
            let work = self.run_job(acquired, slot, stop.clone());
            jobs.spawn(work.instrument(span));
        }
        drop(acquiring);
        if !stop.revoked.is_cancelled() {
            self.drain(jobs, &stop).await;
        } else if !jobs.is_empty() {
            tracing::warn!(jobs = jobs.len(), "killing the jobs of this revoked runner");
            while jobs.join_next().await.is_some() {}
        }
        // No job runs any more, so everything with this runner's labels can be removed, such as its networks.
        if let Err(error) = self.backend.sweep().await {
            tracing::warn!(
                error = error_chain(&error),
                "could not clean up; the next start removes what is left"
            );
        }
        Ok(if stop.revoked.is_cancelled() { Ending::Revoked } else { Ending::Stopped })
    }

    /// Waits for a slot and then requests a job. Returns the job with its slot, if there was one, and the
    /// back-off for the next request.
    async fn next_job(
        &self,
        slots: &Slots,
        mut backoff: Backoff,
        revoked: &CancellationToken,
    ) -> (Option<(AcquiredJob, Slot)>, Backoff) {
        let Some(slot) = slots.take().await else { return (None, backoff) };
        let request = Acquire { wait_seconds: None, version: Some(env!("CARGO_PKG_VERSION").to_owned()) };
        let requested_at = Instant::now();
        let delay = match self.client.acquire(&request).await {
            Ok(job) => {
                let acquired = |job| (AcquiredJob { job: Arc::new(job), requested_at }, slot);
                return (job.map(acquired), Backoff::default());
            }
            Err(Error::Unavailable { reason, retry_after, .. }) => {
                tracing::warn!(reason, "could not request a job");
                backoff.next_delay(retry_after)
            }
            Err(error) if error.is_runner_revoked() => {
                tracing::error!("this runner's token was revoked; an admin can make a new runner");
                revoked.cancel();
                return (None, backoff);
            }
            Err(Error::Refused { status: 404, .. }) => {
                tracing::error!(
                    "the server has no jobs for runners at this address; does --url end with /api/v1?"
                );
                REFUSED_DELAY
            }
            Err(error) => {
                tracing::error!(%error, "the server gives this runner no jobs; is its token still valid?");
                REFUSED_DELAY
            }
        };
        tokio::time::sleep(delay).await;
        (None, backoff)
    }

    fn run_job(
        &self,
        acquired: AcquiredJob,
        slot: Slot,
        stop: Stop,
    ) -> impl Future<Output = ()> + Send + use<B> {
        let (client, backend, work_dir) =
            (self.client.clone(), Arc::clone(&self.backend), Arc::clone(&self.work_dir));
        let access = Arc::clone(&self.access);
        async move {
            let job = &acquired.job;
            tracing::info!(attempt = job.attempt, steps = job.steps.len(), "job acquired");
            // Without a folder or a client the job is abandoned: its lease expires, and the server gives it
            // to another runner.
            let prepared = work_dir.job(&job.job_id).map_err(|error| error.to_string());
            let prepared = prepared.and_then(|folder| {
                client.job(job).map(|client| (folder, client)).map_err(|error| error.to_string())
            });
            match prepared {
                Ok((folder, client)) => {
                    let resources = job::JobResources {
                        folder: &folder,
                        slot: slot.number(),
                        access: &access,
                        step_archives: work_dir.step_archives(),
                    };
                    job::run(acquired, &client, resources, backend.as_ref(), &stop).await
                }
                Err(error) => tracing::error!(error, "could not start the job"),
            }
            tracing::info!("job ended");
            drop(slot);
        }
    }

    async fn drain(&self, mut jobs: JoinSet<()>, stop: &Stop) {
        tracing::info!(jobs = jobs.len(), "draining: acquiring no more jobs");
        let all_ended = async { while jobs.join_next().await.is_some() {} };
        tokio::pin!(all_ended);
        tokio::select! {
            () = &mut all_ended => return,
            () = tokio::time::sleep(self.drain) => {}
            () = stop.now.cancelled() => {}
        }
        tracing::warn!("the drain time is over: terminating running jobs");
        stop.now.cancel();
        all_ended.await;
    }
}
