//! Checks that open streams and downloads are still allowed: one query every 700 ms for all their tokens, one
//! for all their browser sessions, and one for all their runners. A stream or download whose token or browser
//! session ended, whose user's role changed, or whose runner was revoked is closed. Its client reconnects, and
//! the new request is authenticated and authorized again.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{BrowserSessionId, OrganizationId, RunnerId, TokenId};
use greenroom_domain::principal::{Credential, Principal};
use greenroom_domain::role::Role;
use greenroom_store::job::RunnerPrincipal;
use greenroom_store::{Store, StoreError};
use tokio_util::sync::CancellationToken;

const POLL_INTERVAL: Duration = Duration::from_millis(700);

/// Shorter than that of other background work: a check that began in an outage can wait for a connection that
/// stays silent, and until it ends, a revoked token keeps its streams.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Clone, Default)]
pub struct StreamRights {
    watched: Arc<Mutex<HashMap<Key, Watched>>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Member(TokenId, Role),
    Browser(BrowserSessionId, OrganizationId, Role),
    Runner(OrganizationId, RunnerId),
}

struct Watched {
    streams: usize,
    ended: CancellationToken,
}

/// Registers an open stream or download until it is dropped, so that every check covers it, even while it is
/// busy.
pub struct RightsWatch {
    rights: StreamRights,
    key: Key,
    ended: CancellationToken,
}

#[boxed_futures]
impl StreamRights {
    pub fn watch(&self, principal: &Principal) -> RightsWatch {
        self.watch_key(match principal.credential {
            Credential::Token(token) => Key::Member(token, principal.role),
            Credential::Browser(session) => Key::Browser(session, principal.organization_id, principal.role),
        })
    }

    pub fn watch_runner(&self, runner: &RunnerPrincipal) -> RightsWatch {
        self.watch_key(Key::Runner(runner.organization_id, runner.id))
    }

    fn watch_key(&self, key: Key) -> RightsWatch {
        let mut watched = self.watched();
        let entry =
            watched.entry(key).or_insert_with(|| Watched { streams: 0, ended: CancellationToken::new() });
        entry.streams += 1;
        RightsWatch { rights: self.clone(), key, ended: entry.ended.clone() }
    }

    fn watched(&self) -> MutexGuard<'_, HashMap<Key, Watched>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub async fn run(&self, store: Store, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(POLL_INTERVAL) => {}
            }
            // Streams stay open while the database is unavailable: no new data can reach them either.
            match tokio::time::timeout(CHECK_TIMEOUT, self.check(&store)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "could not check the rights of open streams"
                ),
                Err(_) => tracing::warn!(
                    timeout = ?CHECK_TIMEOUT,
                    "could not check the rights of open streams in time"
                ),
            }
        }
    }

    async fn check(&self, store: &Store) -> Result<(), StoreError> {
        let (mut tokens, mut browsers, mut runners) = (HashSet::new(), HashSet::new(), HashSet::new());
        for key in self.watched().keys() {
            let _is_new = match key {
                Key::Member(token, _) => tokens.insert(*token),
                Key::Browser(session, organization, _) => browsers.insert((*session, *organization)),
                Key::Runner(organization, runner) => runners.insert((*organization, *runner)),
            };
        }
        metrics::gauge!("greenroom_watched_tokens")
            .set((tokens.len() + browsers.len() + runners.len()) as f64);
        let (mut roles, mut browser_roles, mut active) = (HashMap::new(), HashMap::new(), HashSet::new());
        if !tokens.is_empty() {
            let ids: Vec<TokenId> = tokens.iter().copied().collect();
            roles = store.token_roles(&ids).await?;
        }
        if !browsers.is_empty() {
            let ids: Vec<(BrowserSessionId, OrganizationId)> = browsers.iter().copied().collect();
            browser_roles = store.browser_roles(&ids).await?;
        }
        if !runners.is_empty() {
            let ids: Vec<(OrganizationId, RunnerId)> = runners.iter().copied().collect();
            active = store.active_runners(&ids).await?;
        }
        self.watched().retain(|key, entry| {
            // A stream that was opened during the queries is checked in the next round.
            let is_valid = match key {
                Key::Member(token, role) => roles.get(token) == Some(role) || !tokens.contains(token),
                Key::Browser(session, organization, role) => {
                    let key = (*session, *organization);
                    browser_roles.get(&key) == Some(role) || !browsers.contains(&key)
                }
                Key::Runner(organization, runner) => {
                    active.contains(runner) || !runners.contains(&(*organization, *runner))
                }
            };
            if !is_valid {
                entry.ended.cancel();
            }
            is_valid
        });
        Ok(())
    }
}

#[boxed_futures]
impl RightsWatch {
    pub fn has_ended(&self) -> bool {
        self.ended.is_cancelled()
    }

    /// Waits until the stream has to end.
    pub async fn ended(&self) {
        self.ended.cancelled().await;
    }
}

impl Drop for RightsWatch {
    fn drop(&mut self) {
        let mut watched = self.rights.watched();
        // An ended entry has been removed already. An entry under the same key is newer and belongs to other
        // streams.
        if let Some(entry) = watched.get_mut(&self.key).filter(|_| !self.ended.is_cancelled()) {
            entry.streams -= 1;
            if entry.streams == 0 {
                watched.remove(&self.key);
            }
        }
    }
}
