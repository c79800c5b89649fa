//! Kills, in the middle of things.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use greenroom_domain::id::{DeploymentId, OrganizationId};
use greenroom_store::engine::{Advance, Dispatch};
use greenroom_worker::engine::{Advances, Engine, EngineConfig, WorkerSettings, run_worker};
use greenroom_workflows::contract::{Advanced, AdvancedJob, Subject};
use temporalio_client::WorkflowExecutionStatus;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::script::{Script, State};
use crate::site::Site;

#[tokio::test(flavor = "multi_thread")]
async fn the_engine_is_killed_in_the_middle_and_comes_back() {
    let mut site = Site::with_worker().await;
    let deployment = site.script.deployment(3);
    site.wake(deployment).await;
    site.do_one(deployment).await;
    let (job, token) = site.take(deployment).await;

    site.temporal.kill().await;
    assert!(site.engine.heartbeat(&token).await.unwrap_err().is_unavailable());
    assert!(site.engine.wake(site.script.organization, deployment).await.unwrap_err().is_unavailable());
    assert!(site.engine.poll_job(site.script.pool, Duration::from_secs(1)).await.is_err());
    site.temporal.start().await;

    // The same handle, the same task: neither has to be made anew.
    assert!(!site.engine.heartbeat(&token).await.unwrap());
    site.script.set(deployment, job, State::Done);
    site.engine.complete(&token).await.unwrap();
    site.do_one(deployment).await;
    site.until_completed(deployment).await;
    site.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_is_not_there_yet_is_waited_for() {
    let mut site = Site::without_worker().await;
    site.temporal.kill().await;
    site.start_worker();
    tokio::time::sleep(Duration::from_secs(2)).await;
    site.temporal.start().await;
    let deployment = site.script.deployment(1);
    site.wake(deployment).await;
    site.do_one(deployment).await;
    site.until_completed(deployment).await;
    site.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_does_not_answer_fails_no_workflow() {
    let site = Site::with_worker().await;
    let deployment = site.script.deployment(1);
    site.script.away(true);
    site.wake(deployment).await;
    // Three attempts on the spot, a pause, three more.
    site.until_asked(deployment, 6).await;
    assert_eq!(site.status(deployment).await, WorkflowExecutionStatus::Running);
    site.script.away(false);
    site.do_one(deployment).await;
    site.until_completed(deployment).await;
    site.keep_history(deployment, "store_away").await;
    site.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_is_killed_in_the_middle_and_another_goes_on() {
    let mut site = Site::without_worker().await;
    let deployment = site.script.deployment(3);
    let mut answering = Answering::new(site.script.clone()).await;
    let mut first = answering.worker(&site);
    site.wake(deployment).await;
    site.do_one(deployment).await;
    let (job, token) = site.take(deployment).await;

    // Once while it waits for a runner, with the job's end coming while no worker is there…
    first.kill().await.unwrap();
    site.script.set(deployment, job, State::Done);
    site.engine.complete(&token).await.unwrap();
    // … and once in the middle of a question.
    site.script.shut().await;
    let asked = site.script.asked(deployment);
    let mut second = answering.worker(&site);
    site.until_asked(deployment, asked + 1).await;
    second.kill().await.unwrap();
    site.script.open();

    site.start_worker();
    site.do_one(deployment).await;
    site.until_completed(deployment).await;
    answering.connections.abort_all();
    site.end().await;
}

/// Answers the questions of workers in other processes from this one's script.
struct Answering {
    address: String,
    connections: JoinSet<()>,
}

impl Answering {
    async fn new(script: Arc<Script>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let mut connections = JoinSet::new();
        connections.spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                open.spawn(answer(stream, script.clone()));
            }
        });
        Self { address, connections }
    }

    /// This program again, as a worker only.
    fn worker(&mut self, site: &Site) -> Child {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "faults::work_until_killed", "--ignored", "--nocapture"])
            .env("GREENROOM_TEST_STORE", &self.address)
            .env("GREENROOM_TEST_INSTALLATION", site.script.installation.to_string())
            .env("GREENROOM_TEST_ENGINE", site.temporal.config().address)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap()
    }
}

async fn answer(mut stream: TcpStream, script: Arc<Script>) {
    let (read, mut write) = stream.split();
    let mut line = String::new();
    if BufReader::new(read).read_line(&mut line).await.is_err() {
        return;
    }
    let subject: Subject = serde_json::from_str(&line).unwrap();
    let advance = script.answer(subject.deployment_id).await.unwrap().unwrap();
    let dispatch = advance.dispatch.iter();
    let advanced = Advanced {
        ended: advance.ended,
        dispatch: dispatch.map(|job| AdvancedJob { job_id: job.job_id, pool_id: job.pool_id }).collect(),
        ..Advanced::default()
    };
    drop(write.write_all(serde_json::to_string(&advanced).unwrap().as_bytes()).await);
}

/// Asks another process.
struct Elsewhere(String);

impl Advances for Elsewhere {
    fn advance(
        &self,
        organization_id: OrganizationId,
        deployment_id: DeploymentId,
    ) -> BoxFuture<'_, Result<Option<Advance>, Box<dyn std::error::Error + Send + Sync>>> {
        Box::pin(async move {
            let mut stream = TcpStream::connect(&self.0).await?;
            let subject = Subject { organization_id, deployment_id, installation_id: None };
            let question = serde_json::to_string(&subject)? + "\n";
            stream.write_all(question.as_bytes()).await?;
            let mut line = String::new();
            BufReader::new(stream).read_line(&mut line).await?;
            let advanced: Advanced = serde_json::from_str(&line)?;
            let dispatch = advanced.dispatch.iter();
            Ok(Some(Advance {
                ended: advanced.ended,
                dispatch: dispatch.map(|job| Dispatch { job_id: job.job_id, pool_id: job.pool_id }).collect(),
                withdrawn: Vec::new(),
                again_in: None,
                woke: false,
            }))
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a worker for the test above, in a process of its own"]
async fn work_until_killed() {
    let (store, address) =
        (std::env::var("GREENROOM_TEST_STORE").unwrap(), std::env::var("GREENROOM_TEST_ENGINE").unwrap());
    let config = EngineConfig { address, namespace: "default".to_owned(), ..EngineConfig::default() };
    let stop = CancellationToken::new();
    let engine = Engine::new(config);
    engine.identify(std::env::var("GREENROOM_TEST_INSTALLATION").unwrap().parse().unwrap());
    run_worker(engine, Arc::new(Elsewhere(store)), WorkerSettings::default(), stop).await;
}
