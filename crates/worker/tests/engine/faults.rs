//! Kills of the engine, the store and the worker during a deployment.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use greenroom_domain::id::{DeploymentId, OrganizationId};
use greenroom_engine::{DeploymentAdvancer, Engine, EngineConfig, WorkerSettings, run_worker};
use greenroom_workflows::contract::{Advanced, Subject};
use temporalio_client::WorkflowExecutionStatus;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::fixture::EngineFixture;
use crate::scripted_store::{ScriptedStore, State};

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_continues_after_the_engine_was_killed_and_restarted() {
    let mut fixture = EngineFixture::with_worker_and_own_temporal().await;
    let deployment = fixture.store.deployment(3);
    fixture.wake(deployment).await;
    fixture.run_one_job(deployment).await;
    let (job, token) = fixture.take(deployment).await;

    fixture.temporal.kill().await;
    assert!(fixture.engine.heartbeat(&token).await.unwrap_err().is_unavailable());
    assert!(fixture.engine.wake(fixture.store.organization, deployment).await.unwrap_err().is_unavailable());
    assert!(fixture.engine.poll_job(fixture.store.pool, Duration::from_secs(1)).await.is_err());
    fixture.temporal.start().await;

    // The handle and the task stay valid.
    assert!(!fixture.engine.heartbeat(&token).await.unwrap());
    fixture.store.set(deployment, job, State::Done);
    fixture.engine.complete(&token).await.unwrap();
    fixture.run_one_job(deployment).await;
    fixture.until_completed(deployment).await;
    fixture.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_waits_for_an_engine_that_starts_later() {
    let mut fixture = EngineFixture::with_own_temporal().await;
    fixture.temporal.kill().await;
    fixture.start_worker();
    tokio::time::sleep(Duration::from_secs(2)).await;
    fixture.temporal.start().await;
    let deployment = fixture.store.deployment(1);
    fixture.wake(deployment).await;
    fixture.run_one_job(deployment).await;
    fixture.until_completed(deployment).await;
    fixture.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unavailable_store_fails_no_workflow() {
    let fixture = EngineFixture::with_worker().await;
    let deployment = fixture.store.deployment(1);
    fixture.store.set_unavailable(true);
    fixture.wake(deployment).await;
    // Three immediate attempts, a delay, three more.
    fixture.until_advanced(deployment, 6).await;
    assert_eq!(fixture.status(deployment).await, WorkflowExecutionStatus::Running);
    fixture.store.set_unavailable(false);
    fixture.run_one_job(deployment).await;
    fixture.until_completed(deployment).await;
    fixture.keep_history(deployment, "store_away").await;
    fixture.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn waits_another_worker_continues_after_one_was_killed() {
    let mut fixture = EngineFixture::without_worker().await;
    let deployment = fixture.store.deployment(3);
    let mut server = AdvanceServer::new(fixture.store.clone()).await;
    let mut first = server.worker(&fixture);
    fixture.wake(deployment).await;
    fixture.run_one_job(deployment).await;
    let (job, token) = fixture.take(deployment).await;

    // The first worker is killed while it waits for a runner; the job ends while no worker runs.
    first.kill().await.unwrap();
    fixture.store.set(deployment, job, State::Done);
    fixture.engine.complete(&token).await.unwrap();
    // The second worker is killed during an advance.
    fixture.store.block().await;
    let advances = fixture.store.advance_count(deployment);
    let mut second = server.worker(&fixture);
    fixture.until_advanced(deployment, advances + 1).await;
    second.kill().await.unwrap();
    fixture.store.unblock();

    fixture.start_worker();
    fixture.run_one_job(deployment).await;
    fixture.until_completed(deployment).await;
    server.connections.abort_all();
    fixture.end().await;
}

/// Serves advances from this process's store to workers in other processes.
struct AdvanceServer {
    address: String,
    connections: JoinSet<()>,
}

impl AdvanceServer {
    async fn new(store: Arc<ScriptedStore>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let mut connections = JoinSet::new();
        connections.spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                open.spawn(serve_advance(stream, store.clone()));
            }
        });
        Self { address, connections }
    }

    /// Starts this program again, as a worker only.
    fn worker(&mut self, fixture: &EngineFixture) -> Child {
        let config = fixture.temporal.config();
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "faults::work_until_killed", "--ignored", "--nocapture"])
            .env("GREENROOM_TEST_STORE", &self.address)
            .env("GREENROOM_TEST_INSTALLATION", fixture.store.installation.to_string())
            .env("GREENROOM_TEST_ENGINE", config.address)
            .env("GREENROOM_TEST_NAMESPACE", config.namespace)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap()
    }
}

async fn serve_advance(mut stream: TcpStream, store: Arc<ScriptedStore>) {
    let (read, mut write) = stream.split();
    let mut line = String::new();
    if BufReader::new(read).read_line(&mut line).await.is_err() {
        return;
    }
    let subject: Subject = serde_json::from_str(&line).unwrap();
    let advanced = store.advance_once(subject.deployment_id).await.unwrap().unwrap();
    drop(write.write_all(serde_json::to_string(&advanced).unwrap().as_bytes()).await);
}

/// Advances deployments through an [`AdvanceServer`] in another process.
struct RemoteAdvancer(String);

impl DeploymentAdvancer for RemoteAdvancer {
    fn advance(
        &self,
        organization_id: OrganizationId,
        deployment_id: DeploymentId,
    ) -> BoxFuture<'_, Result<Option<Advanced>, Box<dyn std::error::Error + Send + Sync>>> {
        Box::pin(async move {
            let mut stream = TcpStream::connect(&self.0).await?;
            let subject = Subject { organization_id, deployment_id, installation_id: None };
            let request = serde_json::to_string(&subject)? + "\n";
            stream.write_all(request.as_bytes()).await?;
            let mut line = String::new();
            BufReader::new(stream).read_line(&mut line).await?;
            Ok(Some(serde_json::from_str(&line)?))
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a worker for the test above, in a separate process"]
async fn work_until_killed() {
    let [store, address, namespace] =
        ["STORE", "ENGINE", "NAMESPACE"].map(|name| std::env::var(format!("GREENROOM_TEST_{name}")).unwrap());
    let config = EngineConfig { address, namespace, ..EngineConfig::default() };
    let stop = CancellationToken::new();
    let engine = Engine::new(config);
    engine.identify(std::env::var("GREENROOM_TEST_INSTALLATION").unwrap().parse().unwrap());
    run_worker(engine, Arc::new(RemoteAdvancer(store)), WorkerSettings::default(), stop).await;
}
