//! Definitions that were read before. A version of a pipeline never changes once it is written, so what is remembered here
//! is never wrong; a deployment's every stage asks for its own several times. Only committed ones get here: who writes a
//! version does not ask for it in the same transaction.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use greenroom_domain::definition::Definition;
use uuid::Uuid;

/// Then all are forgotten: the few that are in use come back at once.
const REMEMBERED: usize = 200;

/// Organization, pipeline, version.
pub(crate) type Key = (Uuid, Uuid, i32);

#[derive(Debug, Default)]
pub(crate) struct Definitions(Mutex<HashMap<Key, Arc<Definition>>>);

impl Definitions {
    pub(crate) fn get(&self, key: &Key) -> Option<Arc<Definition>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    pub(crate) fn keep(&self, key: Key, definition: &Arc<Definition>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= REMEMBERED {
            kept.clear();
        }
        kept.insert(key, Arc::clone(definition));
    }
}
