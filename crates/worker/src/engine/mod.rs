//! The engine, Temporal: waking deployments' workflows, and its side of the runners' work. It may be away at any time, also
//! when a daemon starts; nothing here waits for it longer than a call's time limit, and nothing that matters is only here.

mod activities;
mod config;
mod error;
mod task;
mod worker;

use std::sync::Arc;
use std::time::Duration;

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

pub use self::activities::{Advances, AskedStore};
pub use self::config::{EngineConfig, EngineTls};
pub use self::error::EngineError;
pub use self::task::{PolledJob, TaskToken};
pub use self::worker::{WorkerSettings, run_worker};
pub use greenroom_workflows::deployment::HEARTBEAT_TIMEOUT;

const CALL_LIMIT: Duration = Duration::from_secs(10);

/// A handle on the engine. Cheap to clone; connects when it is first used, and again whenever that is needed.
#[derive(Clone)]
pub struct Engine(Arc<Parts>);

struct Parts {
    config: EngineConfig,
    identity: String,
    /// Part of the names of queues and workflows.
    installation: watch::Sender<Option<InstallationId>>,
    /// Once there is a connection, it mends itself.
    client: OnceCell<Client>,
    /// Polls, which are never broken off, and what is handed back.
    tasks: TaskTracker,
}

impl Engine {
    pub fn new(config: EngineConfig) -> Self {
        let identity = format!("greenroomd {}", std::process::id());
        let installation = watch::Sender::new(None);
        let (client, tasks) = (OnceCell::new(), TaskTracker::new());
        Self(Arc::new(Parts { config, identity, installation, client, tasks }))
    }

    /// From now on it wakes, runs and polls this installation's workflows and jobs. Before that every call fails as if the
    /// engine were away.
    pub fn identify(&self, installation: InstallationId) {
        self.0.installation.send_replace(Some(installation));
    }

    /// Waits until the installation is known.
    pub async fn identified(&self) {
        // The sender is part of this handle: it can't be gone.
        let mut installation = self.0.installation.subscribe();
        let _known = installation.wait_for(Option::is_some).await;
    }

    pub(crate) fn installation(&self) -> Result<InstallationId, EngineError> {
        (*self.0.installation.borrow()).ok_or(EngineError::NotIdentified)
    }

    /// Tells a deployment's workflow that something has changed, and starts it if it does not run. Safe to repeat.
    pub async fn wake(
        &self,
        organization_id: OrganizationId,
        deployment_id: DeploymentId,
    ) -> Result<(), EngineError> {
        let installation = self.installation()?;
        let client = self.client().await?;
        // Whoever calls repeats it, and knows better when.
        let once =
            RpcOptions::builder().timeout(CALL_LIMIT).retry_options(RetryOptions::no_retries()).build();
        let id = workflow_id(installation, deployment_id);
        let options = WorkflowStartOptions::new(deployments_queue(installation), id)
            // One that ran before and ended has to look again: ending was its own idea.
            .id_reuse_policy(WorkflowIdReusePolicy::AllowDuplicate)
            .id_conflict_policy(WorkflowIdConflictPolicy::UseExisting)
            .rpc_options(once)
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

    /// Answers if the engine does, and has our namespace for us.
    pub async fn ping(&self) -> Result<(), EngineError> {
        let request = DescribeNamespaceRequest { namespace: self.namespace(), ..Default::default() };
        let mut request = request.into_request();
        request.set_timeout(CALL_LIMIT);
        self.service().await?.describe_namespace(request).await?;
        Ok(())
    }

    /// Waits for the polls that are under way, up to `limit`: one that is broken off may lose a task for a while.
    pub async fn close(&self, limit: Duration) {
        self.0.tasks.close();
        if tokio::time::timeout(limit, self.0.tasks.wait()).await.is_err() {
            tracing::debug!(polls = self.0.tasks.len(), "polls of the engine were broken off");
        }
    }

    async fn client(&self) -> Result<&Client, EngineError> {
        self.0.client.get_or_try_init(|| self.connect()).await
    }

    /// A connection of its own.
    async fn connect(&self) -> Result<Client, EngineError> {
        let options = self.0.config.connection(&self.0.identity)?;
        let connecting = Connection::connect(options);
        let connection = tokio::time::timeout(CALL_LIMIT, connecting)
            .await
            .map_err(|slow| EngineError::Unavailable(Box::new(slow)))??;
        let options = ClientOptions::new(self.0.config.namespace.clone()).build();
        Client::new(connection, options).map_err(|error| EngineError::Refused(Box::new(error)))
    }

    /// The engine's own calls, without the client's retries.
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
