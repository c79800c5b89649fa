//! A request body with a minimum rate: below 1 KiB/s for ten seconds it fails. Only the time in which the
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

const WINDOW: Duration = Duration::from_secs(10);
const MIN_BYTES_PER_WINDOW: usize = 10 * 1024;

#[derive(Debug)]
pub struct TooSlow;

impl fmt::Display for TooSlow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the body came more slowly than 1 KiB/s for 10 seconds")
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
    pub fn new(body: Body) -> Self {
        Self { body, window: WINDOW, bytes: 0, waited: Duration::ZERO, waiting: None }
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
            if self.bytes < MIN_BYTES_PER_WINDOW {
                return Poll::Ready(TooSlow);
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

#[cfg(test)]
mod tests {
    use futures_util::{StreamExt, stream};
    use http_body_util::BodyExt;

    use super::*;

    const SHORT_WINDOW: Duration = Duration::from_millis(100);
    /// Longer than the pauses of a busy machine.
    const LONG_WINDOW: Duration = Duration::from_secs(1);

    /// A body with a pause before each piece, in hundredths of a second.
    fn paced(window: Duration, pieces: Vec<(u64, usize)>) -> PacedBody {
        let pieces = stream::iter(pieces).then(|(pause, bytes)| async move {
            tokio::time::sleep(Duration::from_millis(10 * pause)).await;
            Ok::<_, std::io::Error>(Bytes::from(vec![b'x'; bytes]))
        });
        PacedBody { window, ..PacedBody::new(Body::from_stream(pieces)) }
    }

    async fn is_too_slow(window: Duration, pieces: Vec<(u64, usize)>) -> bool {
        paced(window, pieces).collect().await.is_err_and(|error| error.is::<TooSlow>())
    }

    #[tokio::test]
    async fn too_little_in_a_window_is_too_slow() {
        assert!(!is_too_slow(LONG_WINDOW, vec![(1, 1)]).await);
        assert!(is_too_slow(SHORT_WINDOW, vec![(100, 1)]).await);
        assert!(is_too_slow(SHORT_WINDOW, vec![(2, 100); 30]).await);
        assert!(!is_too_slow(LONG_WINDOW, vec![(2, 8 * 1024); 60]).await);
        // A large piece does not make up for a later window with too few bytes.
        assert!(is_too_slow(SHORT_WINDOW, vec![(0, 1024 * 1024), (11, 1), (100, 1)]).await);
    }

    #[tokio::test]
    async fn a_slow_reader_does_not_count_against_the_client() {
        let mut body = paced(LONG_WINDOW, vec![(1, 10); 5]);
        while let Some(frame) = body.frame().await {
            frame.unwrap();
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    }
}
