//! The minimum rate of a request body.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use greenroom_server::internals::{PacedBody, TooSlow};
use http_body_util::BodyExt;

const SHORT_WINDOW: Duration = Duration::from_millis(100);
/// Longer than the pauses of a busy machine.
const LONG_WINDOW: Duration = Duration::from_secs(1);

/// A body with a pause before each piece, in hundredths of a second.
fn paced(window: Duration, pieces: Vec<(u64, usize)>) -> PacedBody {
    let pieces = stream::iter(pieces).then(|(pause, bytes)| async move {
        tokio::time::sleep(Duration::from_millis(10 * pause)).await;
        Ok::<_, std::io::Error>(Bytes::from(vec![b'x'; bytes]))
    });
    PacedBody::new(Body::from_stream(pieces), window)
}

async fn is_too_slow(window: Duration, pieces: Vec<(u64, usize)>) -> bool {
    paced(window, pieces).collect().await.is_err_and(|error| error.is::<TooSlow>())
}

#[tokio::test]
async fn too_little_in_a_window_is_too_slow() {
    assert!(!is_too_slow(LONG_WINDOW, vec![(1, 1)]).await);
    assert!(is_too_slow(SHORT_WINDOW, vec![(100, 1)]).await);
    assert!(is_too_slow(SHORT_WINDOW, vec![(2, 10); 30]).await);
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
