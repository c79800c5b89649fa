//! Connections that stay at hand between statements. The pool asks each connection that is given back whether it still
//! lives, which costs a round trip; for a command that is one statement, that doubles what the database has to do. So a
//! few connections that have just proved that they live are kept beside the pool, for such statements only.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sqlx::pool::PoolConnection;
use sqlx::{PgPool, Postgres};

use crate::StoreError;

/// Unused for this long it goes back to the pool, which knows what to do with idle ones.
const IDLE: Duration = Duration::from_secs(10);
/// After this long it goes back in any case, so that the pool's limit on their life time holds.
const LONGEST: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(crate) struct Lane {
    at_hand: Mutex<Vec<Lent>>,
}

/// A connection on its way. Dropped instead of given back, it returns to the pool and is asked whether it lives.
#[derive(Debug)]
pub(crate) struct Lent {
    pub(crate) connection: PoolConnection<Postgres>,
    since: Instant,
    used: Instant,
}

impl Lane {
    pub(crate) async fn lend(&self, pool: &PgPool) -> Result<Lent, StoreError> {
        if let Some(lent) = self.fresh() {
            return Ok(lent);
        }
        let now = Instant::now();
        Ok(Lent { connection: pool.acquire().await?, since: now, used: now })
    }

    /// The one used last, so that those not needed come to lie idle.
    fn fresh(&self) -> Option<Lent> {
        let mut at_hand = self.at_hand();
        let lent = at_hand.pop()?;
        if lent.used.elapsed() > IDLE {
            // Then so are all below it.
            at_hand.clear();
            return None;
        }
        (lent.since.elapsed() < LONGEST).then_some(lent)
    }

    /// Only after it has answered: what broke off may have left something behind.
    pub(crate) fn give_back(&self, lent: Lent, most: usize) {
        let mut at_hand = self.at_hand();
        if at_hand.len() < most {
            at_hand.push(Lent { used: Instant::now(), ..lent });
        }
    }

    pub(crate) fn clear(&self) {
        self.at_hand().clear();
    }

    fn at_hand(&self) -> MutexGuard<'_, Vec<Lent>> {
        self.at_hand.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
