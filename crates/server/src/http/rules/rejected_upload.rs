//! Rejects an upload whose body was not read. A client that still sends while the server closes the
//! connection may lose the response, so a small part of the body is read and discarded first, within a short
//! timeout.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, header};
use futures_util::StreamExt;
use greenroom_app::failure::Failure;

const MAX_BYTES: usize = 1024 * 1024;
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Returns the failure after the client has had time to finish sending.
pub async fn reject(failure: Failure, headers: &HeaderMap, body: Body) -> Failure {
    // A client that waits for `100 Continue` has not sent the body.
    if headers.contains_key(header::EXPECT) {
        return failure;
    }
    let mut pieces = body.into_data_stream();
    let rest = async {
        let mut bytes = 0;
        while let Some(Ok(piece)) = pieces.next().await {
            bytes += piece.len();
            if bytes > MAX_BYTES {
                break;
            }
        }
    };
    // Whether the body ended within the timeout does not matter.
    let _ended = tokio::time::timeout(DRAIN_TIMEOUT, rest).await;
    failure
}
