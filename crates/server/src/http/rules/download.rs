//! Streamed response bodies. A piece is read only after the client has received the one before, and the
//! stream fails once the token or runner is revoked.

use std::io;

use axum::body::Body;
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use greenroom_app::limits::Counted;
use greenroom_app::live::stream_rights::RightsWatch;

/// The maximum size of a piece that is passed to the connection.
const MAX_PIECE_BYTES: usize = 256 * 1024;

struct Download<S> {
    pieces: S,
    /// Bytes that were read and not sent yet.
    rest: Bytes,
    watch: RightsWatch,
    _counted: Counted,
}

/// Holds `counted` and `watch` until the last piece is sent or the client disconnects.
pub fn download<E: std::error::Error + Send + Sync + 'static>(
    pieces: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    counted: Counted,
    watch: RightsWatch,
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
        let length = download.rest.len().min(MAX_PIECE_BYTES);
        let piece = download.rest.split_to(length);
        Ok(Some((piece, download)))
    }))
}

/// An error instead of an end: the client must not take a partial download for a complete one.
fn revoked() -> io::Error {
    io::Error::other("the token was revoked during the download")
}
