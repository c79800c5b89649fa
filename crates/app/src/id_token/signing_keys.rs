//! The opened signing keys of this server. They are read again every minute; the first key, and each successor
//! when one is due, is created on the way.

use std::sync::Arc;
use std::time::{Duration, Instant};

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::SigningKeyId;
use greenroom_domain::id_token::SealedSigningKey;
use greenroom_keys::{KeyError, KeyRing, SigningKey};
use greenroom_store::system::signing_key::PublishedKeys;
use greenroom_store::{Store, StoreError};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::failure::{Code, Failure};

const CACHE_TIME: Duration = Duration::from_secs(60);
/// How long a key is published before it signs: relying parties cache the list of keys.
const PUBLISH_BEFORE: Duration = Duration::from_secs(3_600);
/// How long it is published after its successor signs.
const PUBLISH_AFTER: Duration = Duration::from_secs(24 * 3_600);
/// How long a key signs before it gets a successor.
const USE_TIME: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Why the keys could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum NotLoaded {
    #[error("can't read the signing keys")]
    Store(#[from] StoreError),
    #[error("can't create a signing key")]
    Key(#[from] KeyError),
}

impl From<NotLoaded> for Failure {
    fn from(error: NotLoaded) -> Self {
        match error {
            NotLoaded::Store(error) => error.into(),
            NotLoaded::Key(error) => unavailable(error),
        }
    }
}

pub(super) fn unavailable(error: KeyError) -> Failure {
    let detail = "The server can't open its signing keys. Give the requestId to the operator of this server.";
    Failure::new(Code::SecretsUnavailable, detail).with_source(error)
}

/// The keys that are published, opened.
pub struct LoadedKeys(Vec<LoadedKey>);

struct LoadedKey {
    key: SigningKey,
    use_from: Timestamp,
}

impl LoadedKeys {
    /// Opens the keys. One that does not open is left out: it may have been sealed with a master key that this
    /// server does not have, or not by a holder of a master key at all.
    fn open(ring: &KeyRing, published: &PublishedKeys) -> Self {
        let keys = published.keys.iter().filter_map(|published| match ring.open_signing_key(&published.key) {
            Ok(key) => Some(LoadedKey { key, use_from: published.use_from }),
            Err(error) => {
                let id = published.key.id;
                tracing::error!(error = &error as &dyn std::error::Error, %id, "can't open a signing key");
                None
            }
        });
        Self(keys.collect())
    }

    /// Returns the key that signs at a moment: the one whose use began last. The first request for a token creates
    /// the first key, so its use may begin after the moment.
    pub fn signing_at(&self, at: Timestamp) -> Option<&SigningKey> {
        let in_use = self.0.iter().rev().find(|loaded| loaded.use_from <= at);
        in_use.or_else(|| self.0.first()).map(|loaded| &loaded.key)
    }

    /// Returns the JSON Web Key Set (RFC 7517).
    pub fn jwks(&self) -> Value {
        let keys: Vec<Value> = self.0.iter().map(|loaded| loaded.key.public().jwk(loaded.key.id())).collect();
        json!({ "keys": keys })
    }
}

/// The keys that were loaded last.
#[derive(Default)]
pub struct SigningKeyCache(Mutex<Option<(Instant, Arc<LoadedKeys>)>>);

#[boxed_futures]
impl SigningKeyCache {
    /// Returns the keys. Concurrent requests wait for one that loads them.
    pub async fn get(
        &self,
        store: &Store,
        ring: &Arc<KeyRing>,
        tasks: &TaskTracker,
    ) -> Result<Arc<LoadedKeys>, Failure> {
        let mut cached = self.0.lock().await;
        if let Some((loaded_at, keys)) = &*cached
            && loaded_at.elapsed() < CACHE_TIME
        {
            return Ok(Arc::clone(keys));
        }
        let keys = Arc::new(load(store, ring, tasks).await?);
        *cached = Some((Instant::now(), Arc::clone(&keys)));
        Ok(keys)
    }
}

/// Reads and opens the keys. Creates the first one, or a successor if one is due.
#[boxed_futures]
pub async fn load(store: &Store, ring: &Arc<KeyRing>, tasks: &TaskTracker) -> Result<LoadedKeys, NotLoaded> {
    let mut published = store.published_signing_keys().await?;
    let newest = published.newest().map(|newest| (newest.key.id, newest.use_from));
    match newest {
        None => {
            store.add_first_signing_key(&create(ring, tasks).await?).await?;
            published = store.published_signing_keys().await?;
        }
        Some((former, use_from)) if published.read_at.duration_since(use_from) > USE_TIME => {
            let next = create(ring, tasks).await?;
            store.add_next_signing_key(former, &next, PUBLISH_BEFORE, PUBLISH_AFTER).await?;
            published = store.published_signing_keys().await?;
        }
        Some(_) => {}
    }
    Ok(LoadedKeys::open(ring, &published))
}

/// Creates a key on a thread for long computations.
async fn create(ring: &Arc<KeyRing>, tasks: &TaskTracker) -> Result<SealedSigningKey, KeyError> {
    let ring = Arc::clone(ring);
    let id = SigningKeyId::from(Uuid::now_v7());
    let created = tasks.spawn_blocking(move || ring.create_signing_key(id)).await;
    created.unwrap_or(Err(KeyError::Failed))
}
