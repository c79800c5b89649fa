//! The long-running commands `serve` and `worker`, and their background tasks.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use greenroom_keys::Keys;
use greenroom_store::{PoolSettings, Reachability, Store, connect};
use greenroom_worker::engine::{Engine, StoreAdvancer, run_worker as run_workflows};
use greenroom_worker::evidence::{EvidenceBell, ForgeAccess, Sources};
use greenroom_worker::relay::{self, RelayBell};
use greenroom_worker::sequencer::{self, SequencerBell};
use greenroom_worker::{
    cleanup, evidence, fix, health, housekeeping, installation, model, registry_sync, session_ending,
    sweeper, watchdog,
};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::app::job::timing::JobTiming;
use crate::app::live::object_gc;
use crate::app::sign_in::SignIn;
use crate::app::{App, Backends, Stores};
use crate::config::{
    DatabaseConfig, JobConfig, ListenConfig, OperatorConfig, RetentionConfig, SecretsConfig, TemporalConfig,
    WorkConfig,
};
use crate::http::{operator_router, router};
use crate::limits::{DEADLINE, LimitSettings, Limits};
use crate::serve::{Connections, serve};
use crate::telemetry;

const METRICS_UPKEEP_INTERVAL: Duration = Duration::from_secs(5);
/// For the sequencer, the feed, the checks of stream rights, the heartbeats of watchers, the relay, the
/// database health check, and tasks that run now and then, such as housekeeping.
const SYSTEM_CONNECTIONS: u32 = 7;
/// Requests wait longer for a reserved connection than for a general one, and use it for a shorter time: they
/// wait for a row lock for at most a second, so that even if all reserved connections wait for locks, one is
/// free again soon.
const RESERVED_ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);
const RESERVED_LOCK_TIMEOUT: Duration = Duration::from_secs(1);
const RESERVED_STATEMENT_TIMEOUT: Duration = Duration::from_secs(3);

/// Connection pools for requests and for background tasks, so that neither can starve the other.
pub struct Databases {
    pub requests: Store,
    /// For requests that keep locks and jobs alive.
    pub reserved: Store,
    pub system: Store,
    pub health: Reachability,
}

impl Databases {
    pub fn open(
        config: &DatabaseConfig,
        request_connections: u32,
        reserved_connections: u32,
    ) -> anyhow::Result<Self> {
        let system = PoolSettings::new(&config.database_url, "greenroom", SYSTEM_CONNECTIONS);
        let requests = PoolSettings {
            max_connections: request_connections,
            min_connections: request_connections,
            ..system.clone()
        };
        let reserved = PoolSettings {
            application_name: "greenroom-reserved",
            max_connections: reserved_connections.max(1),
            min_connections: reserved_connections.max(1),
            acquire_timeout: RESERVED_ACQUIRE_TIMEOUT,
            lock_timeout: RESERVED_LOCK_TIMEOUT,
            statement_timeout: RESERVED_STATEMENT_TIMEOUT,
            ..system.clone()
        };
        let bad_url = "GREENROOM_DATABASE_URL is not a PostgreSQL address";
        let requests = Store::new(connect(&requests).context(bad_url)?);
        Ok(Self {
            reserved: requests.with_pool(connect(&reserved).context(bad_url)?),
            requests,
            system: Store::new(connect(&system).context(bad_url)?),
            health: Reachability::default(),
        })
    }
}

/// The background tasks of a daemon.
#[derive(Default)]
struct Tasks {
    tracker: TaskTracker,
    stop: CancellationToken,
}

impl Tasks {
    fn run<F: Future<Output = ()> + Send + 'static>(&self, task: impl FnOnce(CancellationToken) -> F) {
        self.tracker.spawn(task(self.stop.clone()));
    }

    /// Runs a task that needs the database. It begins when the database is reachable and its schema is up to
    /// date, so that until then the log has one line with the reason, and not one from each task.
    fn run_when_ready<F: Future<Output = ()> + Send + 'static>(
        &self,
        health: &Reachability,
        task: impl FnOnce(CancellationToken) -> F + Send + 'static,
    ) {
        let health = health.clone();
        self.run(|stop| async move {
            tokio::select! {
                () = stop.cancelled() => return,
                () = health.ready() => {}
            }
            task(stop).await;
        });
    }

    async fn end(self) {
        self.stop.cancel();
        self.tracker.close();
        if tokio::time::timeout(Duration::from_secs(5), self.tracker.wait()).await.is_err() {
            tracing::warn!("background tasks did not end within 5 s");
        }
    }
}

/// A running server with its background tasks.
pub struct Server {
    pub app: App,
    tasks: Tasks,
    listening: TaskTracker,
    stop_accepting: CancellationToken,
}

impl Server {
    /// Starts to serve the API on `listener`.
    pub fn start(
        databases: Databases,
        backends: Backends,
        job_timing: JobTiming,
        listener: TcpListener,
        limits: Limits,
        sign_in: SignIn,
    ) -> Self {
        let stores = Stores { general: databases.requests, reserved: databases.reserved };
        let connections = Connections::of(&limits);
        let app = App::new(stores, limits, databases.health, backends, job_timing, sign_in);
        let (tasks, system) = (Tasks::default(), databases.system);
        let health = app.health.clone();
        let all = app.stores().into_iter().chain([&system]).cloned().collect();
        let (store, watched) = (system.clone(), health.clone());
        tasks.run(|stop| health::watch(store, all, watched, stop));
        let stores = app.stores().map(Clone::clone);
        tasks.run_when_ready(&health, move |_| open_connections(stores));
        let (store, engine) = (system.clone(), app.engine.clone());
        tasks.run_when_ready(&health, move |stop| installation::identify(store, engine, stop));
        let (store, bell) = (system.clone(), app.bell.clone());
        tasks.run_when_ready(&health, move |stop| sequencer::run(store, bell, stop));
        let (store, engine, bell) = (system.clone(), app.engine.clone(), app.relay_bell.clone());
        tasks.run_when_ready(&health, move |stop| relay::run(store, engine, bell, stop));
        let (store, own) = (system.clone(), app.clone());
        tasks.run_when_ready(&health, move |stop| async move { own.feed.run(store, stop).await });
        let (store, own) = (system.clone(), app.clone());
        tasks
            .run_when_ready(&health, move |stop| async move { own.watcher_heartbeat.run(store, stop).await });
        let (store, objects) = (system.clone(), app.objects.clone());
        tasks.run_when_ready(&health, move |stop| object_gc::run(store, objects, stop));
        let (store, own) = (system.clone(), app.clone());
        tasks.run_when_ready(&health, move |stop| async move { own.log_tails.run(store, stop).await });
        let (store, own) = (system.clone(), app.clone());
        tasks.run_when_ready(&health, move |stop| async move { own.deployment_tails.run(store, stop).await });
        let (store, own) = (system, app.clone());
        tasks.run_when_ready(&health, move |stop| async move { own.stream_rights.run(store, stop).await });
        let own = app.clone();
        tasks.run_when_ready(&health, move |stop| async move { own.authentication.record_uses(stop).await });
        let limits = app.limits.clone();
        tasks.run(|stop| async move { limits.forget_idle(stop).await });
        let keys = app.keys.clone();
        tasks.run(|stop| reload_keys(keys, stop));

        let (listening, stop_accepting) = (TaskTracker::new(), CancellationToken::new());
        let serving = serve(listener, router(app.clone()), connections, stop_accepting.clone());
        listening.spawn(async move {
            if let Err(error) = serving.await {
                tracing::error!(error = &error as &dyn std::error::Error, "the API listener failed");
            }
        });
        listening.close();
        Self { app, tasks, listening, stop_accepting }
    }

    /// Reports `not ready` for `delay`, then stops accepting connections, and waits for open requests.
    pub async fn stop(self, delay: Duration) {
        self.app.draining.cancel();
        tokio::time::sleep(delay).await;
        self.stop_accepting.cancel();
        self.listening.wait().await;
        self.app.detached_tasks.close();
        if tokio::time::timeout(Duration::from_secs(5), self.app.detached_tasks.wait()).await.is_err() {
            tracing::warn!("detached tasks of requests did not end within 5 s");
        }
        self.tasks.end().await;
        self.app.engine.close(Duration::from_secs(1)).await;
        for store in self.app.stores() {
            // A connection that is being opened ends too: PostgreSQL would wait for its password for a minute.
            if tokio::time::timeout(Duration::from_secs(2), store.close()).await.is_err() {
                tracing::warn!("some database connections were in use for too long to close them");
            }
        }
    }
}

pub async fn run_server(
    database: &DatabaseConfig,
    temporal: &TemporalConfig,
    jobs: &JobConfig,
    secrets: &SecretsConfig,
    listen: &ListenConfig,
    limits: LimitSettings,
    operator: &OperatorConfig,
) -> anyhow::Result<()> {
    let (engine, keys) = (Engine::new(temporal.engine()?), secrets.keys().await?);
    let databases = Databases::open(database, limits.database_connections, limits.reserved_connections)?;
    let listener = TcpListener::bind(listen.listen)
        .await
        .with_context(|| format!("can't listen on {}", listen.listen))?;
    let address = listener.local_addr()?;
    let objects = jobs.objects.open()?;
    let limits = Limits::with(DEADLINE, limits);
    // Browsers leave out the default port.
    let own_url = format!("http://{address}");
    let own_url = own_url.strip_suffix(":80").unwrap_or(&own_url).parse()?;
    let outbound = listen.outbound.client();
    let sign_in = SignIn::new(listen.sign_in()?, own_url, &outbound)?;
    let backends = Backends { engine, objects, keys, id_tokens: jobs.id_tokens(), outbound };
    let server = Server::start(databases, backends, jobs.timing(), listener, limits, sign_in);
    serve_operators(&server.tasks, operator, &server.app.health, &server.app.draining).await?;
    tracing::info!(%address, "serving the API on http://{address}/api/v1");
    wait_for_stop_signal().await?;
    tracing::info!("received a stop signal: draining");
    server.stop(Duration::from_secs(listen.drain_delay_seconds)).await;
    tracing::info!("stopped");
    Ok(())
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
    let objects = work.objects.open()?;
    // A worker serves no requests, so it never uses the reserved connection.
    let databases = Databases::open(database, work.worker_concurrency, 1)?;
    let (tasks, draining) = (Tasks::default(), CancellationToken::new());
    let (store, health) = (databases.system.clone(), databases.health.clone());
    let all = vec![store.clone(), databases.requests.clone()];
    tasks.run(|stop| health::watch(store, all, health, stop));
    let (registry_keys, forge_keys) = (keys.clone(), keys.clone());
    tasks.run(|stop| reload_keys(keys, stop));
    let (store, own) = (databases.system.clone(), engine.clone());
    tasks.run_when_ready(&databases.health, move |stop| installation::identify(store, own, stop));
    let bell = RelayBell::default();
    let (store, own, rung) = (databases.system.clone(), engine.clone(), bell.clone());
    tasks.run_when_ready(&databases.health, move |stop| relay::run(store, own, rung, stop));
    let (store, rung) = (databases.system.clone(), bell.clone());
    tasks.run_when_ready(&databases.health, move |stop| relay::wake_all_deployments(store, rung, stop));
    let (store, own, rung) = (databases.system.clone(), engine.clone(), bell.clone());
    tasks.run_when_ready(&databases.health, move |stop| watchdog::run(store, own, rung, stop));
    let evidence_bell = EvidenceBell::default();
    let advancer = Arc::new(StoreAdvancer {
        store: databases.requests.clone(),
        bell,
        evidence_bell: evidence_bell.clone(),
    });
    let settings = work.settings();
    tasks.run_when_ready(&databases.health, move |stop| run_workflows(engine, advancer, settings, stop));
    let store = databases.system.clone();
    tasks
        .run_when_ready(&databases.health, move |stop| sequencer::run(store, SequencerBell::default(), stop));
    let store = databases.system.clone();
    tasks.run_when_ready(&databases.health, move |stop| sweeper::run(store, stop));
    let store = databases.system.clone();
    tasks.run_when_ready(&databases.health, move |stop| session_ending::run(store, stop));
    let store = databases.system.clone();
    tasks.run_when_ready(&databases.health, move |stop| cleanup::run(store, stop));
    let (store, reader) = (databases.system.clone(), work.outbound.registry_reader());
    tasks.run_when_ready(&databases.health, move |stop| {
        registry_sync::run(store, reader, registry_keys, stop)
    });
    let store = databases.system.clone();
    let access = ForgeAccess { keys: forge_keys, client: work.outbound.client() };
    let sources = Sources { objects, forges: Some(access.clone()) };
    tasks.run_when_ready(&databases.health, move |stop| evidence::run(store, sources, evidence_bell, stop));
    let store = databases.system.clone();
    let models = access.clone();
    tasks.run_when_ready(&databases.health, move |stop| fix::run(store, access, stop));
    let store = databases.system.clone();
    tasks.run_when_ready(&databases.health, move |stop| model::run(store, models, stop));
    let (store, retention) = (databases.system.clone(), retention.retention());
    tasks.run_when_ready(&databases.health, move |stop| housekeeping::run(store, retention, stop));
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
    Ok(())
}

/// Opens the connections for requests before they are needed.
async fn open_connections(stores: [Store; 2]) {
    for store in stores {
        if let Err(error) = store.open_connections().await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "could not open all database connections"
            );
        }
    }
}

/// Reads the master keys of secrets again after each SIGHUP. If that fails, the keys that were read before stay
/// in use.
async fn reload_keys(keys: Keys, stop: CancellationToken) {
    let Ok(mut hangup) = signal(SignalKind::hangup()) else {
        tracing::error!("can't receive SIGHUP: master keys are read at the start only");
        return;
    };
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = hangup.recv() => {}
        }
        match keys.reload().await {
            Ok(Some(active)) => tracing::info!(active, "read the master keys of secrets again"),
            Ok(None) => {}
            Err(error) => {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "could not read the master keys of secrets again; the former ones stay in use"
                );
            }
        }
    }
}

async fn wait_for_stop_signal() -> anyhow::Result<()> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}
