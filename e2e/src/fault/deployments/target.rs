//! The fenced target that represents the environments' real resources. Steps report to it over HTTP, each
//! report with its fence; a report with a lower fence than any seen in that environment is rejected. The
//! target is never cut off, so its reports show what happened.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::routing::get;
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::fault::clock::{Clock, Micros, SECOND};
use crate::fault::deployments::work::Work;
use crate::fault::fixture::parse_id;
use crate::parts::output::print_progress;

/// The interval between two ticks of a step.
const TICK_INTERVAL: Micros = SECOND / 4;
/// A working step reports more often than this.
const MAX_REPORT_GAP: Micros = SECOND + SECOND / 2;

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ReportKind {
    Begin,
    /// The step is still at work.
    Tick,
    /// The step has applied its effect.
    Apply,
    End,
}

/// One report of a step.
#[derive(Clone, Debug)]
pub(crate) struct TargetReport {
    pub(crate) at: Micros,
    pub(crate) kind: ReportKind,
    pub(crate) environment: Option<String>,
    pub(crate) fence: Option<i64>,
    pub(crate) step: StepKey,
    pub(crate) job: Uuid,
    /// The exit code with which the step is about to end.
    pub(crate) code: Option<i32>,
    pub(crate) accepted: bool,
}

/// Identifies a step of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct StepKey {
    pub(crate) deployment: Uuid,
    pub(crate) stage: String,
    pub(crate) attempt: i32,
    pub(crate) step: String,
}

#[derive(Debug, Default)]
struct TargetState {
    reports: Vec<TargetReport>,
    fences: HashMap<String, i64>,
    steps: HashMap<StepKey, StepState>,
}

/// The state of a step that is at work.
#[derive(Debug)]
struct StepState {
    job: Uuid,
    begun: Micros,
    last: Micros,
    ended: bool,
    /// The step will not end before this time unless it is ended from outside.
    works_until: Micros,
}

impl StepState {
    fn is_at_work(&self, now: Micros) -> bool {
        !self.ended && now - self.last < MAX_REPORT_GAP
    }
}

#[derive(Debug)]
struct Inner {
    clock: Clock,
    state: Mutex<TargetState>,
}

pub(crate) struct Target {
    inner: Arc<Inner>,
    pub(crate) url: String,
    _serving: JoinSet<()>,
}

#[derive(Debug, Deserialize)]
struct ReportParameters {
    report: ReportKind,
    environment: String,
    fence: String,
    deployment: String,
    stage: String,
    attempt: i32,
    step: String,
    job: String,
    ticks: i64,
    code: Option<i32>,
}

impl Target {
    pub(crate) async fn start(clock: Clock) -> anyhow::Result<Self> {
        let inner = Arc::new(Inner { clock, state: Mutex::default() });
        let app = Router::new().route("/report", get(receive)).with_state(Arc::clone(&inner));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/report", listener.local_addr()?);
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            if let Err(error) = axum::serve(listener, app).await {
                print_progress(&format!("the target has ended: {error}"));
            }
        });
        Ok(Self { inner, url, _serving: serving })
    }

    pub(crate) fn reports(&self) -> Vec<TargetReport> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner).reports.clone()
    }
}

impl Work for Target {
    fn steps_at_work(&self) -> usize {
        let now = self.inner.clock.now();
        let state = self.inner.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.steps.values().filter(|step| step.is_at_work(now)).count()
    }

    fn jobs_at_work_for(&self, time: Micros) -> Vec<Uuid> {
        let now = self.inner.clock.now();
        let state = self.inner.state.lock().unwrap_or_else(PoisonError::into_inner);
        let long = state.steps.values().filter(|step| step.is_at_work(now) && step.works_until > now + time);
        long.map(|step| step.job).collect()
    }

    fn steps_done_since(&self, moment: Micros) -> usize {
        let state = self.inner.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.steps.values().filter(|step| step.ended && step.begun > moment).count()
    }
}

async fn receive(State(inner): State<Arc<Inner>>, Query(parameters): Query<ReportParameters>) -> StatusCode {
    let (Some(deployment), Some(job)) = (parse_id(&parameters.deployment), parse_id(&parameters.job)) else {
        return StatusCode::BAD_REQUEST;
    };
    // Outside of any environment it is `none`.
    let environment = Some(parameters.environment).filter(|name| !name.is_empty() && name != "none");
    let fence: Option<i64> = parameters.fence.parse().ok();
    let step =
        StepKey { deployment, stage: parameters.stage, attempt: parameters.attempt, step: parameters.step };
    let mut state = inner.state.lock().unwrap_or_else(PoisonError::into_inner);
    // Under the lock, so that the order of the reports is the order of their times.
    let at = inner.clock.now();
    let accepted = match (&environment, fence) {
        (Some(environment), Some(fence)) => {
            let highest = state.fences.entry(environment.clone()).or_default();
            *highest = (*highest).max(fence);
            fence >= *highest
        }
        _ => true,
    };
    let works_until = at + parameters.ticks * TICK_INTERVAL;
    let step_state = StepState { job, begun: at, last: at, ended: false, works_until };
    let step_state = state.steps.entry(step.clone()).or_insert(step_state);
    (step_state.last, step_state.ended) = (at, parameters.report == ReportKind::End);
    let (kind, code) = (parameters.report, parameters.code);
    state.reports.push(TargetReport { at, kind, environment, fence, step, job, code, accepted });
    if accepted { StatusCode::NO_CONTENT } else { StatusCode::CONFLICT }
}
