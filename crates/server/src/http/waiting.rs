//! Claims that wait within the request, up to the client's `Prefer: wait`: for a turn in the queue, or for a
//! free environment of a pool.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use greenroom_domain::environment::subject;
use greenroom_domain::event::Event;
use greenroom_domain::policy::Act;
use greenroom_domain::session::SessionStatus;
use greenroom_store::pipeline::PipelineName;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, sleep, sleep_until};

use crate::app::App;
use crate::app::environment_pool;
use crate::app::failure::Code;
use crate::app::session::{self, ClaimMode, ClaimRequest, Place};
use crate::app::waiting::{self, QueueGuard, WaitState};
use crate::http::idempotency::IdempotencyKey;
use crate::http::mutation::{HandlerResult, Interruption};
use crate::http::permit::Permit;
use crate::http::record_response::RecordResponse;
use crate::http::request_slot::RequestSlot;
use crate::http::session::to_wire;

/// Fallback poll interval: a deadline can pass without an event, and events can arrive late.
const POLL_INTERVAL: Duration = Duration::from_secs(3);

/// The Idempotency-Key and the body of a request that opens several commands.
#[derive(Clone, Copy)]
pub struct KeyedRequest<'a> {
    pub key: &'a IdempotencyKey,
    pub body: &'a [u8],
}

/// Joins the queue and waits for the turn. When the wait is over, the session leaves the queue and the claim
/// is refused, unless the client requested `queue: true`: then the session stays queued.
pub async fn claim<A: Act>(
    permit: &Permit<A>,
    place: &Place,
    KeyedRequest { key, body }: KeyedRequest<'_>,
    request: &ClaimRequest,
    (wait, request_slot): (Duration, &RequestSlot),
) -> HandlerResult {
    let (app, organization) = (&permit.app, permit.organization());
    let stays_queued = request.mode == ClaimMode::Queue;
    request_slot.begin_wait(wait)?;
    let deadline = Instant::now() + wait;
    // Subscribe before the claim, so that no event is lost in between.
    let mut events = app.feed.subscribe(organization);
    let mut mutation = permit.open(key.clone(), body).await?;
    let queued = ClaimRequest { mode: ClaimMode::Queue, ..request.clone() };
    let view = session::claim(&mut mutation.command, place, &queued).await?;
    let id = view.session.id;
    if view.session.status != SessionStatus::Queued {
        return mutation.finish(RecordResponse::new(StatusCode::CREATED, &to_wire(view))?).await;
    }
    // From here on, the guard removes the session from the queue if this request ends early.
    let locked = session::lock_place(&mut mutation.command, place).await?;
    let environment = subject(locked.pipeline_id, &locked.name);
    let guard = (!stays_queued).then(|| {
        let place = (organization, locked.id);
        QueueGuard::new(app.clone(), place, (id, permit.principal.user_id), key.parts())
    });
    mutation.finish(RecordResponse::new(StatusCode::ACCEPTED, &to_wire(view))?).await?;
    loop {
        let reason = wait_for_event(app, &mut events, deadline, |event| event.subject == environment).await;
        if matches!(reason, WakeReason::Event) {
            let record = app.store.session(organization, locked.id, id).await?;
            if record.is_some_and(|record| record.status == SessionStatus::Queued) {
                continue;
            }
        }
        let is_last = matches!(reason, WakeReason::Deadline);
        let polled = async {
            let mut mutation = permit.open_again(key.clone(), body).await?;
            let state =
                waiting::poll(&mut mutation.command, (place, request), id, is_last && !stays_queued).await?;
            Ok::<_, Interruption>((mutation, state))
        };
        let result = match polled.await {
            Ok((mutation, WaitState::Granted(view))) => {
                Ok(mutation.finish(RecordResponse::new(StatusCode::CREATED, &to_wire(*view))?).await?)
            }
            Ok((mutation, WaitState::Left(failure))) => {
                mutation.commit_and_forget().await?;
                Err(Interruption::Refused(failure))
            }
            Ok((mutation, WaitState::Queued(view))) if is_last => {
                Ok(mutation.finish(RecordResponse::new(StatusCode::ACCEPTED, &to_wire(*view))?).await?)
            }
            Ok((mutation, WaitState::Queued(_))) => {
                mutation.commit().await?;
                continue;
            }
            // A transient failure is no reason to leave the queue: retry at the next wake-up.
            Err(interruption) if !is_last && interruption.is_transient() => continue,
            Err(interruption) => return Err(interruption),
        };
        if let Some(guard) = guard {
            guard.disarm();
        }
        return result;
    }
}

/// Retries the claim until an environment of the pool is free, or the wait is over.
pub async fn claim_from_pool<A: Act>(
    permit: &Permit<A>,
    (pipeline, labels): (&PipelineName, &[String]),
    KeyedRequest { key, body }: KeyedRequest<'_>,
    request: &ClaimRequest,
    (wait, request_slot): (Duration, &RequestSlot),
) -> HandlerResult {
    request_slot.begin_wait(wait)?;
    let deadline = Instant::now() + wait;
    let mut events = permit.app.feed.subscribe(permit.organization());
    let mut is_last = false;
    loop {
        let attempt = async {
            let mut mutation = permit.open(key.clone(), body).await?;
            let view = environment_pool::claim(&mut mutation.command, pipeline, labels, request).await?;
            mutation.finish(RecordResponse::new(StatusCode::CREATED, &to_wire(view))?).await
        };
        match attempt.await {
            Err(interruption)
                if !is_last
                    && (interruption.has_code(Code::PoolExhausted) || interruption.is_transient()) => {}
            result => return result,
        }
        // Any session event can mean that an environment of the pool is free; the next attempt finds out.
        let is_relevant = |event: &Event| event.event_type.starts_with("session.");
        let reason = wait_for_event(&permit.app, &mut events, deadline, is_relevant).await;
        is_last = matches!(reason, WakeReason::Deadline);
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
