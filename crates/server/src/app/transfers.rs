//! How many uploads may be at work at once, because each holds memory: first per runner, then per organization, then per server.
//! The others wait, so an organization that fills its own share leaves that of the others free. How many may be under way
//! at all, and how many downloads, is decided by the limits per token and organization (`limits`).

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use greenroom_domain::id::OrganizationId;
use greenroom_store::job::RunnerPrincipal;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use uuid::Uuid;

use crate::app::failure::{Code, Failure};

/// Uploads of archives hold some parts of a few MiB in memory each.
const ARCHIVES: Shares = Shares { per_token: 4, per_organization: 8 };
const ARCHIVES_PER_SERVER: usize = 24;
/// Pieces of logs have 1 MiB at most.
const LOG_PIECES: Shares = Shares { per_token: 16, per_organization: 32 };
const LOG_PIECES_PER_SERVER: usize = 96;
/// How long an archive waits for its turn before its runner is asked to try again later.
const ARCHIVE_WAIT: Duration = Duration::from_secs(10);

#[derive(Clone, Copy)]
struct Shares {
    per_token: usize,
    per_organization: usize,
}

/// Held while a transfer is under way.
#[derive(Debug)]
pub struct Transfer {
    _permits: Vec<OwnedSemaphorePermit>,
}

pub struct Transfers {
    archives: Limit,
    all_archives: Arc<Semaphore>,
    log_pieces: Limit,
    all_log_pieces: Arc<Semaphore>,
}

impl Default for Transfers {
    fn default() -> Self {
        Self {
            archives: Limit::new(ARCHIVES),
            all_archives: Arc::new(Semaphore::new(ARCHIVES_PER_SERVER)),
            log_pieces: Limit::new(LOG_PIECES),
            all_log_pieces: Arc::new(Semaphore::new(LOG_PIECES_PER_SERVER)),
        }
    }
}

impl Transfers {
    /// Waits for a turn to upload an archive, for a while.
    pub async fn archive(&self, runner: &RunnerPrincipal) -> Result<Transfer, Failure> {
        let turn = self.archives.begin(runner.id.uuid(), runner.organization_id, &self.all_archives);
        tokio::time::timeout(ARCHIVE_WAIT, turn).await.map_err(|_| too_many("uploads"))?
    }

    /// Waits for a turn to upload a piece of a log. What waits here holds no memory.
    pub async fn log_piece(&self, runner: &RunnerPrincipal) -> Result<Transfer, Failure> {
        self.log_pieces.begin(runner.id.uuid(), runner.organization_id, &self.all_log_pieces).await
    }
}

struct Limit {
    tokens: Keyed<Uuid>,
    organizations: Keyed<OrganizationId>,
}

impl Limit {
    fn new(shares: Shares) -> Self {
        Self { tokens: Keyed::new(shares.per_token), organizations: Keyed::new(shares.per_organization) }
    }

    /// The own share first: who waits for that takes nothing from the others.
    async fn begin(
        &self,
        token: Uuid,
        organization: OrganizationId,
        server: &Arc<Semaphore>,
    ) -> Result<Transfer, Failure> {
        let mut permits = Vec::with_capacity(3);
        for share in [self.tokens.of(token), self.organizations.of(organization), Arc::clone(server)] {
            permits.push(share.acquire_owned().await.map_err(Failure::internal)?);
        }
        Ok(Transfer { _permits: permits })
    }
}

/// A semaphore per key, for as long as somebody uses it.
struct Keyed<K> {
    permits: usize,
    semaphores: Mutex<HashMap<K, Weak<Semaphore>>>,
}

impl<K: Eq + Hash> Keyed<K> {
    fn new(permits: usize) -> Self {
        Self { permits, semaphores: Mutex::new(HashMap::new()) }
    }

    fn of(&self, key: K) -> Arc<Semaphore> {
        let mut semaphores = self.semaphores.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = semaphores.get(&key).and_then(Weak::upgrade) {
            return known;
        }
        semaphores.retain(|_, semaphore| semaphore.strong_count() > 0);
        let semaphore = Arc::new(Semaphore::new(self.permits));
        semaphores.insert(key, Arc::downgrade(&semaphore));
        semaphore
    }
}

fn too_many(what: &str) -> Failure {
    let detail =
        format!("This token, or its organization, has too many {what} under way. End some, or wait.");
    Failure::new(Code::RateLimited, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn organization(number: u128) -> OrganizationId {
        OrganizationId::from(Uuid::from_u128(number))
    }

    fn token(number: u128) -> Uuid {
        Uuid::from_u128(number)
    }

    #[tokio::test]
    async fn an_organization_that_fills_its_share_leaves_the_rest_to_others() {
        let limit = Limit::new(Shares { per_token: 2, per_organization: 2 });
        let server = Arc::new(Semaphore::new(3));
        let first = limit.begin(token(1), organization(1), &server).await.unwrap();
        let second = limit.begin(token(1), organization(1), &server).await.unwrap();
        let soon = Duration::from_millis(50);
        let third = limit.begin(token(2), organization(1), &server);
        assert!(tokio::time::timeout(soon, third).await.is_err(), "the organization's share is full");
        let other = tokio::time::timeout(soon, limit.begin(token(3), organization(2), &server)).await;
        assert!(other.is_ok(), "another organization waits for nothing");
        drop((first, second));
        let again = tokio::time::timeout(soon, limit.begin(token(2), organization(1), &server)).await;
        assert!(again.is_ok());
    }
}
