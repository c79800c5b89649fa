//! A cache of parsed pipeline definitions. A pipeline version is immutable, so an entry is never stale. Every
//! stage of a deployment reads its definition several times. Only committed definitions get here: no
//! transaction reads a version that it has written itself.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use greenroom_domain::definition::Definition;
use uuid::Uuid;

/// When the cache is full it is cleared. The few definitions in use are read again immediately.
const MAX_ENTRIES: usize = 200;

/// Organization, pipeline, version.
pub(crate) type Key = (Uuid, Uuid, i32);

#[derive(Debug, Default)]
pub(crate) struct Definitions(Mutex<HashMap<Key, Arc<Definition>>>);

impl Definitions {
    pub(crate) fn get(&self, key: &Key) -> Option<Arc<Definition>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    pub(crate) fn insert(&self, key: Key, definition: &Arc<Definition>) {
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if cached.len() >= MAX_ENTRIES {
            cached.clear();
        }
        cached.insert(key, Arc::clone(definition));
    }
}
