//! The limits of one server, and what one token, person, organization or address can use of it. Everything is
//! counted in this process; nothing here reads the database.

mod bodies;
pub(crate) mod client_address;
mod client_timing;
pub(crate) mod counts;
mod exceeded;
mod failures;
pub(crate) mod organization_shares;
pub(crate) mod rate;
mod sender;
mod settings;
pub(crate) mod shares;
mod slots;
pub(crate) mod tries;

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::OrganizationId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use self::bodies::BodyMemory;
use crate::failure::{Code, Failure};

pub use self::bodies::Charge;
pub use self::client_address::{ClientAddress, PeerAddress};
pub use self::client_timing::ClientTiming;
use self::counts::Counts;
pub use self::counts::{Counted, Kind, Party, PartyLimit};
pub use self::exceeded::{Exceeded, POLICY, RATE_LIMIT};
use self::failures::Failures;
use self::rate::Rate;
pub use self::sender::{Bearer, Sender};
pub use self::settings::{DEADLINE, LimitSettings, Switch, network};
pub use self::shares::Share;
use self::slots::Slots;
pub use self::slots::{Capacity, ConnectionPermit, Slot};
pub use self::tries::Account;
use self::tries::Tries;

/// The maximum of concurrent requests for a job, for a runner that does not send its concurrency. Equals the
/// default of `token_in_flight`.
const DEFAULT_MAX_POLLS: u32 = 64;
/// The largest concurrency of a runner (`greenroom-runner --concurrency`).
const MAX_CONCURRENCY: u32 = 256;
/// How many uploads of artifacts and caches this server stores concurrently: each uses a few MiB of memory.
const MAX_UPLOADS: usize = 24;
/// How long an upload waits for memory before its runner has to retry.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(10);
/// How many seconds' worth of searched bytes a party can use in a burst.
const SEARCH_BURST_SECONDS: u32 = 16;
const KIB_PER_MIB: u32 = 1024;
/// Exchanges of tokens per second, per address. Each may cost a request to an issuer.
const EXCHANGE_RATE: u32 = 10;
/// Audit events of refused exchanges per second, per organization, and the size of a burst.
const EXCHANGE_REFUSAL_RATE: u32 = 1;
const EXCHANGE_REFUSAL_BURST: u32 = 60;
const FORGET_IDLE_INTERVAL: Duration = Duration::from_secs(5);

/// Which limits apply to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    General,
    /// Requests that keep locks and jobs alive have reserved capacity.
    Reserved,
}

/// How much a token, its person, and the members or the runners of its organization may use.
#[derive(Clone, Copy, Debug)]
struct BearerLimits {
    token: u32,
    person: u32,
    organization: u32,
}

/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct Limits(Arc<Parts>);

#[derive(Debug)]
pub struct Parts {
    pub deadline: Duration,
    pub settings: LimitSettings,
    pub client_timing: ClientTiming,
    pub slots: Slots,
    pub bodies: BodyMemory,
    pub failures: Failures,
    /// Failed sign-ins.
    pub tries: Tries,
    counts: Counts,
    general: Rates,
    reserved: Rates,
    address: Rate,
    /// KiB of logs that are searched, by each person and by each organization.
    person_search: Rate,
    search: Rate,
    exchanges: Rate,
    exchange_refusals: Rate,
    waiting: Arc<Semaphore>,
    uploads: Arc<Semaphore>,
}

/// The rates of general or of reserved requests.
#[derive(Debug)]
struct Rates {
    token: Rate,
    person: Rate,
    organization: Rate,
}

impl Rates {
    fn new(settings: &LimitSettings) -> Self {
        Self {
            token: Rate::new("rate", settings.token_rate, settings.token_burst),
            person: Rate::new("rate", settings.person_rate, settings.person_burst),
            organization: Rate::new("rate", settings.organization_rate, settings.organization_burst),
        }
    }

    fn check(&self, bearer: Bearer) -> Result<(), Exceeded> {
        self.token.check(bearer.token())?;
        if let Some(person) = bearer.person() {
            self.person.check(person)?;
        }
        self.organization.check(bearer.group())
    }

    fn forget_idle(&self) {
        for rate in [&self.token, &self.person, &self.organization] {
            rate.forget_idle();
        }
    }
}

#[boxed_futures]
impl Limits {
    /// The default limits, with another number of concurrent requests.
    pub fn new(deadline: Duration, max_in_flight: usize) -> Self {
        Self::with(deadline, LimitSettings { max_in_flight, ..LimitSettings::default() })
    }

    pub fn with(deadline: Duration, settings: LimitSettings) -> Self {
        Self::with_client_timing(deadline, settings, ClientTiming::default())
    }

    /// Limits with other client timeouts than the defaults; for tests.
    pub fn with_client_timing(
        deadline: Duration,
        settings: LimitSettings,
        client_timing: ClientTiming,
    ) -> Self {
        let settings = settings.effective();
        Self(Arc::new(Parts {
            deadline,
            client_timing,
            slots: Slots::new(&settings),
            bodies: BodyMemory::new(&settings),
            failures: Failures::new(settings.address_failures),
            tries: Tries::new(settings.limits == Switch::On),
            counts: Counts::default(),
            general: Rates::new(&settings),
            reserved: Rates::new(&settings),
            address: Rate::new("rate", settings.address_rate, settings.address_burst),
            person_search: search_rate(settings.person_search_mib),
            search: search_rate(settings.organization_search_mib),
            exchanges: exchange_rate(settings.limits),
            exchange_refusals: Rate::new("exchange_refusals", EXCHANGE_REFUSAL_RATE, EXCHANGE_REFUSAL_BURST),
            waiting: Arc::new(Semaphore::new(settings.max_waiting)),
            uploads: Arc::new(Semaphore::new(MAX_UPLOADS)),
            settings,
        }))
    }

    /// Counts a request for its sender until the result is dropped. A request of a bearer that `awaits_body` is
    /// counted separately from those that can be served, until its body has arrived.
    pub fn admit(&self, sender: Sender, class: Class, awaits_body: bool) -> Result<Counted, Failure> {
        let admitted = match (sender, class) {
            (Sender::Bearer(bearer), class) => {
                let (kind, rates) = match (class, awaits_body) {
                    (Class::General, false) => (Kind::Requests, &self.general),
                    (Class::General, true) => (Kind::Bodies, &self.general),
                    (Class::Reserved, false) => (Kind::ReservedRequests, &self.reserved),
                    (Class::Reserved, true) => (Kind::ReservedBodies, &self.reserved),
                };
                let counted = self.count_in_flight(kind, bearer);
                counted.and_then(|counted| rates.check(bearer).map(|()| counted))
            }
            (Sender::Address(address), _) => {
                let counted = self.count_address(Kind::Requests, address);
                counted.and_then(|counted| self.address.check(Party::Address(address)).map(|()| counted))
            }
            (Sender::Unverified(address), _) => self.count_address(Kind::UnverifiedRequests, address),
        };
        admitted.map_err(Failure::from)
    }

    /// Counts a request whose body has arrived, until the result is dropped. It was admitted before.
    pub fn body_arrived(&self, bearer: Bearer, class: Class) -> Result<Counted, Failure> {
        let kind = match class {
            Class::General => Kind::Requests,
            Class::Reserved => Kind::ReservedRequests,
        };
        self.count_in_flight(kind, bearer).map_err(Failure::from)
    }

    /// Counts an event or log stream. Hold the result for as long as it is open.
    pub fn stream(&self, bearer: Bearer) -> Result<Counted, Failure> {
        let limits = BearerLimits {
            token: self.settings.token_streams,
            person: self.settings.person_streams,
            organization: self.settings.organization_streams,
        };
        self.count(Kind::Streams, bearer, limits).map_err(Failure::from)
    }

    /// Counts an upload of an artifact or a cache. Hold the result until it has ended.
    pub fn upload(&self, bearer: Bearer) -> Result<Counted, Failure> {
        let limits = BearerLimits {
            token: self.settings.token_uploads,
            // Only runners upload.
            person: 0,
            organization: self.settings.organization_uploads,
        };
        self.count(Kind::Uploads, bearer, limits).map_err(Failure::from)
    }

    /// Reserves memory for storing an upload. Hold the result until it is stored. Waits while the server
    /// stores too many uploads.
    pub async fn upload_memory(&self) -> Result<OwnedSemaphorePermit, Failure> {
        let permit = Arc::clone(&self.uploads).acquire_owned();
        match tokio::time::timeout(UPLOAD_TIMEOUT, permit).await {
            Ok(permit) => permit.map_err(Failure::internal),
            Err(_) => {
                let detail = "This server stores too many uploads at once. Wait a few seconds and try again.";
                Err(Failure::new(Code::Overloaded, detail))
            }
        }
    }

    /// Counts a download of a log, an artifact or a cache. Hold the result for as long as its body is sent.
    pub fn download(&self, bearer: Bearer) -> Result<Counted, Failure> {
        let limits = BearerLimits {
            token: self.settings.token_downloads,
            person: self.settings.person_downloads,
            organization: self.settings.organization_downloads,
        };
        self.count(Kind::Downloads, bearer, limits).map_err(Failure::from)
    }

    /// Counts a search of a log. Hold the result until it has ended.
    pub fn search(&self, bearer: Bearer) -> Result<Counted, Failure> {
        let limits = BearerLimits {
            token: self.settings.token_searches,
            person: self.settings.person_searches,
            organization: self.settings.organization_searches,
        };
        self.count(Kind::Searches, bearer, limits).map_err(Failure::from)
    }

    /// Counts bytes of logs before they are searched. Fails if the person or the organization has searched too
    /// many.
    pub fn search_bytes(&self, bearer: Bearer, bytes: u64) -> Result<(), Exceeded> {
        let kib = u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX);
        let kib = NonZeroU32::new(kib).unwrap_or(NonZeroU32::MIN);
        if let Some(person) = bearer.person() {
            self.person_search.check_units(person, kib)?;
        }
        self.search.check_units(bearer.organization(), kib)
    }

    /// Counts an exchange of tokens from an address.
    pub fn exchange(&self, address: IpAddr) -> Result<(), Failure> {
        Ok(self.exchanges.check(Party::Address(address))?)
    }

    /// Counts a refused exchange. Returns whether the organization gets an event of it.
    pub fn records_exchange_refusal(&self, organization: OrganizationId) -> bool {
        self.exchange_refusals.check(Party::Organization(organization.uuid())).is_ok()
    }

    /// Counts a runner's request that waits for a job. `concurrency` is the number of concurrent jobs that
    /// the runner has sent.
    pub fn poll(&self, bearer: Bearer, concurrency: Option<u32>) -> Result<Counted, Failure> {
        let polls = concurrency.map_or(DEFAULT_MAX_POLLS, |jobs| jobs.min(MAX_CONCURRENCY) + 1);
        let polls = if self.settings.limits == Switch::On { polls } else { 0 };
        let limits = BearerLimits { token: polls, person: 0, organization: self.settings.organization_polls };
        self.count(Kind::Polls, bearer, limits).map_err(Failure::from)
    }

    /// Counts a connection from an address; `None` if it has too many. Trusted proxies have no limit.
    pub fn connection(&self, peer: IpAddr) -> Option<Counted> {
        let limit = if self.is_trusted(peer) { 0 } else { self.settings.address_connections };
        let party = Party::Address(client_address::counted_as(peer));
        self.counts.count(Kind::Connections, [Some(PartyLimit { party, limit }), None, None]).ok()
    }

    /// Counts a request that only waits, for a job or a turn. Fails if too many wait on this server.
    pub fn wait(&self) -> Result<OwnedSemaphorePermit, Failure> {
        Arc::clone(&self.waiting).try_acquire_owned().map_err(|_| {
            let detail =
                "Too many requests wait on this server already. Queue instead (`queue: true`), or try again.";
            Failure::new(Code::Overloaded, detail)
        })
    }

    /// Removes idle parties every few seconds.
    pub async fn forget_idle(&self, stop: CancellationToken) {
        while tokio::time::timeout(FORGET_IDLE_INTERVAL, stop.cancelled()).await.is_err() {
            self.general.forget_idle();
            self.reserved.forget_idle();
            self.address.forget_idle();
            self.person_search.forget_idle();
            self.search.forget_idle();
            self.exchanges.forget_idle();
            self.exchange_refusals.forget_idle();
            self.failures.forget_idle();
            self.tries.forget_idle();
        }
    }

    fn count_address(&self, kind: Kind, address: IpAddr) -> Result<Counted, Exceeded> {
        let quota = PartyLimit { party: Party::Address(address), limit: self.settings.address_in_flight };
        self.counts.count(kind, [Some(quota), None, None]).map_err(|full| Exceeded::concurrency(kind, full))
    }

    fn count_in_flight(&self, kind: Kind, bearer: Bearer) -> Result<Counted, Exceeded> {
        let limits = BearerLimits {
            token: self.settings.token_in_flight,
            person: self.settings.person_in_flight,
            organization: self.settings.organization_in_flight,
        };
        self.count(kind, bearer, limits)
    }

    fn count(&self, kind: Kind, bearer: Bearer, limits: BearerLimits) -> Result<Counted, Exceeded> {
        let quotas = [
            Some(PartyLimit { party: bearer.token(), limit: limits.token }),
            bearer.person().map(|party| PartyLimit { party, limit: limits.person }),
            Some(PartyLimit { party: bearer.group(), limit: limits.organization }),
        ];
        self.counts.count(kind, quotas).map_err(|full| Exceeded::concurrency(kind, full))
    }
}

fn exchange_rate(switch: Switch) -> Rate {
    let rate = if switch == Switch::On { EXCHANGE_RATE } else { 0 };
    Rate::new("exchanges", rate, rate)
}

fn search_rate(mib_per_second: u32) -> Rate {
    let kib_per_second = mib_per_second.saturating_mul(KIB_PER_MIB);
    Rate::new("search_kib", kib_per_second, kib_per_second.saturating_mul(SEARCH_BURST_SECONDS))
}

impl std::ops::Deref for Limits {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}
