//! Bodies of downloads: one piece after the other, read only when the client has taken the one before, and none once the token
//! or the runner behind it was revoked.

use std::io;

use axum::body::Body;
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};

use crate::app::vigil::Watch;
use crate::limits::Counted;

/// What is given to the connection at once.
const MAX_PIECE: usize = 256 * 1024;

struct Download<S> {
    pieces: S,
    /// What was read and not sent yet.
    rest: Bytes,
    watch: Watch,
    _counted: Counted,
}

/// `counted` and `watch` are held until the last piece was sent, or the client is gone.
pub fn download<E: std::error::Error + Send + Sync + 'static>(
    pieces: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    counted: Counted,
    watch: Watch,
) -> Body {
    let download = Download { pieces: Box::pin(pieces), rest: Bytes::new(), watch, _counted: counted };
    Body::from_stream(stream::try_unfold(download, |mut download| async move {
        if download.rest.is_empty() {
            let piece = tokio::select! {
                biased;
                () = download.watch.ended() => return Err(revoked()),
                piece = download.pieces.next() => piece,
            };
            match piece {
                Some(piece) => download.rest = piece.map_err(io::Error::other)?,
                None => return Ok(None),
            }
        } else if download.watch.has_ended() {
            return Err(revoked());
        }
        let length = download.rest.len().min(MAX_PIECE);
        let piece = download.rest.split_to(length);
        Ok(Some((piece, download)))
    }))
}

/// An error, not an end: the client must not take what it has for all of it.
fn revoked() -> io::Error {
    io::Error::other("the token was revoked during the download")
}
