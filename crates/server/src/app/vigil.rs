//! Keeps watch over open streams: one query a second for all their tokens. A stream whose token ended, or whose user's
//! role changed, is closed; its client comes back and is judged anew.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use greenroom_domain::id::TokenId;
use greenroom_domain::principal::Principal;
use greenroom_domain::role::Role;
use greenroom_store::{Store, within_patience};
use tokio_util::sync::CancellationToken;

const EVERY: Duration = Duration::from_millis(700);

#[derive(Clone, Default)]
pub struct Vigil {
    watched: Arc<Mutex<HashMap<(TokenId, Role), Watched>>>,
}

struct Watched {
    streams: usize,
    ended: CancellationToken,
}

/// Held by an open stream for as long as it is open, so that no check misses it, however busy it is.
pub struct Watch {
    vigil: Vigil,
    key: (TokenId, Role),
    ended: CancellationToken,
}

impl Vigil {
    pub fn watch(&self, principal: &Principal) -> Watch {
        let key = (principal.token_id, principal.role);
        let mut watched = self.watched();
        let entry =
            watched.entry(key).or_insert_with(|| Watched { streams: 0, ended: CancellationToken::new() });
        entry.streams += 1;
        Watch { vigil: self.clone(), key, ended: entry.ended.clone() }
    }

    fn watched(&self) -> MutexGuard<'_, HashMap<(TokenId, Role), Watched>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub async fn run(&self, store: Store, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(EVERY) => {}
            }
            let tokens: Vec<TokenId> = self.watched().keys().map(|(token, _)| *token).collect();
            metrics::gauge!("greenroom_watched_tokens").set(tokens.len() as f64);
            if tokens.is_empty() {
                continue;
            }
            match within_patience(store.token_roles(&tokens)).await {
                Ok(roles) => {
                    let asked: HashSet<TokenId> = tokens.into_iter().collect();
                    let mut watched = self.watched();
                    watched.retain(|(token, role), entry| {
                        // One that was opened while the database was asked is in the next question.
                        let good = roles.get(token) == Some(role) || !asked.contains(token);
                        if !good {
                            entry.ended.cancel();
                        }
                        good
                    });
                }
                // Streams stay open while the database is away: nothing new can come through them either.
                Err(error) => {
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "the rights of open streams were not checked"
                    );
                }
            }
        }
    }
}

impl Watch {
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
