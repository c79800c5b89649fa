//! Memory for request bodies that are on their way. A body has its place before its first byte is read, so that what has
//! begun to arrive can be finished; those that must wait are not read yet and hold nothing.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::app::failure::{Code, Failure};
use crate::limits::shares::{Share, Shares};
use crate::limits::{Bearer, LimitSettings, Party};

/// A body up to this size needs no place: the number of requests under way bounds these.
const SMALL: usize = 16 * 1024;
/// Room is counted in such pieces.
const PIECE: usize = 1024;
const PIECES_PER_MIB: usize = 1024;
/// How long a body waits for room.
const WAIT: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub struct BodyMemory {
    token: Shares,
    organization: Shares,
    server: Arc<Semaphore>,
}

/// The room of one body, until its request is over.
#[derive(Debug)]
pub struct Charge {
    _shares: [Share; 2],
    _room: Option<OwnedSemaphorePermit>,
}

impl BodyMemory {
    pub fn new(settings: &LimitSettings) -> Self {
        let organization = settings.organization_body_memory_mib * PIECES_PER_MIB;
        Self {
            token: Shares::new(organization / 2),
            organization: Shares::new(organization),
            server: Arc::new(Semaphore::new(settings.body_memory_mib.max(4) * PIECES_PER_MIB)),
        }
    }

    /// Room for so many bytes; `None` if so few need none. First that of the token, then that of its organization, then that
    /// of the server, so that nobody waits in the server's line for a share that is their own to free.
    pub async fn charge(&self, bearer: Bearer, bytes: usize) -> Result<Option<Charge>, Failure> {
        if bytes <= SMALL {
            return Ok(None);
        }
        let pieces = bytes.div_ceil(PIECE);
        let room = async {
            let token = self.token.acquire(Party::Token(bearer.token), pieces).await;
            let organization =
                self.organization.acquire(Party::Organization(bearer.organization), pieces).await;
            let count = u32::try_from(pieces).unwrap_or(u32::MAX);
            let room = Arc::clone(&self.server).acquire_many_owned(count).await.ok();
            Charge { _shares: [token, organization], _room: room }
        };
        let room = tokio::time::timeout(WAIT, room).await;
        room.map(Some).map_err(|_| {
            let detail =
                "Too many large requests are on their way to this server. Wait a second and try again.";
            Failure::new(Code::Overloaded, detail)
        })
    }
}
