//! The streams of an HTTP/2 connection: how many are open, and a write timeout for each. The connection's own write
//! timeout is not enough: a client can read from the connection and take nothing of one response.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use hyper::rt::Executor;
use tokio::sync::watch;
use tokio::time::Sleep;
use tokio_util::task::TaskTracker;

/// The size of a piece of a response. hyper requests the next piece when there is room for a byte of this one, so this is
/// how much a client has to take within the write timeout.
const PIECE: usize = 16 * 1024;

tokio::task_local! {
    /// The progress of the stream that the current task serves.
    static PROGRESS: Arc<Progress>;
}

/// How far a response was sent.
#[derive(Default)]
struct Progress {
    pieces: AtomicU64,
    /// Whether a piece was handed over, and the next one was not requested yet.
    is_sending: AtomicBool,
}

/// Runs the streams of one connection.
#[derive(Clone)]
pub struct Streams {
    open: watch::Sender<usize>,
    tasks: TaskTracker,
    write_timeout: Duration,
}

impl Streams {
    pub fn new(write_timeout: Duration) -> Self {
        Self { open: watch::Sender::new(0), tasks: TaskTracker::new(), write_timeout }
    }

    /// Waits until no stream has been open for this long.
    pub async fn idle(&self, timeout: Duration) {
        let mut open = self.open.subscribe();
        loop {
            // It can't fail, because this value is the sender.
            let _ = open.wait_for(|open| *open == 0).await;
            if tokio::time::timeout(timeout, open.changed()).await.is_err() {
                return;
            }
        }
    }
}

/// Counts a stream as open until it is dropped.
struct Open(watch::Sender<usize>);

impl Open {
    fn new(open: &watch::Sender<usize>) -> Self {
        open.send_modify(|open| *open += 1);
        Self(open.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.send_modify(|open| *open = open.saturating_sub(1));
    }
}

impl<F> Executor<F> for Streams
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        let (open, timeout) = (Open::new(&self.open), self.write_timeout);
        let progress = Arc::new(Progress::default());
        let serving = PROGRESS.scope(Arc::clone(&progress), async move {
            serve(stream, &progress, timeout).await;
            drop(open);
        });
        self.tasks.spawn(serving);
    }
}

/// Serves a stream until it ends or its client takes nothing for too long. Dropping it releases its resources, and resets it after
/// what was sent already.
async fn serve(stream: impl Future<Output = ()>, progress: &Progress, timeout: Duration) {
    let mut stream = pin!(stream);
    let mut deadline: Option<(u64, Pin<Box<Sleep>>)> = None;
    poll_fn(|context| {
        if stream.as_mut().poll(context).is_ready() {
            return Poll::Ready(());
        }
        if !progress.is_sending.load(Ordering::Relaxed) {
            deadline = None;
            return Poll::Pending;
        }
        let pieces = progress.pieces.load(Ordering::Relaxed);
        let (_, sleep) = match deadline.take().filter(|(seen, _)| *seen == pieces) {
            Some(former) => deadline.insert(former),
            None => deadline.insert((pieces, Box::pin(tokio::time::sleep(timeout)))),
        };
        sleep.as_mut().poll(context)
    })
    .await;
}

/// The body of a response, in pieces whose progress is recorded.
pub struct PacedResponse {
    body: Body,
    /// What was read of the body and not handed over yet.
    rest: Bytes,
    progress: Option<Arc<Progress>>,
}

impl PacedResponse {
    /// Called in the task of the stream.
    pub fn new(body: Body) -> Self {
        let progress = PROGRESS.try_with(Arc::clone).ok();
        Self { body, rest: Bytes::new(), progress }
    }

    fn next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.rest.is_empty() {
            let frame = match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => frame,
                other => return other,
            };
            match frame.into_data() {
                Ok(data) => self.rest = data,
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            }
        }
        let piece = self.rest.split_to(self.rest.len().min(PIECE));
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }
}

impl HttpBody for PacedResponse {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let next = self.next(context);
        if let Some(progress) = &self.progress {
            let is_sending = matches!(next, Poll::Ready(Some(Ok(_))));
            progress.is_sending.store(is_sending, Ordering::Relaxed);
            progress.pieces.fetch_add(u64::from(is_sending), Ordering::Relaxed);
        }
        next
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (inner, rest) = (self.body.size_hint(), self.rest.len() as u64);
        let mut hint = SizeHint::new();
        if let Some(upper) = inner.upper().and_then(|upper| upper.checked_add(rest)) {
            hint.set_upper(upper);
        }
        hint.set_lower(inner.lower().saturating_add(rest).min(hint.upper().unwrap_or(u64::MAX)));
        hint
    }
}
