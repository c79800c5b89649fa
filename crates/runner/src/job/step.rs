//! Runs one step: requests its start from the server, runs it, ships its log, reports its end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use greenroom_api_types::runner::{JobStep, StepEnd, StepEndStatus, StepStart};
use greenroom_client::{Appended, JobClient};
use greenroom_traces::Span;
use jiff::Timestamp;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::error::JobError;
use super::id_token_renewal::Renewal;
use super::id_tokens::IdTokens;
use super::lease::{Cancellation, Lease};
use super::retry::{RequestFailure, retry_while_leased};
use super::secrets::Secrets;
use super::step_end::{FinishedStep, Interruption, step_end};
use super::variables;
use super::work::Work;
use crate::backend::{Backend, Ended, Images, OUTPUT_FILE, RegistryStepFiles, Running, StepPlan};
use crate::error_chain::error_chain;
use crate::job::outputs;
use crate::log::{AppendResult, Limits, LogEnd, LogSignals, Pump, Sink, mask};

/// How long a step that has timed out may take to end after SIGTERM.
pub(super) const TIMEOUT_GRACE: Duration = Duration::from_secs(10);

/// The server's error code for a request with invalid content.
const INVALID_REQUEST: &str = "invalid_request";

/// How long to wait for the rest of the log if it is unknown whether the step has ended.
const UNKNOWN_END_TIMEOUT: Duration = Duration::from_secs(30);

/// How a step ended, for the steps after it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum StepOutcome {
    /// The next step may run.
    Succeeded,
    /// The step's end was reported, or the step was not started. No further step may run.
    Ended,
    /// Like `Ended`, because the step or the stage has timed out.
    TimedOut,
    /// This runner has lost the job.
    LeaseEnded,
    /// The step can't be prepared, or an error of the platform occurred before it was started.
    Failed(JobError),
}

impl StepOutcome {
    fn failed(message: String) -> Self {
        StepOutcome::Failed(message.into())
    }
}

impl<B: Backend> Work<'_, B> {
    pub(super) async fn step(&self, number: usize, step: &JobStep, images: &Images) -> StepOutcome {
        let registry_step = match self.prepare_registry_step(number, step).await {
            Ok(files) => files,
            Err(outcome) => return outcome,
        };
        let span = self.span.child("step");
        span.set("greenroom.step", step.name.clone());
        let plan = match self.plan(number, step, images, registry_step, &span) {
            Ok(plan) => plan,
            Err(error) => {
                return StepOutcome::failed(format!("could not create the step's folder: {error}"));
            }
        };
        let mut running = match self.backend.prepare(&plan).await {
            Ok(running) => running,
            Err(error) => {
                tracing::warn!(error = error_chain(&error), "could not prepare the step");
                return StepOutcome::failed(error.to_string());
            }
        };
        let start = StepStart { image_digest: images.get(&step.image).map(|image| image.digest.clone()) };
        let outcome = self.run_prepared((step, &span), &plan, &start, &mut running).await;
        if let Err(error) = running.remove().await {
            tracing::error!(error = error_chain(&error), "could not remove a step");
        }
        outcome
    }

    fn plan(
        &self,
        number: usize,
        step: &JobStep,
        images: &Images,
        registry_step: Option<RegistryStepFiles>,
        span: &Span,
    ) -> std::io::Result<StepPlan> {
        Ok(StepPlan {
            job_id: self.job.job_id.clone(),
            step_run_id: step.step_run_id.clone(),
            slot: self.slot,
            image: images.get(&step.image).map_or(&step.image, |image| &image.reference).clone(),
            run: step.run.clone(),
            network: self.job.network,
            variables: variables::with_trace(step, span, self.job),
            silence: Duration::from_secs(self.job.silence_seconds.into()),
            folders: self.folder.step(number, &step.run, registry_step, self.backend.owner())?,
        })
    }

    async fn run_prepared(
        &self,
        (step, span): (&JobStep, &Span),
        plan: &StepPlan,
        start: &StepStart,
        running: &mut B::Running,
    ) -> StepOutcome {
        let id = &step.step_run_id;
        // The server checks the fence here. No part of the step has run before its response.
        let request = || async move {
            let requested_at = Instant::now();
            self.client.start_step(id, start).await.map(|started| (started, requested_at))
        };
        let allowed = tokio::select! {
            allowed = retry_while_leased(self.lease, "start of a step", request) => allowed,
            // The step will not run, whatever the server's response is.
            _ = self.lease.canceled() => return StepOutcome::Ended,
            () = tokio::time::sleep_until(self.deadline) => return StepOutcome::TimedOut,
        };
        let (started, requested_at) = match allowed {
            Ok(started) => started,
            Err(RequestFailure::LeaseEnded) => return StepOutcome::LeaseEnded,
            Err(RequestFailure::Refused { code, detail }) => {
                tracing::info!(code, detail, step = step.name, "the server did not allow the step to start");
                return StepOutcome::Ended;
            }
            Err(RequestFailure::Local(error)) => return StepOutcome::failed(error.to_string()),
            Err(RequestFailure::GivenUp(reason)) => return StepOutcome::failed(reason),
        };
        let allowed = variables::check(step, &started);
        let received = || IdTokens::received(started.id_tokens, requested_at);
        let tokens = allowed.and_then(|()| received().map_err(Interruption::PlatformError));
        let prepared = match tokens {
            Ok(tokens) => {
                let credentials = self.credentials.received();
                let secrets = Secrets::prepare(&started.secrets, &credentials, &tokens).await;
                secrets.map(|secrets| (secrets, tokens))
            }
            Err(interruption) => Err(interruption),
        };
        let (end, patterns) = match prepared {
            Ok((mut secrets, tokens)) => {
                let end = self.run_allowed(step, running, &mut secrets, tokens).await;
                (end, secrets.masked.patterns())
            }
            Err(interruption) => (Some(FinishedStep::not_started(interruption)), Arc::default()),
        };
        let Some(end) = end else { return StepOutcome::LeaseEnded };
        let has_timed_out = matches!(end.interruption, Some(Interruption::TimedOut(_)));
        let mut report = step_end(end, || outputs::read(&plan.folders.output.join(OUTPUT_FILE), &patterns));
        report.reason = report.reason.map(|reason| mask(&patterns, &reason));
        if report.status != StepEndStatus::Succeeded {
            span.fail("the step did not succeed");
        }
        match self.report(step, &report).await {
            StepOutcome::Ended if has_timed_out && report.status == StepEndStatus::Failed => {
                StepOutcome::TimedOut
            }
            outcome => outcome,
        }
    }

    async fn report(&self, step: &JobStep, report: &StepEnd) -> StepOutcome {
        tracing::info!(step = step.name, status = ?report.status, reason = report.reason, "step ended");
        match retry_while_leased(self.lease, "end of a step", || {
            self.client.end_step(&step.step_run_id, report)
        })
        .await
        {
            Ok(()) if report.status == StepEndStatus::Succeeded => StepOutcome::Succeeded,
            Ok(()) => StepOutcome::Ended,
            Err(RequestFailure::LeaseEnded) => StepOutcome::LeaseEnded,
            Err(RequestFailure::Refused { code, detail })
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
                tracing::error!(
                    error = error_chain(&error),
                    step = step.name,
                    "could not report the end of the step"
                );
                StepOutcome::Ended
            }
        }
    }

    /// Runs a step that the server has allowed. Returns `None` if this runner has lost the job; no process of
    /// the step runs then.
    async fn run_allowed(
        &self,
        step: &JobStep,
        running: &mut B::Running,
        secrets: &mut Secrets,
        tokens: IdTokens,
    ) -> Option<FinishedStep> {
        if let Some(cancellation) = self.lease.cancellation() {
            return Some(FinishedStep::not_started(Interruption::Canceled(cancellation.reason)));
        }
        // The server's response may be stale: this process may have been paused since.
        if !self.lease.is_valid() {
            return None;
        }
        let started = tokio::select! {
            biased;
            // A container that the engine still starts is killed when the step is removed; its entrypoint has
            // not started the program by then.
            () = self.lease.ended() => return None,
            started = running.start(&secrets.values) => started,
        };
        // The step's files can be replaced until this is dropped.
        let (output, mut files) = match started {
            Ok(started) => started,
            Err(error) => {
                tracing::warn!(error = error_chain(&error), "could not start the step");
                return Some(FinishedStep::not_started(Interruption::PlatformError(error.to_string())));
            }
        };
        self.start_signal.notify();
        let signals = LogSignals::default();
        let sink = StepLog {
            client: self.client.clone(),
            lease: self.lease.clone(),
            step_run_id: step.step_run_id.clone(),
        };
        let limits = Limits { bytes: self.job.log_limit_bytes };
        let mut pump = JoinSet::new();
        let patterns = secrets.masked.subscribe();
        pump.spawn(Pump::new(sink, patterns, limits, signals.clone()).run(output));

        let renewal = Renewal {
            client: self.client,
            lease: self.lease,
            step_run_id: &step.step_run_id,
            masked: &mut secrets.masked,
            files: &mut files,
        };
        let (ended, interruption) = tokio::select! {
            biased;
            end = self.wait_for_end(step, running, &signals) => end?,
            never = renewal.run(tokens) => match never {},
        };
        signals.step_ended.cancel();
        let log = tokio::select! {
            biased;
            () = self.lease.ended() => return None,
            log = pump.join_next() => log,
            // The log of a step that may still run may never end.
            () = tokio::time::sleep(UNKNOWN_END_TIMEOUT), if ended.is_none() => None,
        };
        let lost =
            |error: &dyn std::fmt::Display| LogEnd::Lost(0, format!("the log was not shipped: {error}"));
        let log = match log {
            Some(Ok(log)) => log,
            Some(Err(error)) => lost(&error),
            None => lost(&"the output does not end"),
        };
        Some(FinishedStep { ended, interruption, log })
    }

    /// Waits for the step, and stops it on cancellation, timeout or a lost lease. No process of it runs when
    /// this returns.
    async fn wait_for_end(
        &self,
        step: &JobStep,
        running: &mut B::Running,
        signals: &LogSignals,
    ) -> Option<(Option<Ended>, Option<Interruption>)> {
        let mut interruption = None;
        let mut kill_at: Option<Instant> = None;
        // The grace of a canceled step, and when it was canceled.
        let mut canceled: Option<(Duration, Instant)> = None;
        let (deadline, timeout_reason) = self.deadline(step);
        loop {
            tokio::select! {
                biased;
                () = self.lease.ended() => {
                    tracing::warn!(step = step.name, "this runner has lost the job: killing the step");
                    self.kill(running).await;
                    return None;
                }
                ended = running.wait() => match ended {
                    Ok(ended) => return Some((Some(ended), interruption)),
                    Err(error) => {
                        tracing::warn!(error = error_chain(&error), "could not wait for the step; killing it");
                        self.kill(running).await;
                        return Some((None, Some(Interruption::PlatformError(error.to_string()))));
                    }
                },
                () = signals.kill_step.cancelled(), if kill_at.is_none_or(|at| at > Instant::now()) => {
                    kill_at = Some(Instant::now());
                }
                Cancellation { grace, reason, .. } = self.lease.canceled(), if interruption.is_none() => {
                    tracing::info!(step = step.name, reason, "terminating the step");
                    interruption = Some(Interruption::Canceled(reason));
                    canceled = Some((grace, Instant::now()));
                    kill_at = Some(self.terminate(running, grace).await);
                }
                grace = grace_shortened(self.lease, canceled), if canceled.is_some() && kill_at.is_some() => {
                    let since = canceled.map_or_else(Instant::now, |(_, since)| since);
                    canceled = Some((grace, since));
                    kill_at = kill_at.map(|at| at.min(since + grace));
                }
                () = tokio::time::sleep_until(deadline), if interruption.is_none() => {
                    interruption = Some(Interruption::TimedOut(timeout_reason.clone()));
                    kill_at = Some(self.terminate(running, TIMEOUT_GRACE).await);
                }
                () = sleep_until(kill_at), if kill_at.is_some() => {
                    if !self.kill(running).await {
                        let reason = "the step could not be killed; it may still run".to_owned();
                        return Some((None, Some(Interruption::PlatformError(reason))));
                    }
                    kill_at = None;
                }
            }
        }
    }

    /// Returns the earlier deadline of step and stage, and the reason to report when it has passed.
    fn deadline(&self, step: &JobStep) -> (Instant, String) {
        let own = step.timeout_seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
        match (own, step.timeout_seconds) {
            (Some(own), Some(seconds)) if own < self.deadline => {
                (own, format!("the step took more than {seconds} s"))
            }
            _ => (self.deadline, format!("the stage took more than {} s", self.job.timeout_seconds)),
        }
    }

    /// Sends SIGTERM to the step. Returns when the step has to be killed.
    async fn terminate(&self, running: &mut B::Running, grace: Duration) -> Instant {
        if let Err(error) = running.stop().await {
            tracing::warn!(error = error_chain(&error), "could not terminate the step; killing it");
            return Instant::now();
        }
        Instant::now() + grace
    }

    async fn kill(&self, running: &mut B::Running) -> bool {
        let killed = running.kill().await;
        if let Err(error) = &killed {
            tracing::error!(error = error_chain(error), "could not kill a step");
        }
        killed.is_ok()
    }
}

/// Waits until a later cancellation shortens the grace, and returns the new one.
async fn grace_shortened(lease: &Lease, canceled: Option<(Duration, Instant)>) -> Duration {
    match canceled {
        Some((grace, _)) => lease.grace_shortened(grace).await,
        None => std::future::pending().await,
    }
}

async fn sleep_until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// Sends a step's log to the server.
struct StepLog {
    client: JobClient,
    lease: Arc<Lease>,
    step_run_id: String,
}

impl Sink for StepLog {
    async fn append(&self, offset: u64, at: Timestamp, bytes: Bytes) -> AppendResult {
        let append = || self.client.append_log(&self.step_run_id, offset, at, bytes.clone());
        match retry_while_leased(&self.lease, "a piece of log", append).await {
            Ok(Appended::Taken(length) | Appended::Expected(length)) => AppendResult::Stored(length),
            Err(RequestFailure::Refused { code, .. }) if code == "log_limit_exceeded" => AppendResult::Full,
            Err(error) => AppendResult::Lost(format!("the log could not be delivered: {error}")),
        }
    }
}
