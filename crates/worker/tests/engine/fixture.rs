//! A Temporal namespace, an engine handle, workers and a scripted store.

use std::sync::Arc;
use std::time::Duration;

use greenroom_domain::id::{DeploymentId, JobId};
use greenroom_engine::{Engine, PolledJob, WorkerSettings, run_worker};
use greenroom_workflows::DeploymentWorkflow;
use greenroom_workflows::names::workflow_id;
use temporalio_client::{WorkflowDescribeOptions, WorkflowExecutionStatus, WorkflowFetchHistoryOptions};
use temporalio_common::protos::temporal::api::enums::v1::EventType;
use temporalio_common::protos::temporal::api::history::v1::HistoryEvent;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::scripted_store::{ScriptedStore, State};
use crate::temporal::Temporal;

/// A poll that is longer than the heartbeat timeout.
pub const LONG_POLL: Duration = Duration::from_secs(50);
/// The shortest poll that the engine accepts.
pub const SHORT_POLL: Duration = Duration::from_secs(1);

pub struct EngineFixture {
    pub temporal: Temporal,
    pub engine: Engine,
    pub store: Arc<ScriptedStore>,
    pub stop: CancellationToken,
    workers: JoinSet<()>,
}

impl EngineFixture {
    pub async fn with_worker() -> Self {
        let mut fixture = Self::without_worker().await;
        fixture.start_worker();
        fixture
    }

    pub async fn without_worker() -> Self {
        Self::on(Temporal::of_test().await)
    }

    /// With a Temporal server that the test can kill, and that replaces a run early.
    pub async fn with_worker_and_own_temporal() -> Self {
        let mut fixture = Self::with_own_temporal().await;
        fixture.start_worker();
        fixture
    }

    pub async fn with_own_temporal() -> Self {
        Self::on(Temporal::of_own().await)
    }

    fn on(temporal: Temporal) -> Self {
        drop(tracing_subscriber::fmt().with_env_filter("warn").with_test_writer().try_init());
        let (store, stop) = (Arc::new(ScriptedStore::new()), CancellationToken::new());
        let engine = engine_of(&temporal, &store);
        Self { temporal, engine, store, stop, workers: JoinSet::new() }
    }

    pub fn start_worker(&mut self) {
        self.start_worker_of(self.store.clone());
    }

    /// Starts a worker of any installation, on the same engine.
    pub fn start_worker_of(&mut self, store: Arc<ScriptedStore>) {
        let engine = engine_of(&self.temporal, &store);
        let stop = self.stop.child_token();
        self.workers.spawn(run_worker(engine, store, WorkerSettings::default(), stop));
    }

    /// Shuts down the workers gracefully.
    pub async fn end(mut self) {
        self.stop.cancel();
        while self.workers.join_next().await.is_some() {}
    }

    pub async fn wake(&self, deployment: DeploymentId) {
        self.engine.wake(self.store.organization, deployment).await.unwrap();
    }

    /// Takes a job and records that a runner has it, as the server does for a runner.
    pub async fn take(&self, deployment: DeploymentId) -> (JobId, Vec<u8>) {
        let polled = self.poll(LONG_POLL).await.expect("a job is there");
        assert_eq!(polled.run.deployment_id, deployment);
        assert_eq!(polled.run.organization_id, self.store.organization);
        let job = polled.run.job_id;
        self.store.set(deployment, job, State::Running);
        (job, polled.accept())
    }

    pub async fn poll(&self, wait: Duration) -> Option<PolledJob> {
        self.engine.poll_job(self.store.pool, wait).await.unwrap()
    }

    /// Takes a job and completes it, as a runner does.
    pub async fn run_one_job(&self, deployment: DeploymentId) -> JobId {
        let (job, token) = self.take(deployment).await;
        assert!(!self.engine.heartbeat(&token).await.unwrap());
        self.store.set(deployment, job, State::Done);
        self.engine.complete(&token).await.unwrap();
        job
    }

    pub async fn status(&self, deployment: DeploymentId) -> WorkflowExecutionStatus {
        let client = self.temporal.client().await;
        let handle = client
            .get_workflow_handle::<DeploymentWorkflow>(workflow_id(self.store.installation, deployment));
        handle.describe(WorkflowDescribeOptions::default()).await.unwrap().status()
    }

    pub async fn until_completed(&self, deployment: DeploymentId) {
        until("the workflow is completed", async || {
            self.status(deployment).await == WorkflowExecutionStatus::Completed
        })
        .await;
    }

    /// Waits until the store has been called this many times for this deployment.
    pub async fn until_advanced(&self, deployment: DeploymentId, times: usize) {
        until("the deployment is advanced", async || self.store.advance_count(deployment) >= times).await;
    }

    /// Returns the events of the deployment's newest run.
    pub async fn history(&self, deployment: DeploymentId) -> Vec<HistoryEvent> {
        let client = self.temporal.client().await;
        let handle = client
            .get_workflow_handle::<DeploymentWorkflow>(workflow_id(self.store.installation, deployment));
        handle.fetch_history(WorkflowFetchHistoryOptions::default()).into_events().await.unwrap()
    }

    /// Writes the history of a run to a file for the replay test if `GREENROOM_KEEP_HISTORIES` is set.
    pub async fn keep_history(&self, deployment: DeploymentId, name: &str) {
        if std::env::var_os("GREENROOM_KEEP_HISTORIES").is_none() {
            return;
        }
        let client = self.temporal.client().await;
        let handle = client
            .get_workflow_handle::<DeploymentWorkflow>(workflow_id(self.store.installation, deployment));
        let json = handle.fetch_history(WorkflowFetchHistoryOptions::default()).to_json().await.unwrap();
        let value: serde_json::Value = serde_json::from_slice(&json).unwrap();
        let text = serde_json::to_string_pretty(&value).unwrap() + "\n";
        std::fs::write(crate::replay::folder().join(format!("{name}.json")), text).unwrap();
    }
}

/// Returns a new handle on the engine, for the store's installation.
pub fn engine_of(temporal: &Temporal, store: &ScriptedStore) -> Engine {
    let engine = Engine::new(temporal.config());
    engine.identify(store.installation);
    engine
}

pub fn count(events: &[HistoryEvent], kind: EventType) -> usize {
    events.iter().filter(|event| event.event_type() == kind).count()
}

pub async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(90), waiting).await.is_ok(), "not within 90 s: {what}");
}
