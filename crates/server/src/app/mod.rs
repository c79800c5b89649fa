//! Use cases: one file per noun. They check, decide by the domain's rules, and write through the store.

pub mod archive;
pub mod artifact;
pub mod at_once;
pub mod attendance;
pub mod authentication;
pub mod cache;
pub mod cleanup;
pub mod definition;
pub mod deployment;
pub mod deployment_rights;
pub mod engine_heard;
pub mod environment;
pub mod environment_pool;
pub mod event;
pub mod failure;
pub mod feed;
pub mod handover;
pub mod job;
pub mod job_credentials;
pub mod log;
pub mod log_tail;
pub mod member;
pub mod next_action;
pub mod objects;
pub mod organization;
pub mod pipeline;
pub mod pipeline_archive;
pub mod planted;
pub mod precondition;
pub mod refusal;
pub mod removal;
pub mod runner;
pub mod runner_pool;
pub mod session;
pub mod settled;
pub mod token;
pub mod transfer;
pub mod vigil;
pub mod waiting;

use std::sync::Arc;

use greenroom_store::{Reachability, Store};
use greenroom_worker::engine::Engine;
use greenroom_worker::relay::RelayBell;
use greenroom_worker::sequencer::SequencerBell;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::attendance::Attendance;
use self::authentication::Authentication;
use self::engine_heard::EngineHeard;
use self::feed::Feed;
use self::job::JobTiming;
use self::log_tail::LogTails;
use self::objects::Objects;
use self::vigil::Vigil;
use crate::limits::{Capacity, Limits};

/// What every use case can reach. Cheap to clone.
#[derive(Clone)]
pub struct App {
    /// With the connections that this request may use.
    pub store: Store,
    parts: Arc<Parts>,
}

pub struct Parts {
    general: Store,
    reserved: Store,
    pub limits: Limits,
    pub authentication: Authentication,
    pub feed: Feed,
    pub vigil: Vigil,
    pub attendance: Attendance,
    pub bell: SequencerBell,
    /// To be rung after the commit of a command that wrote a wake.
    pub relay_bell: RelayBell,
    pub engine: Engine,
    /// Logs and artifacts.
    pub objects: Objects,
    /// The logs that this server's streams follow.
    pub log_tails: LogTails,
    /// How many uploads and downloads are under way.
    pub job_timing: JobTiming,
    /// Jobs of which the engine has heard a moment ago.
    pub engine_heard: EngineHeard,
    pub health: Reachability,
    /// Sessions whose clients are gone, on their way out of the queue.
    pub departures: TaskTracker,
    /// Cancelled when the daemon begins to drain: not ready any more, and streams end.
    pub draining: CancellationToken,
}

impl App {
    /// `stores`: one with connections for all requests, and one with those that are reserved.
    pub fn new(
        (store, reserved): (Store, Store),
        limits: Limits,
        bell: SequencerBell,
        health: Reachability,
        engine: Engine,
        (objects, job_timing): (Objects, JobTiming),
    ) -> Self {
        let parts = Arc::new(Parts {
            authentication: Authentication::new(store.clone(), reserved.clone()),
            feed: Feed::default(),
            vigil: Vigil::default(),
            attendance: Attendance::default(),
            general: store.clone(),
            reserved,
            limits,
            bell,
            relay_bell: RelayBell::default(),
            engine,
            objects,
            log_tails: LogTails::default(),
            job_timing,
            engine_heard: EngineHeard::default(),
            health,
            departures: TaskTracker::new(),
            draining: CancellationToken::new(),
        });
        Self { store, parts }
    }

    /// The same, with the database connections that belong to a capacity.
    #[must_use]
    pub fn with(&self, capacity: Capacity) -> Self {
        let store = match capacity {
            Capacity::General => &self.parts.general,
            Capacity::Reserved => &self.parts.reserved,
        };
        Self { store: store.clone(), parts: Arc::clone(&self.parts) }
    }

    /// The stores of requests, general and reserved.
    pub fn stores(&self) -> [&Store; 2] {
        [&self.parts.general, &self.parts.reserved]
    }
}

impl std::ops::Deref for App {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.parts
    }
}
