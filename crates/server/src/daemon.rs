//! The long-running commands `serve`, `worker` and `all`.

mod databases;
mod server;
mod setup_link;
mod tasks;
mod worker;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use anyhow::Context;
use greenroom_app::Backends;
use greenroom_app::limits::{DEADLINE, LimitSettings, Limits};
use greenroom_app::sign_in::SignIn;
use greenroom_engine::Engine;
use greenroom_store::Reachability;
use greenroom_worker::relay::RelayBell;
use greenroom_worker::sequencer::SequencerBell;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

pub use self::databases::{ConnectionBudget, Databases};
pub use self::server::Server;
use self::tasks::{Shared, Tasks};
use self::worker::Work;
use crate::config::{
    DatabaseConfig, OperatorConfig, RetentionConfig, SecretsConfig, ServeConfig, TemporalConfig, WorkConfig,
    WorkflowConfig,
};
use crate::http::operator_router;
use crate::serve::{Connections, Listener, serve};
use crate::{service_manager, telemetry};

const METRICS_UPKEEP_INTERVAL: Duration = Duration::from_secs(5);

/// How long server and worker in one process may take to stop, after the delay in which connections are still accepted.
const STOP_DEADLINE: Duration = Duration::from_secs(40);

pub async fn run_server(config: &ServeConfig) -> anyhow::Result<()> {
    let (limits, reserved) = (&config.limits, config.limits.reserved_connections);
    let databases = Databases::open(&config.database, limits.database_connections, reserved)?;
    let server = start_server(config, databases, limits.clone()).await?;
    wait_for_stop_signal().await?;
    tracing::info!("received a stop signal: draining");
    server.stop(Duration::from_secs(config.listen.drain_delay_seconds)).await;
    tracing::info!("stopped");
    Ok(())
}

/// Runs a server and a worker.
pub async fn run_all(
    config: &ServeConfig,
    workflows: WorkflowConfig,
    retention: &RetentionConfig,
) -> anyhow::Result<()> {
    let budget = ConnectionBudget::divide(config.limits.database_connections, workflows.worker_concurrency);
    let databases = Databases::open_divided(&config.database, budget, config.limits.reserved_connections)?;
    let (system, advancing) = (databases.system.clone(), databases.advancing.clone());
    let limits = LimitSettings { database_connections: budget.requests, ..config.limits.clone() };
    let server = start_server(config, databases, limits).await?;
    let app = &server.app;
    let work = Work {
        advancing: advancing.unwrap_or_else(|| app.store.clone()),
        system,
        health: &app.health,
        engine: app.engine.clone(),
        keys: app.keys.clone(),
        objects: app.objects.clone(),
        relay_bell: app.relay_bell.clone(),
        outbound: &config.listen.outbound,
        settings: workflows.settings(budget.advances),
        retention: retention.retention(),
    };
    // Tasks of their own: they end while the server drains.
    let working = Tasks::default();
    work.run(&working);
    tracing::info!("the worker is running");
    wait_for_stop_signal().await?;
    tracing::info!("received a stop signal: draining");
    let delay = Duration::from_secs(config.listen.drain_delay_seconds);
    let stopping = async { tokio::join!(server.stop(delay), working.end()) };
    match tokio::time::timeout(delay + STOP_DEADLINE, stopping).await {
        Ok(_) => tracing::info!("stopped"),
        Err(_) => tracing::warn!("did not stop within {} s after the delay", STOP_DEADLINE.as_secs()),
    }
    Ok(())
}

/// Starts a server, its probes and metrics, and prints the link for the first owner if there is no organization.
async fn start_server(
    config: &ServeConfig,
    databases: Databases,
    limits: LimitSettings,
) -> anyhow::Result<Server> {
    let (listen, jobs) = (&config.listen, &config.jobs);
    let (tls, engine) = (listen.tls()?, Engine::new(config.temporal.engine()?));
    let keys = config.secrets.keys().await?;
    let listener = TcpListener::bind(listen.listen)
        .await
        .with_context(|| format!("can't listen on {}", listen.listen))?;
    let address = listener.local_addr()?;
    let objects = jobs.objects.open()?;
    let own_url = listen.own_url(address)?;
    listen.warnings(address, tls.as_ref()).for_each(|warning| tracing::warn!("{warning}"));
    let outbound = listen.outbound.client();
    let sign_in = SignIn::new(listen.sign_in()?, &own_url, &outbound)?;
    let link_url = listen.public_url.clone().map_or_else(|| listen.own_url(reachable(address)), Ok)?;
    let backends = Backends { engine, objects, keys, id_tokens: jobs.id_tokens(), outbound };
    let limits = Limits::with(DEADLINE, limits);
    let listener = Listener::new(listener, tls);
    let server = Server::start(databases, backends, jobs.timing(), listener, limits, sign_in);
    let (health, store) = (&server.app.health, server.app.store.clone());
    server.tasks.run_when_ready(health, move |stop| setup_link::print(store, link_url, stop));
    serve_operators(&server.tasks, &config.operator, health, &server.app.draining).await?;
    tracing::info!(%address, "serving the API on {}", own_url.join("/api/v1"));
    Ok(server)
}

/// Returns an address of this machine for a server that listens on all of them: browsers connect to no unspecified address.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    address
}

pub async fn run_worker(
    database: &DatabaseConfig,
    temporal: &TemporalConfig,
    work: &WorkConfig,
    secrets: &SecretsConfig,
    operator: &OperatorConfig,
    retention: &RetentionConfig,
) -> anyhow::Result<()> {
    let (engine, keys) = (Engine::new(temporal.engine()?), secrets.keys().await?);
    work.outbound.warnings().for_each(|warning| tracing::warn!("{warning}"));
    let objects = work.objects.open()?;
    // A worker serves no requests, so it never uses the reserved connection.
    let databases = Databases::open(database, work.workflows.worker_concurrency, 1)?;
    let (tasks, draining) = (Tasks::default(), CancellationToken::new());
    let relay_bell = RelayBell::default();
    let shared = Shared {
        system: &databases.system,
        stores: vec![databases.system.clone(), databases.requests.clone()],
        health: &databases.health,
        engine: &engine,
        keys: &keys,
        sequencer_bell: SequencerBell::default(),
        relay_bell: relay_bell.clone(),
    };
    shared.run(&tasks);
    let background = Work {
        system: databases.system.clone(),
        advancing: databases.requests.clone(),
        health: &databases.health,
        engine,
        keys,
        objects,
        relay_bell,
        outbound: &work.outbound,
        settings: work.workflows.settings(work.workflows.worker_concurrency),
        retention: retention.retention(),
    };
    background.run(&tasks);
    serve_operators(&tasks, operator, &databases.health, &draining).await?;
    tracing::info!("the worker is running");
    wait_for_stop_signal().await?;
    draining.cancel();
    tasks.end().await;
    tracing::info!("stopped");
    Ok(())
}

async fn serve_operators(
    tasks: &Tasks,
    config: &OperatorConfig,
    health: &Reachability,
    draining: &CancellationToken,
) -> anyhow::Result<()> {
    let metrics = telemetry::metrics()?;
    // Histograms accumulate samples until upkeep runs, whether or not metrics are read.
    let upkeep = metrics.clone();
    tasks.run(|stop| async move {
        while tokio::time::timeout(METRICS_UPKEEP_INTERVAL, stop.cancelled()).await.is_err() {
            upkeep.run_upkeep();
        }
    });
    if let Some(address) = config.metrics_listen {
        let listener =
            TcpListener::bind(address).await.with_context(|| format!("can't listen on {address}"))?;
        let router = operator_router(health.clone(), draining.clone(), metrics);
        tasks.run(|stop| async move {
            if let Err(error) = serve(listener, router, Connections::default(), stop).await {
                tracing::error!(error = &error as &dyn std::error::Error, "the operators' listener failed");
            }
        });
    }
    tasks.run(service_manager::report);
    Ok(())
}

async fn wait_for_stop_signal() -> anyhow::Result<()> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    service_manager::report_stopping();
    Ok(())
}
