//! An engine, a worker and a script, put together.

use std::sync::Arc;
use std::time::Duration;

use greenroom_domain::id::{DeploymentId, JobId};
use greenroom_worker::engine::{Engine, PolledJob, WorkerSettings, run_worker};
use greenroom_workflows::DeploymentWorkflow;
use greenroom_workflows::names::workflow_id;
use temporalio_client::{WorkflowDescribeOptions, WorkflowExecutionStatus, WorkflowFetchHistoryOptions};
use temporalio_common::protos::temporal::api::enums::v1::EventType;
use temporalio_common::protos::temporal::api::history::v1::HistoryEvent;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::script::{Script, State};
use crate::temporal::Temporal;

/// Longer than a missed heartbeat takes to be noticed.
pub const SOON: Duration = Duration::from_secs(50);
/// The least that a poll can be told to wait.
pub const BRIEFLY: Duration = Duration::from_secs(1);

pub struct Site {
    pub temporal: Temporal,
    pub engine: Engine,
    pub script: Arc<Script>,
    pub stop: CancellationToken,
    workers: JoinSet<()>,
}

impl Site {
    pub async fn with_worker() -> Self {
        let mut site = Self::without_worker().await;
        site.start_worker();
        site
    }

    pub async fn without_worker() -> Self {
        drop(tracing_subscriber::fmt().with_env_filter("warn").with_test_writer().try_init());
        let temporal = Temporal::running().await;
        let (script, stop) = (Arc::new(Script::new()), CancellationToken::new());
        let engine = engine_of(&temporal, &script);
        Self { temporal, engine, script, stop, workers: JoinSet::new() }
    }

    pub fn start_worker(&mut self) {
        self.start_worker_of(self.script.clone());
    }

    /// A worker of any installation, on the same engine.
    pub fn start_worker_of(&mut self, script: Arc<Script>) {
        let engine = engine_of(&self.temporal, &script);
        let stop = self.stop.child_token();
        self.workers.spawn(run_worker(engine, script, WorkerSettings::default(), stop));
    }

    /// Ends the worker in good order.
    pub async fn end(mut self) {
        self.stop.cancel();
        while self.workers.join_next().await.is_some() {}
    }

    pub async fn wake(&self, deployment: DeploymentId) {
        self.engine.wake(self.script.organization, deployment).await.unwrap();
    }

    /// As the server does for a runner: takes a job, and writes down that a runner has it.
    pub async fn take(&self, deployment: DeploymentId) -> (JobId, Vec<u8>) {
        let polled = self.poll(SOON).await.expect("a job is there");
        assert_eq!(polled.run.deployment_id, deployment);
        assert_eq!(polled.run.organization_id, self.script.organization);
        let job = polled.run.job_id;
        self.script.set(deployment, job, State::Running);
        (job, polled.accept())
    }

    pub async fn poll(&self, wait: Duration) -> Option<PolledJob> {
        self.engine.poll_job(self.script.pool, wait).await.unwrap()
    }

    /// A runner takes a job and does it.
    pub async fn do_one(&self, deployment: DeploymentId) -> JobId {
        let (job, token) = self.take(deployment).await;
        assert!(!self.engine.heartbeat(&token).await.unwrap());
        self.script.set(deployment, job, State::Done);
        self.engine.complete(&token).await.unwrap();
        job
    }

    pub async fn status(&self, deployment: DeploymentId) -> WorkflowExecutionStatus {
        let client = self.temporal.client().await;
        let handle = client
            .get_workflow_handle::<DeploymentWorkflow>(workflow_id(self.script.installation, deployment));
        handle.describe(WorkflowDescribeOptions::default()).await.unwrap().status()
    }

    pub async fn until_completed(&self, deployment: DeploymentId) {
        until("the workflow is completed", async || {
            self.status(deployment).await == WorkflowExecutionStatus::Completed
        })
        .await;
    }

    /// Waits until the store has been asked so many times.
    pub async fn until_asked(&self, deployment: DeploymentId, times: usize) {
        until("the store is asked", async || self.script.asked(deployment) >= times).await;
    }

    /// The events of its newest run.
    pub async fn history(&self, deployment: DeploymentId) -> Vec<HistoryEvent> {
        let client = self.temporal.client().await;
        let handle = client
            .get_workflow_handle::<DeploymentWorkflow>(workflow_id(self.script.installation, deployment));
        handle.fetch_history(WorkflowFetchHistoryOptions::default()).into_events().await.unwrap()
    }

    /// Keeps the history of a run, for the replay test, if it is asked to.
    pub async fn keep_history(&self, deployment: DeploymentId, name: &str) {
        if std::env::var_os("GREENROOM_KEEP_HISTORIES").is_none() {
            return;
        }
        let client = self.temporal.client().await;
        let handle = client
            .get_workflow_handle::<DeploymentWorkflow>(workflow_id(self.script.installation, deployment));
        let json = handle.fetch_history(WorkflowFetchHistoryOptions::default()).to_json().await.unwrap();
        let value: serde_json::Value = serde_json::from_slice(&json).unwrap();
        let text = serde_json::to_string_pretty(&value).unwrap() + "\n";
        std::fs::write(crate::replay::folder().join(format!("{name}.json")), text).unwrap();
    }
}

/// A handle of its own on the engine, for the script's installation.
pub fn engine_of(temporal: &Temporal, script: &Script) -> Engine {
    let engine = Engine::new(temporal.config());
    engine.identify(script.installation);
    engine
}

pub fn count(events: &[HistoryEvent], kind: EventType) -> usize {
    events.iter().filter(|event| event.event_type() == kind).count()
}

pub async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(90), waiting).await.is_ok(), "not within 90 s: {what}");
}
