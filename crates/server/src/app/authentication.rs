//! From a token to who is asking. Reads may go by an answer that is half a second old; commands ask again in their own
//! transaction (`Store::command`).

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use greenroom_domain::id::TokenId;
use greenroom_domain::principal::Principal;
use greenroom_domain::token::{TokenHash, TokenSecret};
use greenroom_store::job::RunnerPrincipal;
use greenroom_store::{Store, StoreError, within_patience};
use moka::future::Cache;
use tokio_util::sync::CancellationToken;

use crate::app::failure::Failure;

/// Revocations and changes of role must hold within a second; this leaves the other half for the query.
const FRESH: Duration = Duration::from_millis(500);
const REMEMBERED: u64 = 10_000;
const RECORD_EVERY: Duration = Duration::from_secs(5);

pub struct Authentication {
    store: Store,
    principals: Cache<TokenHash, Arc<Principal>>,
    runners: Cache<TokenHash, RunnerPrincipal>,
    used: Arc<Mutex<HashSet<TokenId>>>,
}

/// Told apart from the database's failures, because many requests may wait for one look-up and share its outcome.
enum Miss {
    Unknown,
    Store(StoreError),
}

/// Why a token is no runner's.
pub enum NoRunner {
    Unknown,
    Revoked,
    Store(StoreError),
}

impl Authentication {
    pub fn new(store: Store) -> Self {
        let principals = Cache::builder().max_capacity(REMEMBERED).time_to_live(FRESH).build();
        let runners = Cache::builder().max_capacity(REMEMBERED).time_to_live(FRESH).build();
        Self { store, principals, runners, used: Arc::default() }
    }

    /// A runner speaks several times for each job, so it is remembered as shortly as people are. Whether it may have a job
    /// is asked again in the transaction that gives it one. Whatever it says, it was seen: one that has no room for another
    /// job does not ask for one, and is there nevertheless.
    pub async fn runner(&self, token: &TokenSecret) -> Result<RunnerPrincipal, NoRunner> {
        let hash = token.hash();
        if let Some(known) = self.runners.get(&hash).await {
            return Ok(known);
        }
        match self.store.authenticate_runner(&hash).await.map_err(NoRunner::Store)? {
            None => Err(NoRunner::Unknown),
            Some((_, true)) => Err(NoRunner::Revoked),
            Some((runner, false)) => {
                let seen = self.store.runner_seen(runner.organization_id, runner.id, None).await;
                seen.map_err(NoRunner::Store)?;
                self.runners.insert(hash, runner.clone()).await;
                Ok(runner)
            }
        }
    }

    pub async fn principal(&self, token: &str) -> Result<Arc<Principal>, Failure> {
        // The checksum turns typing errors and noise away before the database hears of them.
        let secret: TokenSecret = token.parse().map_err(|_| Failure::unauthenticated())?;
        let hash = secret.hash();
        let found = self.principals.try_get_with(hash, async {
            match self.store.authenticate(&hash).await {
                Ok(Some(principal)) => {
                    self.used.lock().unwrap_or_else(PoisonError::into_inner).insert(principal.token_id);
                    Ok(Arc::new(principal))
                }
                Ok(None) => Err(Miss::Unknown),
                Err(error) => Err(Miss::Store(error)),
            }
        });
        found.await.map_err(|miss| match Arc::try_unwrap(miss) {
            Ok(Miss::Unknown) => Failure::unauthenticated(),
            Ok(Miss::Store(error)) => error.into(),
            Err(shared) => match &*shared {
                Miss::Unknown => Failure::unauthenticated(),
                Miss::Store(error @ StoreError::Unavailable(_)) => Failure::unavailable(error.to_string()),
                Miss::Store(error @ StoreError::Busy(_)) => Failure::busy(error.to_string()),
                Miss::Store(error) => Failure::internal(error.to_string()),
            },
        })
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
                && let Err(error) = within_patience(self.store.record_token_use(&used)).await
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
