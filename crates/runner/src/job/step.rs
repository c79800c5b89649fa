//! One step: asks the server, runs it, ships its log, reports its end.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use greenroom_api_types::runner::{JobStep, StepEnd, StepEndStatus, StepStart};
use greenroom_client::{Appended, JobClient};
use jiff::Timestamp;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::Work;
use super::lease::{Cancellation, Lease};
use super::patience::{Unanswered, insist};
use super::verdict::{End, Interruption, verdict};
use crate::backend::{Backend, Ended, Images, OUTPUT_FILE, Running, StepPlan};
use crate::job::outputs;
use crate::log::{Limits, LogEnd, Masker, Pump, Signs, Sink, Taken};

/// How long a step whose time is over may take to end after it was asked.
pub(super) const TIMEOUT_GRACE: Duration = Duration::from_secs(10);

/// The code with which the server rejects what a request says.
const INVALID_REQUEST: &str = "invalid_request";

const UNKNOWN_END_PATIENCE: Duration = Duration::from_secs(30);

/// How a step went, for what comes after it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum StepOutcome {
    /// The next one may run.
    Succeeded,
    /// The server knows how it ended, or that it did not start; nothing more is to run.
    Ended,
    /// The same: it was ended because its time was over, or the stage's.
    TimedOut,
    /// The job is no longer this runner's.
    Over,
    /// The platform could not, before the step had started.
    Failed(String),
}

impl<B: Backend> Work<'_, B> {
    pub(super) async fn step(&self, number: usize, step: &JobStep, images: &Images) -> StepOutcome {
        let plan = match self.plan(number, step, images) {
            Ok(plan) => plan,
            Err(error) => {
                return StepOutcome::Failed(format!("the step's folder could not be made: {error}"));
            }
        };
        let mut running = match self.backend.prepare(&plan).await {
            Ok(running) => running,
            Err(error) => return StepOutcome::Failed(error.to_string()),
        };
        let begin = StepStart { image_digest: images.get(&step.image).map(|image| image.digest.clone()) };
        let outcome = self.run_prepared(step, (&plan, &begin), &mut running).await;
        if let Err(error) = running.remove().await {
            tracing::error!(%error, "a step could not be cleared away");
        }
        outcome
    }

    fn plan(&self, number: usize, step: &JobStep, images: &Images) -> std::io::Result<StepPlan> {
        Ok(StepPlan {
            job_id: self.job.job_id.clone(),
            step_run_id: step.step_run_id.clone(),
            slot: self.slot,
            image: images.get(&step.image).map_or(&step.image, |image| &image.reference).clone(),
            run: step.run.clone(),
            network: self.job.network,
            variables: step.variables.clone(),
            silence: Duration::from_secs(self.job.silence_seconds.into()),
            folders: self.folder.step(number, &step.run, self.backend.owner())?,
        })
    }

    async fn run_prepared(
        &self,
        step: &JobStep,
        (plan, begin): (&StepPlan, &StepStart),
        running: &mut B::Running,
    ) -> StepOutcome {
        let id = &step.step_run_id;
        // Here the server checks the fence. Nothing of the step has run before this was answered.
        let allowed = tokio::select! {
            allowed = insist(self.lease, "start of a step", || self.client.start_step(id, begin)) => allowed,
            // It will not run any more, whatever the server answers.
            _ = self.lease.canceled() => return StepOutcome::Ended,
            () = tokio::time::sleep_until(self.deadline) => return StepOutcome::TimedOut,
        };
        match allowed {
            Ok(()) => {}
            Err(Unanswered::Over) => return StepOutcome::Over,
            Err(Unanswered::Refused { code, detail }) => {
                tracing::info!(code, detail, step = step.name, "the step may not start");
                return StepOutcome::Ended;
            }
            Err(Unanswered::Local(reason) | Unanswered::GivenUp(reason)) => {
                return StepOutcome::Failed(reason);
            }
        }
        let Some(end) = self.run_allowed(step, running).await else { return StepOutcome::Over };
        let too_long = matches!(end.interruption, Some(Interruption::TooLong(_)));
        let report = verdict(end, || outputs::read(&plan.folders.output.join(OUTPUT_FILE)));
        match self.report(step, &report).await {
            StepOutcome::Ended if too_long && report.status == StepEndStatus::Failed => StepOutcome::TimedOut,
            outcome => outcome,
        }
    }

    async fn report(&self, step: &JobStep, report: &StepEnd) -> StepOutcome {
        tracing::info!(step = step.name, status = ?report.status, reason = report.reason, "step ended");
        match insist(self.lease, "end of a step", || self.client.end_step(&step.step_run_id, report)).await {
            Ok(()) if report.status == StepEndStatus::Succeeded => StepOutcome::Succeeded,
            Ok(()) => StepOutcome::Ended,
            Err(Unanswered::Over) => StepOutcome::Over,
            Err(Unanswered::Refused { code, detail })
                if code == INVALID_REQUEST && !report.outputs.is_empty() =>
            {
                let rejected = StepEnd {
                    status: StepEndStatus::Failed,
                    reason: Some(format!("the step's outputs were rejected: {detail}")),
                    outputs: BTreeMap::new(),
                    ..report.clone()
                };
                Box::pin(self.report(step, &rejected)).await
            }
            Err(error) => {
                tracing::error!(%error, step = step.name, "the step's end was not accepted");
                StepOutcome::Ended
            }
        }
    }

    /// None if the job stopped being this runner's; then nothing of the step runs any more.
    async fn run_allowed(&self, step: &JobStep, running: &mut B::Running) -> Option<End> {
        if let Some(cancellation) = self.lease.cancellation() {
            return Some(End::not_started(Interruption::Canceled(cancellation.reason)));
        }
        // The server's answer may be old: this process may have been paused since.
        if !self.lease.is_valid() {
            return None;
        }
        let started = tokio::select! {
            biased;
            // What the engine still starts ends when the step is removed; its entrypoint has started nothing by then.
            () = self.lease.over() => return None,
            started = running.start() => started,
        };
        let output = match started {
            Ok(output) => output,
            Err(error) => return Some(End::not_started(Interruption::Trouble(error.to_string()))),
        };
        self.starting.begin();
        let signs = Signs::default();
        let masker = match Masker::new::<&[u8]>(&[]) {
            Ok(masker) => masker,
            Err(error) => return Some(End::not_started(Interruption::Trouble(error))),
        };
        let sink = StepLog {
            client: self.client.clone(),
            lease: self.lease.clone(),
            step_run_id: step.step_run_id.clone(),
        };
        let limits = Limits { bytes: self.job.log_limit_bytes };
        let mut pump = JoinSet::new();
        pump.spawn(Pump::new(sink, masker, limits, signs.clone()).run(output));

        let (ended, interruption) = self.until_ended(step, running, &signs).await?;
        signs.step_ended.cancel();
        let log = tokio::select! {
            biased;
            () = self.lease.over() => return None,
            log = pump.join_next() => log,
            // Of a step that may still run nobody knows when its log is complete.
            () = tokio::time::sleep(UNKNOWN_END_PATIENCE), if ended.is_none() => None,
        };
        let lost =
            |error: &dyn std::fmt::Display| LogEnd::Lost(0, format!("the log was not shipped: {error}"));
        let log = match log {
            Some(Ok(log)) => log,
            Some(Err(error)) => lost(&error),
            None => lost(&"it does not end"),
        };
        Some(End { ended, interruption, log })
    }

    /// Waits for the step, and sees to it that it ends when it has to. When this returns, nothing of it runs.
    async fn until_ended(
        &self,
        step: &JobStep,
        running: &mut B::Running,
        signs: &Signs,
    ) -> Option<(Option<Ended>, Option<Interruption>)> {
        let mut interruption = None;
        let mut kill_at: Option<Instant> = None;
        // How much time it was given when it was asked to end, and when that was.
        let mut asked: Option<(Duration, Instant)> = None;
        let (deadline, too_long) = self.deadline(step);
        loop {
            tokio::select! {
                biased;
                () = self.lease.over() => {
                    tracing::warn!(step = step.name, "the job is no longer this runner's: killing the step");
                    self.kill(running).await;
                    return None;
                }
                ended = running.wait() => match ended {
                    Ok(ended) => return Some((Some(ended), interruption)),
                    Err(error) => {
                        self.kill(running).await;
                        return Some((None, Some(Interruption::Trouble(error.to_string()))));
                    }
                },
                () = signs.hopeless.cancelled(), if kill_at.is_none_or(|at| at > Instant::now()) => {
                    kill_at = Some(Instant::now());
                }
                Cancellation { grace, reason, .. } = self.lease.canceled(), if interruption.is_none() => {
                    tracing::info!(step = step.name, reason, "asking the step to end");
                    interruption = Some(Interruption::Canceled(reason));
                    asked = Some((grace, Instant::now()));
                    kill_at = Some(self.ask(running, grace).await);
                }
                grace = hurried(self.lease, asked), if asked.is_some() && kill_at.is_some() => {
                    let since = asked.map_or_else(Instant::now, |(_, since)| since);
                    asked = Some((grace, since));
                    kill_at = kill_at.map(|at| at.min(since + grace));
                }
                () = tokio::time::sleep_until(deadline), if interruption.is_none() => {
                    interruption = Some(Interruption::TooLong(too_long.clone()));
                    kill_at = Some(self.ask(running, TIMEOUT_GRACE).await);
                }
                () = at(kill_at), if kill_at.is_some() => {
                    if !self.kill(running).await {
                        let words = "the step could not be killed; it may still run".to_owned();
                        return Some((None, Some(Interruption::Trouble(words))));
                    }
                    kill_at = None;
                }
            }
        }
    }

    /// When the step's time is over, or the stage's, whichever comes first, and what to say then.
    fn deadline(&self, step: &JobStep) -> (Instant, String) {
        let own = step.timeout_seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
        match (own, step.timeout_seconds) {
            (Some(own), Some(seconds)) if own < self.deadline => {
                (own, format!("the step took more than {seconds} s"))
            }
            _ => (self.deadline, format!("the stage took more than {} s", self.job.timeout_seconds)),
        }
    }

    /// When it is to be killed.
    async fn ask(&self, running: &mut B::Running, grace: Duration) -> Instant {
        if let Err(error) = running.stop().await {
            tracing::warn!(%error, "killing the step instead of asking it to end");
            return Instant::now();
        }
        Instant::now() + grace
    }

    async fn kill(&self, running: &mut B::Running) -> bool {
        let killed = running.kill().await;
        if let Err(error) = &killed {
            tracing::error!(%error, "a step could not be killed");
        }
        killed.is_ok()
    }
}

/// Until less time is given than at first.
async fn hurried(lease: &Lease, asked: Option<(Duration, Instant)>) -> Duration {
    match asked {
        Some((grace, _)) => lease.hurried(grace).await,
        None => std::future::pending().await,
    }
}

async fn at(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// The server, as the place where a step's log goes.
struct StepLog {
    client: JobClient,
    lease: std::sync::Arc<Lease>,
    step_run_id: String,
}

impl Sink for StepLog {
    async fn append(&self, offset: u64, at: Timestamp, bytes: Bytes) -> Taken {
        let append = || self.client.append_log(&self.step_run_id, offset, at, bytes.clone());
        match insist(&self.lease, "a piece of log", append).await {
            Ok(Appended::Taken(length) | Appended::Expected(length)) => Taken::UpTo(length),
            Err(Unanswered::Refused { code, .. }) if code == "log_limit_exceeded" => Taken::Full,
            Err(error) => Taken::Lost(format!("the log could not be delivered: {error}")),
        }
    }
}
