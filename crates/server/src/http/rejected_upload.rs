//! Rejects an upload whose body was not read. A client that still sends while the server closes the connection may lose the
//! response, so a little of the body is read and thrown away first: no memory, no place, and not for long.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, header};
use futures_util::StreamExt;

use crate::app::failure::Failure;

const MAX_BYTES: usize = 1024 * 1024;
const MAX_TIME: Duration = Duration::from_secs(1);

/// Returns the failure, after the client had a moment to finish sending.
pub async fn reject(failure: Failure, headers: &HeaderMap, body: Body) -> Failure {
    // A client that waits for `100 Continue` has sent nothing, and need not.
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
    // Whether it came to its end does not matter.
    let _ended = tokio::time::timeout(MAX_TIME, rest).await;
    failure
}
