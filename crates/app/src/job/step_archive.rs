//! The archives of steps of registries that runners download. They are in PostgreSQL, and read piece by piece, so that a client that
//! does not read costs little memory.

use std::io;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::step::StepDigest;
use greenroom_store::job::JobCredentials;

use crate::App;
use crate::archive::ArchiveDownload;
use crate::failure::Failure;
use crate::job::found;

const PIECE_BYTES: u32 = 1024 * 1024;

#[boxed_futures]
pub async fn read(
    app: &App,
    credentials: JobCredentials<'_>,
    digest: &StepDigest,
) -> Result<ArchiveDownload, Failure> {
    let archive = found(app.store.step_archive_for(credentials, digest).await?)?;
    let (app, digest) = (app.clone(), digest.clone());
    let organization = credentials.runner.organization_id;
    let pieces = stream::try_unfold(0, move |offset: u64| {
        let (app, digest) = (app.clone(), digest.clone());
        async move {
            if offset >= archive.bytes {
                return Ok(None);
            }
            let piece = app.store.step_archive_piece(organization, &digest, offset, PIECE_BYTES).await;
            match piece.map_err(io::Error::other)? {
                Some(piece) if !piece.is_empty() => {
                    let next = offset + piece.len() as u64;
                    Ok(Some((Bytes::from(piece), next)))
                }
                _ => Err(io::Error::other("the archive was removed during the download")),
            }
        }
    });
    Ok(ArchiveDownload { sha256: archive.sha256, body: pieces.boxed() })
}
