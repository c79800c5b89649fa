//! Claims that wait for their turn within a request. The session leaves the queue whenever its request ends
//! without a grant.

use std::sync::Arc;
use std::time::Duration;

use greenroom_domain::environment::{LockCommand, Refusal, subject};
use greenroom_domain::event::Event;
use greenroom_domain::id::{EnvironmentId, OrganizationId, SessionId};
use greenroom_domain::owner::Owner;
use greenroom_domain::session::SessionStatus;
use greenroom_store::waiting::Waiter;
use greenroom_store::{Command, with_db_timeout};
use tokio::runtime::Handle;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, sleep, sleep_until};

use crate::App;
use crate::command::{CommandRequest, Interruption, OpenCommand, OperationKey, Replayable, notify};
use crate::failure::Failure;
use crate::session::claim::claim_on_slow_path;
use crate::session::locked::{apply, lock_place, not_active, refused};
use crate::session::view::{Render, SessionView, read_view};
use crate::session::{ClaimMode, ClaimRequest, Place, outcome};

/// Fallback poll interval: a deadline can pass without an event, and events can arrive late.
const POLL_INTERVAL: Duration = Duration::from_secs(3);

/// Joins the queue and waits for the turn. When the wait is over, the session leaves the queue and the claim
/// is refused, unless the client requested `queue: true`: then the session stays queued.
pub async fn claim<R: Replayable>(
    request: &CommandRequest<'_>,
    place: &Place,
    claim: &ClaimRequest,
    wait: Duration,
    render: Render<R>,
) -> Result<R, Interruption> {
    let (app, principal) = (request.app, request.principal);
    let organization = principal.organization_id;
    let stays_queued = claim.mode == ClaimMode::Queue;
    let deadline = Instant::now() + wait;
    // Subscribe before the claim, so that no event is lost in between.
    let mut events = app.feed.subscribe(organization);
    let mut command = request.open().await?;
    let queued = ClaimRequest { mode: ClaimMode::Queue, ..claim.clone() };
    let view = outcome::counted(claim_on_slow_path(&mut command, place, &queued).await)?;
    let id = view.session.id;
    if view.session.status != SessionStatus::Queued {
        return command.finish(render(request.web_urls(), view)?).await;
    }
    // From here on, the guard removes the session from the queue if this request ends early.
    let locked = lock_place(&mut command, place).await?;
    let environment = subject(locked.pipeline_id, &locked.name);
    let guard = (!stays_queued).then(|| {
        let waiting = WaitingSession {
            organization_id: organization,
            environment_id: locked.id,
            session_id: id,
            owner: principal.owner(),
            key: request.key.clone(),
        };
        QueueGuard { app: app.clone(), waiting: Some(waiting) }
    });
    command.finish(render(request.web_urls(), view)?).await?;
    loop {
        let reason = wait_for_event(app, &mut events, deadline, |event| event.subject == environment).await;
        if matches!(reason, WakeReason::Event) {
            let record = app.store.session(organization, locked.id, id).await?;
            if record.is_some_and(|record| record.status == SessionStatus::Queued) {
                continue;
            }
        }
        let is_last = matches!(reason, WakeReason::Deadline);
        let polled = poll(request, place, claim, id, is_last && !stays_queued).await;
        let (command, state) = match polled {
            Ok(polled) => polled,
            // A transient failure is no reason to leave the queue: retry at the next wake-up.
            Err(interruption) if !is_last && interruption.is_transient() => continue,
            Err(interruption) => return Err(interruption),
        };
        let result = match state {
            WaitState::Granted(view) => Ok(command.finish(render(request.web_urls(), *view)?).await?),
            WaitState::Queued(view) if is_last => {
                Ok(command.finish(render(request.web_urls(), *view)?).await?)
            }
            WaitState::Queued(_) => {
                command.commit().await?;
                continue;
            }
            WaitState::Left(failure) => {
                command.commit_and_delete_response().await?;
                Err(Interruption::Refused(failure))
            }
        };
        if let Some(guard) = guard {
            guard.disarm();
        }
        return result;
    }
}

/// The state of a session that a request waits for.
enum WaitState {
    Granted(Box<SessionView>),
    Queued(Box<SessionView>),
    /// The wait timed out, and the session left the queue. The failure is that of a plain claim.
    Left(Box<Failure>),
}

/// Opens another command of the request and polls the session in it. The caller commits the command.
async fn poll(
    request: &CommandRequest<'_>,
    place: &Place,
    claim: &ClaimRequest,
    id: SessionId,
    leaves: bool,
) -> Result<(OpenCommand, WaitState), Interruption> {
    let mut command = request.reopen().await?;
    let state = poll_in(&mut command, place, claim, id, leaves).await?;
    Ok((command, state))
}

/// Polls the session. This counts as a heartbeat and confirms a grant. `leaves`: if it is still queued, it
/// leaves the queue.
async fn poll_in(
    command: &mut Command,
    place: &Place,
    claim: &ClaimRequest,
    id: SessionId,
    leaves: bool,
) -> Result<WaitState, Failure> {
    let mut locked = lock_place(command, place).await?;
    apply(command, &mut locked, LockCommand::Heartbeat(id)).await?;
    if locked.state.queue.position(id).is_none() {
        let is_active = locked.state.lock.held.as_ref().is_some_and(|held| held.session == id);
        return if is_active {
            Ok(WaitState::Granted(Box::new(read_view(command, &locked, id).await?)))
        } else {
            Err(not_active(command, &locked, id).await?)
        };
    }
    if !leaves {
        return Ok(WaitState::Queued(Box::new(read_view(command, &locked, id).await?)));
    }
    apply(command, &mut locked, LockCommand::Release(id)).await?;
    // The session was queued, so the lock is held: otherwise it would have been granted.
    let refusal = match &locked.state.lock.held {
        Some(held) if command.principal().owns(held.owner) => Refusal::HeldByYou { session: held.session },
        Some(held) => Refusal::Locked { session: held.session },
        None => Refusal::OthersWait,
    };
    Ok(WaitState::Left(Box::new(refused(command, &locked, refusal, &place.pipeline, claim).await?)))
}

/// Removes a session from the queue when its request is dropped, for example because the client disconnected.
struct QueueGuard {
    app: App,
    waiting: Option<WaitingSession>,
}

struct WaitingSession {
    organization_id: OrganizationId,
    environment_id: EnvironmentId,
    session_id: SessionId,
    owner: Owner,
    /// The key under which the response is stored so far.
    key: Option<OperationKey>,
}

impl QueueGuard {
    /// Leaves the session as it is: the request has completed.
    fn disarm(mut self) {
        self.waiting = None;
    }
}

impl Drop for QueueGuard {
    fn drop(&mut self) {
        let (Some(session), Ok(runtime)) = (self.waiting.take(), Handle::try_current()) else { return };
        let app = self.app.clone();
        let leaving = async move {
            let waiter = Waiter {
                organization_id: session.organization_id,
                environment_id: session.environment_id,
                session_id: session.session_id,
                owner: session.owner,
                key: session.key.as_ref().map(OperationKey::scope),
            };
            // If this fails, the session loses its place when its heartbeats have been missing for long
            // enough.
            match with_db_timeout(app.store.abandon(&waiter)).await {
                Ok(()) => notify(&app, false),
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

/// Why `wait_for_event` returned.
pub enum WakeReason {
    Event,
    Poll,
    /// The wait is over, or this server is draining.
    Deadline,
}

/// Waits for a relevant event, the poll interval or the deadline.
pub async fn wait_for_event(
    app: &App,
    events: &mut Receiver<Arc<Event>>,
    deadline: Instant,
    is_relevant: impl Fn(&Event) -> bool,
) -> WakeReason {
    let event = async {
        loop {
            match events.recv().await {
                Ok(event) if !is_relevant(&event) => {}
                Ok(_) | Err(RecvError::Lagged(_)) => return,
                Err(RecvError::Closed) => std::future::pending().await,
            }
        }
    };
    tokio::select! {
        biased;
        () = app.draining.cancelled() => WakeReason::Deadline,
        () = sleep_until(deadline) => WakeReason::Deadline,
        () = event => WakeReason::Event,
        () = sleep(POLL_INTERVAL) => WakeReason::Poll,
    }
}
