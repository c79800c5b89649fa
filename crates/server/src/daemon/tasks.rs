//! The background tasks of a daemon.

use std::future::Future;
use std::time::Duration;

use greenroom_engine::Engine;
use greenroom_keys::Keys;
use greenroom_store::{Reachability, Store};
use greenroom_worker::relay::{self, RelayBell};
use greenroom_worker::sequencer::{self, SequencerBell};
use greenroom_worker::{health, installation};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The background tasks of a daemon.
#[derive(Default)]
pub(super) struct Tasks {
    tracker: TaskTracker,
    stop: CancellationToken,
}

impl Tasks {
    pub(super) fn run<F: Future<Output = ()> + Send + 'static>(
        &self,
        task: impl FnOnce(CancellationToken) -> F,
    ) {
        self.tracker.spawn(task(self.stop.clone()));
    }

    /// Runs a task that needs the database. It begins when the database is reachable and its schema is up to
    /// date, so that until then the log has one line with the reason, and not one from each task.
    pub(super) fn run_when_ready<F: Future<Output = ()> + Send + 'static>(
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

    pub(super) async fn end(self) {
        self.stop.cancel();
        self.tracker.close();
        if tokio::time::timeout(Duration::from_secs(5), self.tracker.wait()).await.is_err() {
            tracing::warn!("background tasks did not end within 5 s");
        }
    }
}

/// What a server and a worker both do in the background.
pub(super) struct Shared<'a> {
    /// For background tasks.
    pub system: &'a Store,
    /// All of the daemon's stores.
    pub stores: Vec<Store>,
    pub health: &'a Reachability,
    pub engine: &'a Engine,
    pub keys: &'a Keys,
    pub sequencer_bell: SequencerBell,
    pub relay_bell: RelayBell,
}

impl Shared<'_> {
    pub(super) fn run(self, tasks: &Tasks) {
        let (store, stores, health) = (self.system.clone(), self.stores, self.health.clone());
        tasks.run(|stop| health::watch(store, stores, health, stop));
        let keys = self.keys.clone();
        tasks.run(|stop| reload_keys(keys, stop));
        let (store, engine) = (self.system.clone(), self.engine.clone());
        tasks.run_when_ready(self.health, move |stop| installation::identify(store, engine, stop));
        let (store, bell) = (self.system.clone(), self.sequencer_bell);
        tasks.run_when_ready(self.health, move |stop| sequencer::run(store, bell, stop));
        let (store, engine, bell) = (self.system.clone(), self.engine.clone(), self.relay_bell);
        tasks.run_when_ready(self.health, move |stop| relay::run(store, engine, bell, stop));
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
