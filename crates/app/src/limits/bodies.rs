//! Memory for request bodies that are being received. Memory for a whole body is reserved before its first
//! byte is read, so that every body that has begun to arrive can be completed. A body that waits for memory
//! is not read yet and uses none.

use std::sync::Arc;
use std::time::Duration;

use greenroom_boxed_futures::boxed_futures;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::failure::{Code, Failure};
use crate::limits::organization_shares::{OrganizationShares, PartOfShares};
use crate::limits::shares::permits;
use crate::limits::{Bearer, LimitSettings};

/// A body up to this size needs no reservation: the number of requests that wait for their body bounds these.
const MAX_UNCHARGED_BYTES: usize = 16 * 1024;
/// Memory is reserved in such units.
const UNIT_BYTES: usize = 1024;
const UNITS_PER_MIB: usize = 1024;
/// How long a body waits for memory.
const CHARGE_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub struct BodyMemory {
    shares: OrganizationShares,
    server: Arc<Semaphore>,
}

/// The memory that is reserved for one body until this is dropped.
#[derive(Debug)]
pub struct Charge {
    _shares: PartOfShares,
    _memory: Option<OwnedSemaphorePermit>,
}

#[boxed_futures]
impl BodyMemory {
    pub fn new(settings: &LimitSettings) -> Self {
        let organization = settings.organization_body_memory_mib * UNITS_PER_MIB;
        Self {
            shares: OrganizationShares::new(organization),
            server: Arc::new(Semaphore::new(settings.body_memory_mib.max(4) * UNITS_PER_MIB)),
        }
    }

    /// Reserves memory for a body; `None` if it is small enough to need none. The shares of the person or token and
    /// of the organization are acquired before the server's, so that no request occupies the server's queue while it
    /// waits for its own party's share.
    pub async fn charge(&self, bearer: Bearer, bytes: usize) -> Result<Option<Charge>, Failure> {
        if bytes <= MAX_UNCHARGED_BYTES {
            return Ok(None);
        }
        let units = bytes.div_ceil(UNIT_BYTES);
        let charge = async {
            let shares = self.shares.acquire(bearer, Some(bearer.person_or_token()), units).await;
            let memory = Arc::clone(&self.server).acquire_many_owned(permits(units)).await.ok();
            Charge { _shares: shares, _memory: memory }
        };
        let charge = tokio::time::timeout(CHARGE_TIMEOUT, charge).await;
        charge.map(Some).map_err(|_| {
            let detail =
                "Too many large requests are on their way to this server. Wait a second and try again.";
            Failure::new(Code::Overloaded, detail)
        })
    }
}
