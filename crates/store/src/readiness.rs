//! Whether a daemon can work with its database: set by the task that watches the database, read by everything else.

use std::sync::Arc;

use tokio::sync::watch;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Readiness {
    /// The database was not asked yet.
    #[default]
    Starting,
    Ready,
    /// The database does not answer.
    Unreachable,
    /// The database answers, and its schema does not fit this build; the reason, in one line.
    SchemaMismatch(Arc<str>),
}

/// Cheap to clone; all clones are one.
#[derive(Clone, Debug, Default)]
pub struct Reachability(watch::Sender<Readiness>);

impl Reachability {
    pub fn readiness(&self) -> Readiness {
        self.0.borrow().clone()
    }

    pub fn is_ready(&self) -> bool {
        *self.0.borrow() == Readiness::Ready
    }

    /// Sets it, and returns what it was before.
    pub fn set(&self, readiness: Readiness) -> Readiness {
        self.0.send_replace(readiness)
    }

    /// Waits until it is ready.
    pub async fn ready(&self) {
        let mut readiness = self.0.subscribe();
        // The sender is held here, so this can't fail.
        let _ready = readiness.wait_for(|readiness| *readiness == Readiness::Ready).await;
    }
}
