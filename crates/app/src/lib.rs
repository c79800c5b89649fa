//! Use cases: one file or folder per noun. They validate requests, apply the domain's rules, and write through
//! the store, within a command (`command`). `live` has what runs beside requests. Only `limits` uses header fields
//! (`http::HeaderMap`); nothing else here depends on HTTP.

pub mod analysis;
pub mod analysis_settings;
pub mod approval;
pub mod archive;
pub mod artifact;
pub mod authentication;
pub mod browser_session;
pub mod cache;
pub mod cleanup;
pub mod command;
pub mod commit;
pub mod consistent_read;
pub mod definition;
pub mod deployment;
pub mod deployment_rights;
pub mod deployment_tail;
pub mod environment;
pub mod environment_hold;
pub mod environment_list;
pub mod event;
pub mod evidence;
pub mod failure;
pub mod fix;
pub mod forge;
pub mod freeze;
pub mod group;
pub mod id_token;
pub mod job;
mod known_names;
pub mod lasting_environment;
pub mod limits;
pub mod live;
pub mod log;
pub mod lost_grants;
pub mod member;
pub mod next_action;
pub mod organization;
pub mod pipeline;
pub mod pipeline_archive;
pub mod pipeline_role;
pub mod precondition;
pub mod protection;
pub mod public_url;
pub mod role_grant;
pub mod runner;
pub mod runner_pool;
pub mod secret;
pub mod service_account;
pub mod session;
pub mod sign_in;
pub mod step_registry;
pub mod token;
pub mod token_exchange;
mod trace;
pub mod trust_policy;
pub mod web_url;

use std::sync::Arc;

use greenroom_domain::principal::Principal;
use greenroom_engine::Engine;
use greenroom_keys::Keys;
use greenroom_outbound::OutboundClient;
use greenroom_store::{Reachability, Store};
use greenroom_worker::log_reader::LogReader;
use greenroom_worker::objects::Objects;
use greenroom_worker::relay::RelayBell;
use greenroom_worker::sequencer::SequencerBell;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::authentication::Authentication;
use self::deployment_tail::DeploymentTails;
use self::id_token::settings::IdTokenSettings;
use self::id_token::signing_keys::SigningKeyCache;
use self::job::heartbeat_throttle::HeartbeatThrottle;
use self::job::timing::JobTiming;
use self::live::feed::Feed;
use self::live::stream_rights::StreamRights;
use self::live::watcher_heartbeat::WatcherHeartbeat;
use self::log::tail::LogTails;
use self::sign_in::SignIn;
use self::token_exchange::issuer_keys::IssuerKeyCache;
use self::web_url::WebUrls;
use crate::limits::{Capacity, Limits};

/// For the tests of this crate, which are in `tests/`. Nothing else may use it.
#[doc(hidden)]
pub mod internals {
    pub use crate::limits::client_address::FORWARDED_FOR;
    pub use crate::limits::counts::Counts;
    pub use crate::limits::organization_shares::OrganizationShares;
    pub use crate::limits::rate::{MAX_ADDRESSES, Rate};
    pub use crate::limits::shares::Shares;
    pub use crate::limits::tries::{MAX_ENTRIES, Tries, WINDOW};

    pub mod bundle {
        pub use crate::evidence::bundle::{deploy_call, fenced_note};
    }

    pub mod known_names {
        pub use crate::known_names::{refusal, warnings};
    }

    pub mod password_hash {
        pub use crate::sign_in::password_hash::{hash, verify};
    }
}

/// The dependencies of every use case. Cheap to clone.
#[derive(Clone)]
pub struct App {
    /// The store whose connection pool this request may use.
    pub store: Store,
    parts: Arc<Parts>,
}

pub struct Parts {
    general: Store,
    reserved: Store,
    pub limits: Limits,
    pub authentication: Authentication,
    pub sign_in: SignIn,
    pub feed: Feed,
    pub stream_rights: StreamRights,
    pub watcher_heartbeat: WatcherHeartbeat,
    pub bell: SequencerBell,
    /// Rung after the commit of a command that wrote a wake-up to the outbox.
    pub relay_bell: RelayBell,
    pub engine: Engine,
    /// The master keys of secrets.
    pub keys: Keys,
    pub id_tokens: IdTokenSettings,
    /// The keys that sign id tokens.
    pub signing_keys: SigningKeyCache,
    /// The keys of issuers whose tokens are exchanged.
    pub issuer_keys: IssuerKeyCache,
    /// The object store with logs, artifacts and caches.
    pub objects: Objects,
    /// The logs that this server's streams follow.
    pub log_tails: LogTails,
    /// The deployments that this server's streams follow.
    pub deployment_tails: DeploymentTails,
    /// Lease length and heartbeat interval of jobs.
    pub job_timing: JobTiming,
    /// Jobs whose heartbeat was sent to the engine recently.
    pub heartbeat_throttle: HeartbeatThrottle,
    pub health: Reachability,
    /// Tasks that outlive their request, such as storing an upload or leaving the queue for a client that
    /// disconnected. Shutdown waits for them.
    pub detached_tasks: TaskTracker,
    /// Canceled when the daemon begins to drain: the server reports `not ready`, and streams end.
    pub draining: CancellationToken,
}

/// What a server uses besides the database.
pub struct Backends {
    pub engine: Engine,
    pub objects: Objects,
    pub keys: Keys,
    pub id_tokens: IdTokenSettings,
    /// For requests to addresses that users name.
    pub outbound: OutboundClient,
}

/// The stores of requests, by their capacity (see [`Capacity`]).
#[derive(Clone, Debug)]
pub struct Stores {
    pub general: Store,
    pub reserved: Store,
}

impl App {
    pub fn new(
        Stores { general: store, reserved }: Stores,
        limits: Limits,
        health: Reachability,
        Backends { engine, objects, keys, id_tokens, outbound }: Backends,
        job_timing: JobTiming,
        sign_in: SignIn,
    ) -> Self {
        let parts = Arc::new(Parts {
            authentication: Authentication::new(store.clone(), reserved.clone()),
            sign_in,
            feed: Feed::default(),
            stream_rights: StreamRights::default(),
            watcher_heartbeat: WatcherHeartbeat::default(),
            general: store.clone(),
            reserved,
            limits,
            bell: SequencerBell::default(),
            relay_bell: RelayBell::default(),
            engine,
            keys,
            id_tokens,
            signing_keys: SigningKeyCache::default(),
            issuer_keys: IssuerKeyCache::new(outbound),
            objects,
            log_tails: LogTails::default(),
            deployment_tails: DeploymentTails::default(),
            job_timing,
            heartbeat_throttle: HeartbeatThrottle::default(),
            health,
            detached_tasks: TaskTracker::new(),
            draining: CancellationToken::new(),
        });
        Self { store, parts }
    }

    /// Returns the same app with the database connections of a capacity.
    #[must_use]
    pub fn with(&self, capacity: Capacity) -> Self {
        let store = match capacity {
            Capacity::General => &self.parts.general,
            Capacity::Reserved => &self.parts.reserved,
        };
        Self { store: store.clone(), parts: Arc::clone(&self.parts) }
    }

    /// Returns the addresses of the records of a user's organization.
    pub fn web_urls<'a>(&'a self, principal: &'a Principal) -> WebUrls<'a> {
        WebUrls {
            public_url: self.sign_in.configured_url.as_ref(),
            organization: &principal.organization_slug,
        }
    }

    /// Returns a reader of logs, with the database connections of this app.
    pub fn log_reader(&self) -> LogReader<'_> {
        LogReader { store: &self.store, objects: &self.objects }
    }

    /// Returns the stores of requests: general and reserved.
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
