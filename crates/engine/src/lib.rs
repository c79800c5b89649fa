//! The client of the engine, which is Temporal. It sends wake-ups to the workflows of deployments, and polls,
//! completes and fails the activity tasks of jobs. The engine may be unreachable at any time, also when a
//! daemon starts. No call waits longer than its timeout, and the engine is never the only place where state
//! is stored.

mod activities;
mod config;
mod error;
mod task;
mod worker;

use std::sync::Arc;
use std::time::Duration;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{DeploymentId, InstallationId, OrganizationId};
use greenroom_workflows::names::{deployments_queue, workflow_id};
use greenroom_workflows::{DeploymentWorkflow, Subject};
use temporalio_client::grpc::WorkflowService;
use temporalio_client::tonic::IntoRequest;
use temporalio_client::{
    Client, ClientOptions, Connection, RetryOptions, RpcOptions, WorkflowIdConflictPolicy,
    WorkflowIdReusePolicy, WorkflowStartOptions,
};
use temporalio_common::protos::temporal::api::workflowservice::v1::DescribeNamespaceRequest;
use tokio::sync::{OnceCell, watch};
use tokio_util::task::TaskTracker;

pub use self::activities::DeploymentAdvancer;
pub use self::config::{EngineConfig, EngineTls};
pub use self::error::EngineError;
pub use self::task::{PolledJob, TaskToken};
pub use self::worker::{WorkerSettings, run_worker};
pub use greenroom_workflows::deployment::HEARTBEAT_TIMEOUT;

const CALL_TIMEOUT: Duration = Duration::from_secs(10);

/// A handle on the engine. Cheap to clone; connects on first use, and reconnects when needed.
#[derive(Clone)]
pub struct Engine(Arc<Parts>);

struct Parts {
    config: EngineConfig,
    identity: String,
    /// Part of the names of task queues and workflows.
    installation: watch::Sender<Option<InstallationId>>,
    /// Set by the first successful connection. The client then reconnects automatically.
    client: OnceCell<Client>,
    /// Background tasks: polls, and calls that hand a polled job back because no runner took it.
    tasks: TaskTracker,
}

#[boxed_futures]
impl Engine {
    pub fn new(config: EngineConfig) -> Self {
        let identity = format!("greenroomd {}", std::process::id());
        let installation = watch::Sender::new(None);
        let (client, tasks) = (OnceCell::new(), TaskTracker::new());
        Self(Arc::new(Parts { config, identity, installation, client, tasks }))
    }

    /// Sets the installation whose workflows and jobs this handle uses. Before that, every call except `ping`
    /// fails as if the engine were unavailable.
    pub fn identify(&self, installation: InstallationId) {
        self.0.installation.send_replace(Some(installation));
    }

    /// Waits until the installation is set.
    pub async fn identified(&self) {
        let mut installation = self.0.installation.subscribe();
        // This can't fail: the sender is part of this handle.
        let _is_set = installation.wait_for(Option::is_some).await;
    }

    fn installation(&self) -> Result<InstallationId, EngineError> {
        (*self.0.installation.borrow()).ok_or(EngineError::NotIdentified)
    }

    /// Signals a deployment's workflow that something has changed, and starts the workflow if it does not
    /// run. Idempotent.
    pub async fn wake(
        &self,
        organization_id: OrganizationId,
        deployment_id: DeploymentId,
    ) -> Result<(), EngineError> {
        let installation = self.installation()?;
        let client = self.client().await?;
        // The caller retries, with its own back-off.
        let no_retries =
            RpcOptions::builder().timeout(CALL_TIMEOUT).retry_options(RetryOptions::no_retries()).build();
        let id = workflow_id(installation, deployment_id);
        let options = WorkflowStartOptions::new(deployments_queue(installation), id)
            // A workflow completes when its deployment has ended. A retry of a stage makes that deployment
            // continue, so its workflow has to be started again with the same id.
            .id_reuse_policy(WorkflowIdReusePolicy::AllowDuplicate)
            .id_conflict_policy(WorkflowIdConflictPolicy::UseExisting)
            .rpc_options(no_retries)
            .build();
        let subject = Subject { organization_id, deployment_id, installation_id: Some(installation) };
        client
            .signal_with_start_workflow(
                DeploymentWorkflow::run,
                subject,
                DeploymentWorkflow::wake,
                (),
                options,
            )
            .await?;
        Ok(())
    }

    /// Succeeds if the engine is reachable and has the configured namespace.
    pub async fn ping(&self) -> Result<(), EngineError> {
        let request = DescribeNamespaceRequest { namespace: self.namespace(), ..Default::default() };
        let mut request = request.into_request();
        request.set_timeout(CALL_TIMEOUT);
        self.service().await?.describe_namespace(request).await?;
        Ok(())
    }

    /// Waits for the background tasks, up to `timeout`; the process then exits without them. If Temporal has
    /// just assigned a task to an unfinished poll, no runner gets that task until its heartbeat times out.
    pub async fn close(&self, timeout: Duration) {
        self.0.tasks.close();
        if tokio::time::timeout(timeout, self.0.tasks.wait()).await.is_err() {
            tracing::debug!(polls = self.0.tasks.len(), "polls of the engine were aborted");
        }
    }

    async fn client(&self) -> Result<&Client, EngineError> {
        self.0.client.get_or_try_init(|| self.connect()).await
    }

    /// Opens a new connection.
    async fn connect(&self) -> Result<Client, EngineError> {
        let options = self.0.config.connection(&self.0.identity)?;
        let connecting = Connection::connect(options);
        let connection = tokio::time::timeout(CALL_TIMEOUT, connecting)
            .await
            .map_err(|elapsed| EngineError::Unavailable(Box::new(elapsed)))??;
        let options = ClientOptions::new(self.0.config.namespace.clone()).build();
        Client::new(connection, options).map_err(|error| EngineError::Refused(Box::new(error)))
    }

    /// Returns the engine's gRPC service. Unlike the client, it does not retry failed calls.
    async fn service(&self) -> Result<Box<dyn WorkflowService>, EngineError> {
        Ok(self.client().await?.connection().workflow_service())
    }

    fn namespace(&self) -> String {
        self.0.config.namespace.clone()
    }

    fn identity(&self) -> String {
        self.0.identity.clone()
    }
}
