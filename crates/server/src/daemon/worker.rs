//! The background work of a worker: it runs the workflows of deployments, ends what is due, and cleans up.

use std::sync::Arc;

use greenroom_engine::{Engine, WorkerSettings, run_worker as run_workflows};
use greenroom_keys::Keys;
use greenroom_store::{Reachability, Store};
use greenroom_worker::advancer::StoreAdvancer;
use greenroom_worker::evidence::{EvidenceBell, ForgeAccess, Sources};
use greenroom_worker::housekeeping::Retention;
use greenroom_worker::objects::Objects;
use greenroom_worker::relay::{self, RelayBell};
use greenroom_worker::{
    backlog, cleanup, evidence, fix, housekeeping, model, registry_sync, session_ending, sweeper, watchdog,
};

use crate::config::OutboundConfig;
use crate::daemon::tasks::Tasks;

/// What the work needs.
pub(super) struct Work<'a> {
    /// For background tasks.
    pub system: Store,
    /// For advancing deployments.
    pub advancing: Store,
    pub health: &'a Reachability,
    pub engine: Engine,
    pub keys: Keys,
    pub objects: Objects,
    pub relay_bell: RelayBell,
    pub outbound: &'a OutboundConfig,
    pub settings: WorkerSettings,
    pub retention: Retention,
}

impl Work<'_> {
    pub(super) fn run(self, tasks: &Tasks) {
        let Self { system, health, engine, relay_bell: bell, settings, retention, .. } = self;
        let (store, rung) = (system.clone(), bell.clone());
        tasks.run_when_ready(health, move |stop| relay::wake_all_deployments(store, rung, stop));
        let (store, own, rung) = (system.clone(), engine.clone(), bell.clone());
        tasks.run_when_ready(health, move |stop| watchdog::run(store, own, rung, stop));
        let evidence_bell = EvidenceBell::default();
        let advancer =
            Arc::new(StoreAdvancer { store: self.advancing, bell, evidence_bell: evidence_bell.clone() });
        tasks.run_when_ready(health, move |stop| run_workflows(engine, advancer, settings, stop));
        let store = system.clone();
        tasks.run_when_ready(health, move |stop| sweeper::run(store, stop));
        let store = system.clone();
        tasks.run_when_ready(health, move |stop| session_ending::run(store, stop));
        let store = system.clone();
        tasks.run_when_ready(health, move |stop| backlog::run(store, stop));
        let store = system.clone();
        tasks.run_when_ready(health, move |stop| cleanup::run(store, stop));
        let (store, reader, keys) = (system.clone(), self.outbound.registry_reader(), self.keys.clone());
        tasks.run_when_ready(health, move |stop| registry_sync::run(store, reader, keys, stop));
        let access = ForgeAccess { keys: self.keys, client: self.outbound.client() };
        let sources = Sources { objects: self.objects, forges: Some(access.clone()) };
        let store = system.clone();
        tasks.run_when_ready(health, move |stop| evidence::run(store, sources, evidence_bell, stop));
        let (store, forges) = (system.clone(), access.clone());
        tasks.run_when_ready(health, move |stop| fix::run(store, forges, stop));
        let store = system.clone();
        tasks.run_when_ready(health, move |stop| model::run(store, access, stop));
        tasks.run_when_ready(health, move |stop| housekeeping::run(system, retention, stop));
    }
}
