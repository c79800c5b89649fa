//! Server-sent events: first what was missed, from the database, then what comes, from the feed; each event once, in
//! order.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::response::sse::{self, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, Stream};
use greenroom_api_types::event::Event as Wire;
use greenroom_domain::event::Event;
use greenroom_domain::id::OrganizationId;
use greenroom_domain::principal::Principal;
use greenroom_store::event::EventFilter;
use greenroom_store::within_patience;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use crate::app::App;
use crate::app::attendance::Attending;
use crate::app::event::matches;
use crate::app::failure::{Code, Failure};
use crate::http::permit::Caller;
use crate::limits::Counted;

const PAGE: i64 = 500;
const RECONNECT: Duration = Duration::from_secs(1);
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Opens a stream after `last_seen`, or with what comes next. `attending` ends with it.
pub async fn open(
    permit: &Caller,
    filter: EventFilter,
    last_seen: Option<i64>,
    attending: Option<Attending>,
) -> Result<Response, Failure> {
    if permit.app.draining.is_cancelled() {
        return Err(Failure::new(
            Code::Overloaded,
            "This server is shutting down. Connect again to reach another.",
        ));
    }
    let counted = permit.app.limits.stream(permit.principal.as_ref().into())?;
    let organization = permit.organization();
    // Subscribed before the history is read, so that nothing falls in between.
    let live = permit.app.feed.subscribe(organization);
    let (oldest, head) = permit.app.store.event_bounds(organization).await?;
    // Tells at once that the stream is open, and how soon to come back when it breaks.
    let mut waiting = VecDeque::from([sse::Event::default().retry(RECONNECT).comment("open")]);
    let sequence = match last_seen {
        None => head,
        // Dropped with their month, or from a database that is no more: either way the reader's picture has a hole.
        Some(seen) if seen > head || seen + 1 < oldest => {
            waiting.push_back(sse::Event::default().event("reset").id(head.to_string()).data("{}"));
            head
        }
        Some(seen) => seen,
    };
    let follower = Follower {
        app: permit.app.clone(),
        principal: Arc::clone(&permit.principal),
        organization,
        filter,
        live,
        sequence,
        behind: sequence < head,
        waiting,
        _attending: attending,
        _counted: counted,
    };
    Ok(Sse::new(follow(follower)).keep_alive(KeepAlive::new().interval(HEARTBEAT)).into_response())
}

struct Follower {
    app: App,
    principal: Arc<Principal>,
    organization: OrganizationId,
    filter: EventFilter,
    live: Receiver<Arc<Event>>,
    /// The last sequence that was dealt with.
    sequence: i64,
    /// There is more in the database than this stream has seen.
    behind: bool,
    waiting: VecDeque<sse::Event>,
    /// Says for as long as the stream is open that its user is there.
    _attending: Option<Attending>,
    _counted: Counted,
}

fn follow(follower: Follower) -> impl Stream<Item = Result<sse::Event, Infallible>> {
    let (app, watch) = (follower.app.clone(), follower.app.vigil.watch(&follower.principal));
    stream::unfold((follower, app, watch), |(mut follower, app, watch)| async move {
        let event = tokio::select! {
            // The end first: a stream that always has a next event would else never come to it.
            biased;
            () = watch.ended() => None,
            () = app.draining.cancelled() => None,
            event = follower.next() => event,
        };
        event.map(|event| (Ok(event), (follower, app, watch)))
    })
}

impl Follower {
    /// The next event; `None` ends the stream, and its reader comes back with `Last-Event-ID`.
    async fn next(&mut self) -> Option<sse::Event> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(event);
            }
            if self.behind {
                self.catch_up().await?;
                continue;
            }
            match self.live.recv().await {
                // The feed may repeat what the history has shown, and what it skipped is read from there.
                Ok(event) if event.sequence <= self.sequence => {}
                Ok(event) if event.sequence == self.sequence + 1 => {
                    self.sequence = event.sequence;
                    if matches(&self.filter, &event) {
                        self.waiting.push_back(message(self.organization, Event::clone(&event)));
                    }
                }
                Ok(_) | Err(RecvError::Lagged(_)) => self.behind = true,
                Err(RecvError::Closed) => return None,
            }
        }
    }

    async fn catch_up(&mut self) -> Option<()> {
        let read = async {
            // Read before the page, so that whatever the page leaves out is known to be there.
            let (_, head) = self.app.store.event_bounds(self.organization).await?;
            let page =
                self.app.store.events_after(self.organization, &self.filter, self.sequence, PAGE).await?;
            Ok::<_, greenroom_store::StoreError>((head, page))
        };
        let (head, page) = match within_patience(read).await {
            Ok(read) => read,
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "a stream could not read on and was ended"
                );
                return None;
            }
        };
        self.behind = page.len() == PAGE as usize;
        let last = page.last().map_or(self.sequence, |event| event.sequence);
        // A page that is not full has shown all up to the head; events that the filter left out count as seen.
        self.sequence = if self.behind { last } else { last.max(head) };
        self.waiting.extend(page.into_iter().map(|event| message(self.organization, event)));
        Some(())
    }
}

fn message(organization: OrganizationId, event: Event) -> sse::Event {
    let (id, name) = (event.sequence.to_string(), event.event_type.clone());
    let data = serde_json::to_string(&Wire::of(organization, event)).unwrap_or_default();
    sse::Event::default().id(id).event(name).data(data)
}
