//! Keeps watch over open streams and downloads: one query every 700 ms for all their tokens, and one for all their runners. A
//! stream or download whose token ended, whose user's role changed, or whose runner was revoked is closed; its client comes
//! back and is judged anew.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use greenroom_domain::id::{OrganizationId, RunnerId, TokenId};
use greenroom_domain::principal::Principal;
use greenroom_domain::role::Role;
use greenroom_store::job::RunnerPrincipal;
use greenroom_store::{Store, StoreError, within_patience};
use tokio_util::sync::CancellationToken;

const EVERY: Duration = Duration::from_millis(700);

#[derive(Clone, Default)]
pub struct Vigil {
    watched: Arc<Mutex<HashMap<Key, Watched>>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Member(TokenId, Role),
    Runner(OrganizationId, RunnerId),
}

struct Watched {
    streams: usize,
    ended: CancellationToken,
}

/// Held by an open stream or download for as long as it is open, so that no check misses it, however busy it is.
pub struct Watch {
    vigil: Vigil,
    key: Key,
    ended: CancellationToken,
}

impl Vigil {
    pub fn watch(&self, principal: &Principal) -> Watch {
        self.watch_key(Key::Member(principal.token_id, principal.role))
    }

    pub fn watch_runner(&self, runner: &RunnerPrincipal) -> Watch {
        self.watch_key(Key::Runner(runner.organization_id, runner.id))
    }

    fn watch_key(&self, key: Key) -> Watch {
        let mut watched = self.watched();
        let entry =
            watched.entry(key).or_insert_with(|| Watched { streams: 0, ended: CancellationToken::new() });
        entry.streams += 1;
        Watch { vigil: self.clone(), key, ended: entry.ended.clone() }
    }

    fn watched(&self) -> MutexGuard<'_, HashMap<Key, Watched>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub async fn run(&self, store: Store, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(EVERY) => {}
            }
            // Streams stay open while the database is away: nothing new can come through them either.
            if let Err(error) = self.check(&store).await {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "the rights of open streams were not checked"
                );
            }
        }
    }

    async fn check(&self, store: &Store) -> Result<(), StoreError> {
        let (mut tokens, mut runners) = (HashSet::new(), HashSet::new());
        for key in self.watched().keys() {
            let _is_new = match key {
                Key::Member(token, _) => tokens.insert(*token),
                Key::Runner(organization, runner) => runners.insert((*organization, *runner)),
            };
        }
        metrics::gauge!("greenroom_watched_tokens").set((tokens.len() + runners.len()) as f64);
        let (mut roles, mut active) = (HashMap::new(), HashSet::new());
        if !tokens.is_empty() {
            let asked: Vec<TokenId> = tokens.iter().copied().collect();
            roles = within_patience(store.token_roles(&asked)).await?;
        }
        if !runners.is_empty() {
            let asked: Vec<(OrganizationId, RunnerId)> = runners.iter().copied().collect();
            active = within_patience(store.active_runners(&asked)).await?;
        }
        self.watched().retain(|key, entry| {
            // One that was opened while the database was asked is in the next question.
            let good = match key {
                Key::Member(token, role) => roles.get(token) == Some(role) || !tokens.contains(token),
                Key::Runner(organization, runner) => {
                    active.contains(runner) || !runners.contains(&(*organization, *runner))
                }
            };
            if !good {
                entry.ended.cancel();
            }
            good
        });
        Ok(())
    }
}

impl Watch {
    pub fn has_ended(&self) -> bool {
        self.ended.is_cancelled()
    }

    /// Resolves when the stream has to end.
    pub async fn ended(&self) {
        self.ended.cancelled().await;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut watched = self.vigil.watched();
        // An entry that has ended is gone already; one of the same key would be somebody else's.
        if let Some(entry) = watched.get_mut(&self.key).filter(|_| !self.ended.is_cancelled()) {
            entry.streams -= 1;
            if entry.streams == 0 {
                watched.remove(&self.key);
            }
        }
    }
}
