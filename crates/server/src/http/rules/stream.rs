//! Server-sent events: first those after the client's position from the database, then live ones from the
//! feed. Each event is sent once, in order.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::response::sse::{self, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, Stream};
use greenroom_api_types::event::Event as Wire;
use greenroom_app::App;
use greenroom_app::event::matches;
use greenroom_app::failure::{Code, Failure};
use greenroom_app::limits::Counted;
use greenroom_app::live::watcher_heartbeat::WatcherGuard;
use greenroom_domain::event::Event;
use greenroom_domain::id::OrganizationId;
use greenroom_domain::principal::Principal;
use greenroom_store::event::{EventBounds, EventFilter};
use greenroom_store::with_db_timeout;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use crate::http::rules::permit::AuthenticatedRequest;

const PAGE_SIZE: i64 = 500;
const RECONNECT_DELAY: Duration = Duration::from_secs(1);

/// Opens a stream that begins after `last_seen`, or with the next event. `watcher` lives as long as it.
pub async fn open(
    request: &AuthenticatedRequest,
    filter: EventFilter,
    last_seen: Option<i64>,
    watcher: Option<WatcherGuard>,
) -> Result<Response, Failure> {
    if request.app.draining.is_cancelled() {
        return Err(Failure::new(
            Code::Overloaded,
            "This server is shutting down. Connect again to reach another.",
        ));
    }
    let counted = request.app.limits.stream(request.principal.as_ref().into())?;
    let heartbeat_interval = request.app.limits.client_timing.stream_heartbeat_interval;
    let organization = request.organization();
    // Subscribe before reading the history, so that no event is lost in between.
    let live = request.app.feed.subscribe(organization);
    let EventBounds { oldest, head } = request.app.store.event_bounds(organization).await?;
    // The first message confirms that the stream is open, and sets the client's reconnection delay.
    let mut pending = VecDeque::from([sse::Event::default().retry(RECONNECT_DELAY).comment("open")]);
    let sequence = match last_seen {
        None => head,
        // Events are missing: their partition was dropped, or the position is from another database.
        Some(position) if position > head || position + 1 < oldest => {
            pending.push_back(sse::Event::default().event("reset").id(head.to_string()).data("{}"));
            head
        }
        Some(position) => position,
    };
    let follower = Follower {
        app: request.app.clone(),
        principal: Arc::clone(&request.principal),
        organization,
        filter,
        live,
        sequence,
        is_behind: sequence < head,
        pending,
        _watcher: watcher,
        _counted: counted,
    };
    Ok(Sse::new(follow(follower)).keep_alive(KeepAlive::new().interval(heartbeat_interval)).into_response())
}

struct Follower {
    app: App,
    principal: Arc<Principal>,
    organization: OrganizationId,
    filter: EventFilter,
    live: Receiver<Arc<Event>>,
    /// The last sequence that was sent or filtered out.
    sequence: i64,
    /// The database has events that this stream has not read.
    is_behind: bool,
    pending: VecDeque<sse::Event>,
    /// Keeps the place of a session in the queue while the stream is open.
    _watcher: Option<WatcherGuard>,
    _counted: Counted,
}

fn follow(follower: Follower) -> impl Stream<Item = Result<sse::Event, Infallible>> {
    let (app, watch) = (follower.app.clone(), follower.app.stream_rights.watch(&follower.principal));
    stream::unfold((follower, app, watch), |(mut follower, app, watch)| async move {
        let event = tokio::select! {
            // Check for the end first: a stream that always has a next event would never end otherwise.
            biased;
            () = watch.ended() => None,
            () = app.draining.cancelled() => None,
            event = follower.next() => event,
        };
        event.map(|event| (Ok(event), (follower, app, watch)))
    })
}

impl Follower {
    /// Returns the next event. `None` ends the stream; the client reconnects with `Last-Event-ID`.
    async fn next(&mut self) -> Option<sse::Event> {
        loop {
            if let Some(event) = self.pending.pop_front() {
                return Some(event);
            }
            if self.is_behind {
                self.catch_up().await?;
                continue;
            }
            match self.live.recv().await {
                // The feed may repeat events of the history. Events that it skips are read from the database.
                Ok(event) if event.sequence <= self.sequence => {}
                Ok(event) if event.sequence == self.sequence + 1 => {
                    self.sequence = event.sequence;
                    if matches(&self.filter, &event) {
                        self.pending.push_back(message(self.organization, Event::clone(&event)));
                    }
                }
                Ok(_) | Err(RecvError::Lagged(_)) => self.is_behind = true,
                Err(RecvError::Closed) => return None,
            }
        }
    }

    async fn catch_up(&mut self) -> Option<()> {
        let read = async {
            // Read the head before the page: a page that is not full then covers everything up to the head.
            let head = self.app.store.event_bounds(self.organization).await?.head;
            let page = self
                .app
                .store
                .events_after(self.organization, &self.filter, self.sequence, PAGE_SIZE)
                .await?;
            Ok::<_, greenroom_store::StoreError>((head, page))
        };
        let (head, page) = match with_db_timeout(read).await {
            Ok(read) => read,
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "ended an event stream: reading further events failed"
                );
                return None;
            }
        };
        self.is_behind = page.len() == PAGE_SIZE as usize;
        let last = page.last().map_or(self.sequence, |event| event.sequence);
        // A page that is not full covers everything up to the head, including events that the filter
        // excludes.
        self.sequence = if self.is_behind { last } else { last.max(head) };
        self.pending.extend(page.into_iter().map(|event| message(self.organization, event)));
        Some(())
    }
}

fn message(organization: OrganizationId, event: Event) -> sse::Event {
    let (id, name) = (event.sequence.to_string(), event.event_type.clone());
    let data = serde_json::to_string(&Wire::of(organization, event)).unwrap_or_default();
    sse::Event::default().id(id).event(name).data(data)
}
