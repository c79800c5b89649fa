//! Authentication: from a token or the cookie of a browser session to the principal that it belongs to. Reads
//! may use a cached result that is up to half a second old; commands authenticate again in their own
//! transaction (`Store::command`).

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::browser_session::BrowserPrincipal;
use greenroom_domain::id::{BrowserSessionId, TokenId};
use greenroom_domain::principal::{Credential, Principal};
use greenroom_domain::token::TokenHash;
use greenroom_store::job::RunnerPrincipal;
use greenroom_store::system::runner::AuthenticatedRunner;
use greenroom_store::{Store, StoreError, with_db_timeout};
use moka::future::Cache;
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;
use crate::limits::Class;

/// Revocations and changes of role must take effect within a second; this leaves the other half for the
/// query.
const CACHE_TTL: Duration = Duration::from_millis(500);
const MAX_CACHED: u64 = 10_000;
const RECORD_INTERVAL: Duration = Duration::from_secs(5);
/// How long a token counts as known after it was last found valid.
const KNOWN_TTL: Duration = Duration::from_secs(3_600);
const MAX_KNOWN: u64 = 100_000;
/// How long a rejected token is rejected again without a look-up.
const REJECTED_TTL: Duration = Duration::from_secs(60);
const MAX_REJECTED: u64 = 10_000;

pub struct Authentication {
    general: LookUps,
    /// For requests with reserved capacity, which keep locks and jobs alive: they neither use the general
    /// connections nor share a look-up that waits for one.
    reserved: LookUps,
    /// Tokens that were found valid recently. Only valid ones are inserted, so forged ones can't evict them.
    known: Cache<TokenHash, ()>,
    /// Tokens that were found invalid. Any client can add entries, so they are separate from the valid ones.
    rejected: Cache<TokenHash, Rejection>,
    used: Arc<Mutex<HashSet<Credential>>>,
}

struct LookUps {
    store: Store,
    principals: Cache<TokenHash, Arc<Principal>>,
    browsers: Cache<TokenHash, Arc<BrowserPrincipal>>,
    runners: Cache<TokenHash, RunnerPrincipal>,
}

/// Why a look-up found no valid token. Concurrent requests with one token share one look-up and its outcome.
enum Miss {
    Rejected(Rejection),
    Store(StoreError),
}

/// A token that is not valid never becomes valid again: revocation and expiry are final, removing a member
/// revokes the member's tokens, and new tokens are random. The same holds for browser sessions: the end, the
/// expiry and being idle for too long are final.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The token or browser session was revoked or ended, has expired, or never existed.
    Invalid,
    /// The token belongs to a runner that was revoked.
    RevokedRunner,
}

/// The outcome of a look-up.
#[derive(Debug)]
pub enum Found<T> {
    Valid(T),
    /// `is_new` is true for the request whose look-up found this, if the token was neither known nor rejected
    /// before.
    Rejected {
        rejection: Rejection,
        is_new: bool,
    },
}

impl<T> Found<T> {
    fn new(found: Result<T, Arc<Miss>>, is_new: bool) -> Result<Self, Failure> {
        let miss = match found {
            Ok(valid) => return Ok(Self::Valid(valid)),
            Err(miss) => miss,
        };
        match Arc::try_unwrap(miss) {
            Ok(Miss::Rejected(rejection)) => Ok(Self::Rejected { rejection, is_new }),
            Ok(Miss::Store(error)) => Err(error.into()),
            Err(shared) => match &*shared {
                Miss::Rejected(rejection) => Ok(Self::Rejected { rejection: *rejection, is_new }),
                Miss::Store(error @ StoreError::Unavailable(_)) => {
                    Err(Failure::unavailable(error.to_string()))
                }
                Miss::Store(error @ StoreError::Busy(_)) => Err(Failure::busy(error.to_string())),
                Miss::Store(error) => Err(Failure::internal(error.to_string())),
            },
        }
    }

    pub fn map<U>(self, to: impl FnOnce(T) -> U) -> Found<U> {
        match self {
            Self::Valid(valid) => Found::Valid(to(valid)),
            Self::Rejected { rejection, is_new } => Found::Rejected { rejection, is_new },
        }
    }
}

impl LookUps {
    fn new(store: Store) -> Self {
        let principals = Cache::builder().max_capacity(MAX_CACHED).time_to_live(CACHE_TTL).build();
        let browsers = Cache::builder().max_capacity(MAX_CACHED).time_to_live(CACHE_TTL).build();
        let runners = Cache::builder().max_capacity(MAX_CACHED).time_to_live(CACHE_TTL).build();
        Self { store, principals, browsers, runners }
    }
}

#[boxed_futures]
impl Authentication {
    pub fn new(general: Store, reserved: Store) -> Self {
        let known = Cache::builder().max_capacity(MAX_KNOWN).time_to_live(KNOWN_TTL).build();
        let rejected = Cache::builder().max_capacity(MAX_REJECTED).time_to_live(REJECTED_TTL).build();
        let (general, reserved) = (LookUps::new(general), LookUps::new(reserved));
        Self { general, reserved, known, rejected, used: Arc::default() }
    }

    /// Returns whether this server has found the token valid within the last hour.
    pub fn was_valid(&self, hash: &TokenHash) -> bool {
        self.known.contains_key(hash)
    }

    /// Marks a token as known: one that was just created or found valid.
    pub async fn remember(&self, hash: TokenHash) {
        self.known.insert(hash, ()).await;
    }

    /// Returns why the token was found invalid within the last minute, if it was.
    pub async fn rejection(&self, hash: &TokenHash) -> Option<Rejection> {
        self.rejected.get(hash).await
    }

    /// Records that the database has no such valid token. Returns whether the token was neither known nor
    /// rejected before.
    async fn reject(&self, hash: TokenHash, rejection: Rejection) -> bool {
        let is_first = self.rejected.entry(hash).or_insert(rejection).await.is_fresh();
        // Removed from `known` only after the insertion into `rejected`, so that a concurrent request with
        // this token finds it in at least one of them.
        let was_valid = self.known.remove(&hash).await.is_some();
        is_first && !was_valid
    }

    /// Authenticates a runner. A runner sends several requests for each job, so the result is cached as for
    /// users; the transaction that assigns a job checks the runner again. Every request updates
    /// `last_seen_at`, because a runner without room for another job does not poll for one and is alive
    /// nevertheless.
    pub async fn runner(&self, hash: TokenHash, class: Class) -> Result<Found<RunnerPrincipal>, Failure> {
        let LookUps { store, runners, .. } = self.look_ups(class);
        let mut is_new = false;
        let look_up = async {
            if let Some(rejection) = self.rejection(&hash).await {
                return Err(Miss::Rejected(rejection));
            }
            let rejection = match store.authenticate_runner(&hash).await.map_err(Miss::Store)? {
                Some(AuthenticatedRunner { principal: runner, is_revoked: false }) => {
                    let seen = store.record_runner_seen(runner.organization_id, runner.id).await;
                    seen.map_err(Miss::Store)?;
                    self.remember(hash).await;
                    return Ok(runner);
                }
                Some(_) => Rejection::RevokedRunner,
                None => Rejection::Invalid,
            };
            is_new = self.reject(hash, rejection).await;
            Err(Miss::Rejected(rejection))
        };
        let found = runners.try_get_with(hash, look_up).await;
        Found::new(found, is_new)
    }

    pub async fn principal(&self, hash: TokenHash, class: Class) -> Result<Found<Arc<Principal>>, Failure> {
        let LookUps { store, principals, .. } = self.look_ups(class);
        let mut is_new = false;
        let look_up = async {
            if let Some(rejection) = self.rejection(&hash).await {
                return Err(Miss::Rejected(rejection));
            }
            if let Some(principal) = store.authenticate(&hash).await.map_err(Miss::Store)? {
                self.record_use(principal.credential);
                self.remember(hash).await;
                return Ok(Arc::new(principal));
            }
            is_new = self.reject(hash, Rejection::Invalid).await;
            Err(Miss::Rejected(Rejection::Invalid))
        };
        let found = principals.try_get_with(hash, look_up).await;
        Found::new(found, is_new)
    }

    /// Authenticates the cookie of a browser session.
    pub async fn browser(
        &self,
        hash: TokenHash,
        class: Class,
    ) -> Result<Found<Arc<BrowserPrincipal>>, Failure> {
        let LookUps { store, browsers, .. } = self.look_ups(class);
        let mut is_new = false;
        let look_up = async {
            if let Some(rejection) = self.rejection(&hash).await {
                return Err(Miss::Rejected(rejection));
            }
            if let Some(browser) = store.authenticate_browser(&hash).await.map_err(Miss::Store)? {
                self.record_use(Credential::Browser(browser.session_id));
                self.remember(hash).await;
                return Ok(Arc::new(browser));
            }
            is_new = self.reject(hash, Rejection::Invalid).await;
            Err(Miss::Rejected(Rejection::Invalid))
        };
        let found = browsers.try_get_with(hash, look_up).await;
        Found::new(found, is_new)
    }

    fn record_use(&self, credential: Credential) {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).insert(credential);
    }

    fn look_ups(&self, class: Class) -> &LookUps {
        match class {
            Class::General => &self.general,
            Class::Reserved => &self.reserved,
        }
    }

    /// Records every few seconds which tokens and browser sessions were used.
    pub async fn record_uses(&self, stop: CancellationToken) {
        loop {
            let stopping = tokio::select! {
                () = stop.cancelled() => true,
                () = tokio::time::sleep(RECORD_INTERVAL) => false,
            };
            if let Err(error) = self.write_uses().await {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "could not record the last use of tokens and browser sessions"
                );
            }
            if stopping {
                return;
            }
        }
    }

    async fn write_uses(&self) -> Result<(), StoreError> {
        let used: Vec<Credential> =
            self.used.lock().unwrap_or_else(PoisonError::into_inner).drain().collect();
        let tokens: Vec<TokenId> = used.iter().filter_map(|used| used.token()).collect();
        let browsers: Vec<BrowserSessionId> = used.iter().filter_map(|used| used.browser_session()).collect();
        let store = &self.general.store;
        if !tokens.is_empty() {
            with_db_timeout(store.record_token_use(&tokens)).await?;
        }
        if !browsers.is_empty() {
            with_db_timeout(store.record_browser_use(&browsers)).await?;
        }
        Ok(())
    }
}
