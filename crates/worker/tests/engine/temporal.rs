//! The Temporal of a test: a namespace on the server that `GREENROOM_TEST_TEMPORAL_ADDRESS` names, or a server of the
//! test's own.

use std::time::Duration;

use greenroom_engine::EngineConfig;
use temporalio_client::tonic::IntoRequest;
use temporalio_client::{
    Client, ClientOptions, Connection, ConnectionOptions, RegisterNamespaceOptions, Url,
};
use temporalio_common::protos::temporal::api::taskqueue::v1::TaskQueue;
use temporalio_common::protos::temporal::api::workflowservice::v1::{
    DescribeTaskQueueRequest, RegisterNamespaceRequest,
};
use uuid::Uuid;

use crate::fixture::until;
use crate::own_temporal::OwnTemporal;

pub struct Temporal {
    address: String,
    namespace: String,
    own: Option<OwnTemporal>,
}

pub async fn connect(address: &str) -> Option<Connection> {
    let target = Url::parse(&format!("http://{address}")).unwrap();
    let options = ConnectionOptions::new(target).connect_timeout(Duration::from_secs(1)).build();
    Connection::connect(options).await.ok()
}

impl Temporal {
    /// Creates a namespace on the shared server, or starts a server if there is none. What a killed test leaves in its
    /// namespace are rows: a workflow without a worker does nothing.
    pub async fn of_test() -> Self {
        match std::env::var("GREENROOM_TEST_TEMPORAL_ADDRESS") {
            Ok(address) => Self::on_shared(address).await,
            Err(_) => Self::of_own().await,
        }
    }

    /// Starts a server that the test can kill, and that replaces a run early.
    pub async fn of_own() -> Self {
        let own = OwnTemporal::start_new().await;
        Self { address: own.address(), namespace: "default".to_owned(), own: Some(own) }
    }

    async fn on_shared(address: String) -> Self {
        let namespace = format!("test-{}", Uuid::now_v7());
        let connection =
            connect(&address).await.unwrap_or_else(|| panic!("no Temporal listens at {address}"));
        let mut service = connection.workflow_service();
        let new =
            RegisterNamespaceOptions::builder().namespace(&namespace).description("of one test").build();
        service.register_namespace(RegisterNamespaceRequest::from(new).into_request()).await.unwrap();
        // Each part of the server reads namespaces from its own cache.
        until("the namespace can be used", async || {
            let task_queue = Some(TaskQueue { name: "any".to_owned(), ..TaskQueue::default() });
            let request =
                DescribeTaskQueueRequest { namespace: namespace.clone(), task_queue, ..Default::default() };
            service.describe_task_queue(request.into_request()).await.is_ok()
        })
        .await;
        Self { address, namespace, own: None }
    }

    /// Kills the test's own server without a graceful shutdown, as a power failure would.
    pub async fn kill(&mut self) {
        self.own.as_mut().expect("a server of its own").kill().await;
    }

    /// Starts the test's own server again at its address.
    pub async fn start(&mut self) {
        self.own.as_mut().expect("a server of its own").start().await;
    }

    pub fn config(&self) -> EngineConfig {
        EngineConfig {
            address: self.address.clone(),
            namespace: self.namespace.clone(),
            ..EngineConfig::default()
        }
    }

    /// Returns a client that is independent of the engine handle under test.
    pub async fn client(&self) -> Client {
        let connection = connect(&self.address).await.unwrap();
        Client::new(connection, ClientOptions::new(self.namespace.clone()).build()).unwrap()
    }
}
