//! A request body with a minimum rate: below 1 KiB/s for a whole window it fails. Only the time in which the
//! server waits for the client counts, so a server that reads slowly is not mistaken for a slow client.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, HttpBody};
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

const MIN_BYTES_PER_SECOND: u128 = 1024;

#[derive(Debug)]
pub struct TooSlow {
    window: Duration,
}

impl fmt::Display for TooSlow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the body came more slowly than 1 KiB/s for {} seconds", self.window.as_secs())
    }
}

impl Error for TooSlow {}

pub struct PacedBody {
    body: Body,
    window: Duration,
    /// Bytes received in this window.
    bytes: usize,
    /// Time spent waiting in this window, without the current wait.
    waited: Duration,
    waiting: Option<Waiting>,
}

struct Waiting {
    since: Instant,
    /// Fires at the end of the window.
    timer: Pin<Box<Sleep>>,
}

impl PacedBody {
    pub fn new(body: Body, window: Duration) -> Self {
        Self { body, window, bytes: 0, waited: Duration::ZERO, waiting: None }
    }

    /// Polls the timer while no data is available. Ready once a complete window had too few bytes.
    fn wait(&mut self, context: &mut Context<'_>) -> Poll<TooSlow> {
        loop {
            let left = self.window.saturating_sub(self.waited);
            let waiting = self.waiting.get_or_insert_with(|| {
                let since = Instant::now();
                Waiting { since, timer: Box::pin(sleep_until(since + left)) }
            });
            if waiting.timer.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            if self.bytes as u128 * 1000 < MIN_BYTES_PER_SECOND * self.window.as_millis() {
                return Poll::Ready(TooSlow { window: self.window });
            }
            (self.bytes, self.waited, self.waiting) = (0, Duration::ZERO, None);
        }
    }
}

impl HttpBody for PacedBody {
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.get_mut();
        match Pin::new(&mut this.body).poll_frame(context) {
            Poll::Ready(frame) => {
                if let Some(waiting) = this.waiting.take() {
                    this.waited += waiting.since.elapsed();
                }
                if let Some(Ok(frame)) = &frame {
                    this.bytes += frame.data_ref().map_or(0, Bytes::len);
                }
                Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
            }
            Poll::Pending => this.wait(context).map(|slow| Some(Err(slow.into()))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
