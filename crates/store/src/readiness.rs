//! Whether a daemon can use its database. The task that monitors the database sets it; everything else reads
//! it.

use std::sync::Arc;

use greenroom_boxed_futures::boxed_futures;
use tokio::sync::watch;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Readiness {
    /// The database was not checked yet.
    #[default]
    Starting,
    Ready,
    /// The database does not respond.
    Unreachable,
    /// The database responds, but its schema does not match this build. Holds the reason, in one line.
    SchemaMismatch(Arc<str>),
}

/// Cheap to clone. All clones share one state.
#[derive(Clone, Debug, Default)]
pub struct Reachability(watch::Sender<Readiness>);

#[boxed_futures]
impl Reachability {
    pub fn readiness(&self) -> Readiness {
        self.0.borrow().clone()
    }

    pub fn is_ready(&self) -> bool {
        *self.0.borrow() == Readiness::Ready
    }

    /// Sets the readiness and returns the previous one.
    pub fn set(&self, readiness: Readiness) -> Readiness {
        self.0.send_replace(readiness)
    }

    /// Waits until the database is ready.
    pub async fn ready(&self) {
        let mut readiness = self.0.subscribe();
        // `self` owns the sender, so this can't fail.
        let _ready = readiness.wait_for(|readiness| *readiness == Readiness::Ready).await;
    }
}
