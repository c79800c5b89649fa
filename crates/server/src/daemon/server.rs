//! A running server: the API's listener and the background tasks of a server.

use std::time::Duration;

use greenroom_app::job::timing::JobTiming;
use greenroom_app::limits::Limits;
use greenroom_app::live::object_gc;
use greenroom_app::sign_in::SignIn;
use greenroom_app::{App, Backends, Stores};
use greenroom_store::Store;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::daemon::databases::Databases;
use crate::daemon::tasks::{Shared, Tasks};
use crate::http::router;
use crate::serve::{Connections, Listener, serve};

/// A running server with its background tasks.
pub struct Server {
    pub app: App,
    pub(super) tasks: Tasks,
    listening: TaskTracker,
    stop_accepting: CancellationToken,
}

impl Server {
    /// Starts to serve the API on `listener`.
    pub fn start(
        databases: Databases,
        backends: Backends,
        job_timing: JobTiming,
        listener: impl Into<Listener>,
        limits: Limits,
        sign_in: SignIn,
    ) -> Self {
        let stores = Stores { general: databases.requests, reserved: databases.reserved };
        let (connections, listener) = (Connections::of(&limits), listener.into());
        let app = App::new(stores, limits, databases.health, backends, job_timing, sign_in);
        let (tasks, system) = (Tasks::default(), databases.system);
        let health = app.health.clone();
        let shared = Shared {
            system: &system,
            stores: app.stores().into_iter().chain([&system]).chain(&databases.advancing).cloned().collect(),
            health: &health,
            engine: &app.engine,
            keys: &app.keys,
            sequencer_bell: app.bell.clone(),
            relay_bell: app.relay_bell.clone(),
        };
        shared.run(&tasks);
        let stores = app.stores().map(Clone::clone);
        tasks.run_when_ready(&health, move |_| open_connections(stores));
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

        if let Some(tls) = listener.tls().cloned() {
            tasks.run(|stop| tls.reload(stop));
        }
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

/// Opens the connections for requests that stay open before they are needed.
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
