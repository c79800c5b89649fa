//! Waiting for a turn within a request. A session leaves the queue whenever its request ends without a grant.

use greenroom_domain::environment::{LockCommand, Refusal};
use greenroom_domain::id::{EnvironmentId, OrganizationId, SessionId, UserId};
use greenroom_store::idempotency::KeyScope;
use greenroom_store::waiting::Waiter;
use greenroom_store::{Command, with_db_timeout};
use tokio::runtime::Handle;

use crate::app::App;
use crate::app::failure::Failure;
use crate::app::session::{self, ClaimRequest, Place, SessionView};

/// The state of a session that a request waits for.
pub enum WaitState {
    Granted(Box<SessionView>),
    Queued(Box<SessionView>),
    /// The wait timed out, and the session left the queue. The failure is that of a plain claim.
    Left(Box<Failure>),
}

/// Polls the session. This counts as a heartbeat and confirms a grant. `leaves`: if it is still queued, it
/// leaves the queue.
pub async fn poll(
    command: &mut Command,
    (place, claim): (&Place, &ClaimRequest),
    id: SessionId,
    leaves: bool,
) -> Result<WaitState, Failure> {
    let mut locked = session::lock_place(command, place).await?;
    session::apply(command, &mut locked, LockCommand::Heartbeat(id)).await?;
    if locked.state.queue.position(id).is_none() {
        let is_active = locked.state.lock.held.as_ref().is_some_and(|held| held.session == id);
        return if is_active {
            Ok(WaitState::Granted(Box::new(session::read_view(command, &locked, id).await?)))
        } else {
            Err(session::not_active(command, &locked, id).await?)
        };
    }
    if !leaves {
        return Ok(WaitState::Queued(Box::new(session::read_view(command, &locked, id).await?)));
    }
    session::apply(command, &mut locked, LockCommand::Release(id)).await?;
    let user = command.principal().user_id;
    // The session was queued, so the lock is held: otherwise it would have been granted.
    let refusal = match &locked.state.lock.held {
        Some(held) if held.user == user => Refusal::HeldByYou { session: held.session },
        Some(held) => Refusal::Locked { session: held.session },
        None => Refusal::OthersWait,
    };
    Ok(WaitState::Left(Box::new(
        session::refused(command, &locked, refusal, (&place.pipeline, claim)).await?,
    )))
}

/// Removes a session from the queue when its request is dropped, for example because the client disconnected.
pub struct QueueGuard {
    app: App,
    waiting: Option<WaitingSession>,
}

struct WaitingSession {
    organization_id: OrganizationId,
    environment_id: EnvironmentId,
    session_id: SessionId,
    user_id: UserId,
    /// Method, path and key of the request, if it has an Idempotency-Key.
    key: Option<(String, String, String)>,
}

impl QueueGuard {
    pub fn new(
        app: App,
        (organization_id, environment_id): (OrganizationId, EnvironmentId),
        (session_id, user_id): (SessionId, UserId),
        key: Option<(String, String, String)>,
    ) -> Self {
        let waiting = WaitingSession { organization_id, environment_id, session_id, user_id, key };
        Self { app, waiting: Some(waiting) }
    }

    /// Leaves the session as it is: the request has completed.
    pub fn disarm(mut self) {
        self.waiting = None;
    }
}

impl Drop for QueueGuard {
    fn drop(&mut self) {
        let (Some(session), Ok(runtime)) = (self.waiting.take(), Handle::try_current()) else { return };
        let (store, bell) = (self.app.store.clone(), self.app.bell.clone());
        let leaving = async move {
            let waiter = Waiter {
                organization_id: session.organization_id,
                environment_id: session.environment_id,
                session_id: session.session_id,
                user_id: session.user_id,
                key: session.key.as_ref().map(|(method, path, key)| KeyScope { method, path, key }),
            };
            // If this fails, the session loses its place when its heartbeats have been missing for long
            // enough.
            match with_db_timeout(store.abandon(&waiter)).await {
                Ok(()) => bell.ring(),
                Err(error) => tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    session = %waiter.session_id,
                    "could not remove the session of a disconnected client from the queue; it will time out"
                ),
            }
        };
        self.app.detached_tasks.spawn_on(leaving, &runtime);
    }
}
