//! Waiting for a turn within a request. Whoever stops waiting, for whatever reason, leaves the queue.

use greenroom_domain::environment::{Command as Change, Refusal};
use greenroom_domain::id::{EnvironmentId, OrganizationId, SessionId, UserId};
use greenroom_store::idempotency::KeyScope;
use greenroom_store::waiting::Waiter;
use greenroom_store::{Command, within_patience};
use tokio::runtime::Handle;

use crate::app::App;
use crate::app::failure::Failure;
use crate::app::session::{self, Ask, Place, Shown};

/// How it stands with a session that waits.
pub enum Waited {
    Granted(Box<Shown>),
    Waits(Box<Shown>),
    /// The wait was over, and so it left. This is what a plain claim would have been told.
    Left(Box<Failure>),
}

/// Looks after the session, which is a sign of life and takes up its turn. `leaves`: if it still waits, it does so no longer.
pub async fn look(
    command: &mut Command,
    (place, ask): (&Place, &Ask),
    id: SessionId,
    leaves: bool,
) -> Result<Waited, Failure> {
    let mut locked = session::lock_place(command, place).await?;
    session::apply(command, &mut locked, Change::Hear(id)).await?;
    if locked.state.queue.position(id).is_none() {
        let active = locked.state.lock.held.as_ref().is_some_and(|held| held.session == id);
        return if active {
            Ok(Waited::Granted(Box::new(session::show(command, &locked, id).await?)))
        } else {
            Err(session::not_active(command, &locked, id).await?)
        };
    }
    if !leaves {
        return Ok(Waited::Waits(Box::new(session::show(command, &locked, id).await?)));
    }
    session::apply(command, &mut locked, Change::Release(id)).await?;
    let user = command.principal().user_id;
    // Somebody waited, so the lock is held: else it would have been granted to them.
    let refusal = match &locked.state.lock.held {
        Some(held) if held.user == user => Refusal::HeldByYou { session: held.session },
        Some(held) => Refusal::Locked { session: held.session },
        None => Refusal::OthersWait,
    };
    Ok(Waited::Left(Box::new(session::refused(command, &locked, refusal, (&place.pipeline, ask)).await?)))
}

/// Sees to it that a session does not stay in the queue when its request is dropped, as when the client hangs up.
pub struct Presence {
    app: App,
    waiting: Option<Session>,
}

struct Session {
    organization_id: OrganizationId,
    environment_id: EnvironmentId,
    session_id: SessionId,
    user_id: UserId,
    /// Method, path and key.
    key: Option<(String, String, String)>,
}

impl Presence {
    pub fn of(
        app: App,
        (organization_id, environment_id): (OrganizationId, EnvironmentId),
        (session_id, user_id): (SessionId, UserId),
        key: Option<(String, String, String)>,
    ) -> Self {
        Self { app, waiting: Some(Session { organization_id, environment_id, session_id, user_id, key }) }
    }

    /// The request has come to its end, and the session is as it should be.
    pub fn ends_well(mut self) {
        self.waiting = None;
    }
}

impl Drop for Presence {
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
            // If this fails, the queue notices by itself that nobody is heard from.
            match within_patience(store.abandon(&waiter)).await {
                Ok(()) => bell.ring(),
                Err(error) => tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    session = %waiter.session_id,
                    "a session whose client is gone stays in the queue until it is missed"
                ),
            }
        };
        self.app.departures.spawn_on(leaving, &runtime);
    }
}
