//! From a token to who is asking. Reads may go by an answer that is half a second old; commands ask again in their own
//! transaction (`Store::command`).

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use greenroom_domain::id::TokenId;
use greenroom_domain::principal::Principal;
use greenroom_domain::token::TokenHash;
use greenroom_store::job::RunnerPrincipal;
use greenroom_store::{Store, StoreError, within_patience};
use moka::future::Cache;
use tokio_util::sync::CancellationToken;

use crate::app::failure::Failure;
use crate::limits::Class;

/// Revocations and changes of role must hold within a second; this leaves the other half for the query.
const FRESH: Duration = Duration::from_millis(500);
const REMEMBERED: u64 = 10_000;
const RECORD_EVERY: Duration = Duration::from_secs(5);
/// How long a token counts as known after it was last found valid.
const KNOWN_FOR: Duration = Duration::from_secs(3_600);
const MAX_KNOWN: u64 = 100_000;

pub struct Authentication {
    general: LookUps,
    /// Requests with reserved capacity use neither the connections of the others nor a look-up that waits for one.
    reserved: LookUps,
    /// Tokens that were valid not long ago. Only valid ones come in, so forged ones can't push them out.
    known: Cache<TokenHash, ()>,
    used: Arc<Mutex<HashSet<TokenId>>>,
}

struct LookUps {
    store: Store,
    principals: Cache<TokenHash, Arc<Principal>>,
    runners: Cache<TokenHash, RunnerPrincipal>,
}

/// Told apart from the database's failures, because many requests may wait for one look-up and share its outcome.
enum Miss {
    Unknown,
    Store(StoreError),
}

/// A runner whose token was found.
pub enum RunnerFound {
    Active(RunnerPrincipal),
    Revoked,
}

impl LookUps {
    fn new(store: Store) -> Self {
        let principals = Cache::builder().max_capacity(REMEMBERED).time_to_live(FRESH).build();
        let runners = Cache::builder().max_capacity(REMEMBERED).time_to_live(FRESH).build();
        Self { store, principals, runners }
    }
}

impl Authentication {
    pub fn new(general: Store, reserved: Store) -> Self {
        let known = Cache::builder().max_capacity(MAX_KNOWN).time_to_live(KNOWN_FOR).build();
        let (general, reserved) = (LookUps::new(general), LookUps::new(reserved));
        Self { general, reserved, known, used: Arc::default() }
    }

    /// Whether this server has found the token valid within the last hour.
    pub fn was_valid(&self, hash: &TokenHash) -> bool {
        self.known.contains_key(hash)
    }

    /// For a token that was just made.
    pub async fn remember(&self, hash: TokenHash) {
        self.known.insert(hash, ()).await;
    }

    /// For a token that is not valid, whatever it was before.
    pub async fn forget(&self, hash: &TokenHash) {
        self.known.invalidate(hash).await;
    }

    /// A runner speaks several times for each job, so it is remembered as shortly as people are. Whether it may have a job
    /// is asked again in the transaction that gives it one. Whatever it says, it was seen: one that has no room for another
    /// job does not ask for one, and is there nevertheless.
    pub async fn runner(&self, hash: TokenHash, class: Class) -> Result<Option<RunnerFound>, Failure> {
        let LookUps { store, runners, .. } = self.look_ups(class);
        if let Some(known) = runners.get(&hash).await {
            return Ok(Some(RunnerFound::Active(known)));
        }
        match store.authenticate_runner(&hash).await? {
            None => Ok(None),
            Some((_, true)) => Ok(Some(RunnerFound::Revoked)),
            Some((runner, false)) => {
                store.runner_seen(runner.organization_id, runner.id, None).await?;
                runners.insert(hash, runner.clone()).await;
                self.remember(hash).await;
                Ok(Some(RunnerFound::Active(runner)))
            }
        }
    }

    pub async fn principal(&self, hash: TokenHash, class: Class) -> Result<Option<Arc<Principal>>, Failure> {
        let LookUps { store, principals, .. } = self.look_ups(class);
        let found = principals.try_get_with(hash, async {
            match store.authenticate(&hash).await {
                Ok(Some(principal)) => {
                    self.used.lock().unwrap_or_else(PoisonError::into_inner).insert(principal.token_id);
                    self.remember(hash).await;
                    Ok(Arc::new(principal))
                }
                Ok(None) => Err(Miss::Unknown),
                Err(error) => Err(Miss::Store(error)),
            }
        });
        match found.await {
            Ok(principal) => Ok(Some(principal)),
            Err(miss) => match Arc::try_unwrap(miss) {
                Ok(Miss::Unknown) => Ok(None),
                Ok(Miss::Store(error)) => Err(error.into()),
                Err(shared) => match &*shared {
                    Miss::Unknown => Ok(None),
                    Miss::Store(error @ StoreError::Unavailable(_)) => {
                        Err(Failure::unavailable(error.to_string()))
                    }
                    Miss::Store(error @ StoreError::Busy(_)) => Err(Failure::busy(error.to_string())),
                    Miss::Store(error) => Err(Failure::internal(error.to_string())),
                },
            },
        }
    }

    fn look_ups(&self, class: Class) -> &LookUps {
        match class {
            Class::General => &self.general,
            Class::Reserved => &self.reserved,
        }
    }

    /// Writes down, every few seconds, which tokens were used.
    pub async fn record_uses(&self, stop: CancellationToken) {
        loop {
            let stopping = tokio::select! {
                () = stop.cancelled() => true,
                () = tokio::time::sleep(RECORD_EVERY) => false,
            };
            let used: Vec<TokenId> =
                self.used.lock().unwrap_or_else(PoisonError::into_inner).drain().collect();
            if !used.is_empty()
                && let Err(error) = within_patience(self.general.store.record_token_use(&used)).await
            {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "the last use of tokens was not recorded"
                );
            }
            if stopping {
                return;
            }
        }
    }
}
