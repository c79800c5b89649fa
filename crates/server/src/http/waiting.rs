//! Claims that wait within the request, for as long as the client prefers: for a turn, or for one of a pool to come free.

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
use crate::app::session::{self, Ask, How, Place};
use crate::app::waiting::{self, Presence, Waited};
use crate::http::answer::Answer;
use crate::http::flight::Flight;
use crate::http::idempotency::IdempotencyKey;
use crate::http::mutation::{Answered, Exit};
use crate::http::permit::Permit;
use crate::http::session::wire;

/// Events tell that something has changed; this is for what the clock decides, and for events that come late.
const LOOK_EVERY: Duration = Duration::from_secs(3);

/// A request that asks again: the key and the body under which its answer is kept.
#[derive(Clone, Copy)]
pub struct Keyed<'a> {
    pub key: &'a IdempotencyKey,
    pub body: &'a [u8],
}

/// Queues, and waits for the turn. When the wait is over it leaves the queue and is refused, unless the client had asked
/// to be queued anyway: then it stays.
pub async fn claim<A: Act>(
    permit: &Permit<A>,
    place: &Place,
    Keyed { key, body }: Keyed<'_>,
    ask: &Ask,
    (wait, flight): (Duration, &Flight),
) -> Answered {
    let (app, organization, stays) = (&permit.app, permit.organization(), ask.how == How::Queue);
    flight.waits(wait)?;
    let over = Instant::now() + wait;
    // Before anything is asked for, so that no news of it is missed.
    let mut live = app.feed.subscribe(organization);
    let mut mutation = permit.open(key.clone(), body).await?;
    let queued = Ask { how: How::Queue, ..ask.clone() };
    let shown = session::claim(&mut mutation.command, place, &queued).await?;
    let id = shown.session.id;
    if shown.session.status != SessionStatus::Queued {
        return mutation.finish(Answer::new(StatusCode::CREATED, &wire(shown))?).await;
    }
    // From here on, whatever ends this request ends the wait.
    let locked = session::lock_place(&mut mutation.command, place).await?;
    let about = subject(locked.pipeline_id, &locked.name);
    let presence = (!stays).then(|| {
        let place = (organization, locked.id);
        Presence::of(app.clone(), place, (id, permit.principal.user_id), key.parts())
    });
    mutation.finish(Answer::new(StatusCode::ACCEPTED, &wire(shown))?).await?;
    loop {
        let news = next(app, &mut live, over, |event| event.subject == about).await;
        if matches!(news, News::Event) {
            let record = app.store.session(organization, locked.id, id).await?;
            if record.is_some_and(|record| record.status == SessionStatus::Queued) {
                continue;
            }
        }
        let ends = matches!(news, News::Over);
        let looked = async {
            let mut mutation = permit.open_again(key.clone(), body).await?;
            let waited = waiting::look(&mut mutation.command, (place, ask), id, ends && !stays).await?;
            Ok::<_, Exit>((mutation, waited))
        };
        let answered = match looked.await {
            Ok((mutation, Waited::Granted(shown))) => {
                Ok(mutation.finish(Answer::new(StatusCode::CREATED, &wire(*shown))?).await?)
            }
            Ok((mutation, Waited::Left(failure))) => {
                mutation.forget().await?;
                Err(Exit::Refused(failure))
            }
            Ok((mutation, Waited::Waits(shown))) if ends => {
                Ok(mutation.finish(Answer::new(StatusCode::ACCEPTED, &wire(*shown))?).await?)
            }
            Ok((mutation, Waited::Waits(_))) => {
                mutation.commit().await?;
                continue;
            }
            // Others were in the way: no reason to give up the place in the queue.
            Err(exit) if !ends && exit.passes() => continue,
            Err(exit) => return Err(exit),
        };
        if let Some(presence) = presence {
            presence.ends_well();
        }
        return answered;
    }
}

/// Tries until one of the pool is free.
pub async fn claim_from_pool<A: Act>(
    permit: &Permit<A>,
    (pipeline, labels): (&PipelineName, &[String]),
    Keyed { key, body }: Keyed<'_>,
    ask: &Ask,
    (wait, flight): (Duration, &Flight),
) -> Answered {
    flight.waits(wait)?;
    let over = Instant::now() + wait;
    let mut live = permit.app.feed.subscribe(permit.organization());
    let mut ends = false;
    loop {
        let tried = async {
            let mut mutation = permit.open(key.clone(), body).await?;
            let shown = environment_pool::claim(&mut mutation.command, pipeline, labels, ask).await?;
            mutation.finish(Answer::new(StatusCode::CREATED, &wire(shown))?).await
        };
        match tried.await {
            Err(exit) if !ends && (exit.is(Code::PoolExhausted) || exit.passes()) => {}
            answered => return answered,
        }
        // What an end tells is that something may have come free; whose, the next try finds out.
        let news = next(&permit.app, &mut live, over, |event| event.event_type.starts_with("session."));
        ends = matches!(news.await, News::Over);
    }
}

/// What ended a piece of waiting.
pub enum News {
    Event,
    Tick,
    /// The client waits no longer, or this server is about to stop.
    Over,
}

/// Waits for an event that matters, a while, or the end.
pub async fn next(
    app: &App,
    live: &mut Receiver<Arc<Event>>,
    over: Instant,
    matters: impl Fn(&Event) -> bool,
) -> News {
    let event = async {
        loop {
            match live.recv().await {
                Ok(event) if !matters(&event) => {}
                Ok(_) | Err(RecvError::Lagged(_)) => return,
                Err(RecvError::Closed) => std::future::pending().await,
            }
        }
    };
    tokio::select! {
        biased;
        () = app.draining.cancelled() => News::Over,
        () = sleep_until(over) => News::Over,
        () = event => News::Event,
        () = sleep(LOOK_EVERY) => News::Tick,
    }
}
