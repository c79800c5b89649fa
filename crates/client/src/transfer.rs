//! Uploads and downloads of archives: streamed, with their SHA-256.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use reqwest::{Body, Response};
use sha2::{Digest, Sha256};
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::{Error, Result, UNEXPECTED_RESPONSE};

/// The header with the archive's SHA-256 in hexadecimal digits.
pub(crate) const SHA256_HEADER: &str = "x-greenroom-sha256";
/// The timeout of an upload or a download.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// A download that receives no data for this long is aborted.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
const CHUNK_BYTES: usize = 128 * 1024;

pub(crate) struct Upload {
    pub(crate) body: Body,
    pub(crate) size: u64,
    pub(crate) sha256: String,
}

/// Reads the file twice: size and SHA-256 are sent before the first byte.
pub(crate) async fn upload(path: &Path) -> Result<Upload> {
    let failed = |error| Error::local("the archive could not be read", error);
    let mut file = File::open(path).await.map_err(failed)?;
    let (mut digest, mut size) = (Sha256::new(), 0);
    let mut buffer = vec![0; CHUNK_BYTES];
    loop {
        let count = file.read(&mut buffer).await.map_err(failed)?;
        if count == 0 {
            break;
        }
        digest.update(&buffer[..count]);
        size += count as u64;
    }
    let file = File::open(path).await.map_err(failed)?;
    Ok(Upload { body: Body::from(file), size, sha256: format!("{:x}", digest.finalize()) })
}

/// Reads an archive of at most this many bytes into memory.
pub(crate) async fn download_small(mut response: Response, max_bytes: u64) -> Result<Vec<u8>> {
    let announced = announced_sha256(&response);
    let mut archive = Vec::new();
    while let Some(chunk) = next_chunk(&mut response).await? {
        archive.extend_from_slice(&chunk);
        if archive.len() as u64 > max_bytes {
            return Err(Error::Refused {
                status: response.status().as_u16(),
                code: UNEXPECTED_RESPONSE.to_owned(),
                detail: format!("the archive has more than {max_bytes} bytes"),
                extensions: serde_json::Map::new(),
            });
        }
    }
    check_sha256(announced.as_deref(), &format!("{:x}", Sha256::digest(&archive)))?;
    Ok(archive)
}

pub(crate) async fn download(mut response: Response, into: &Path) -> Result<String> {
    let failed = |error| Error::local("the archive could not be written", error);
    let announced = announced_sha256(&response);
    let mut file = File::create(into).await.map_err(failed)?;
    let mut digest = Sha256::new();
    while let Some(chunk) = next_chunk(&mut response).await? {
        digest.update(&chunk);
        file.write_all(&chunk).await.map_err(failed)?;
    }
    file.flush().await.map_err(failed)?;
    let sha256 = format!("{:x}", digest.finalize());
    check_sha256(announced.as_deref(), &sha256)?;
    Ok(sha256)
}

fn announced_sha256(response: &Response) -> Option<String> {
    response.headers().get(SHA256_HEADER).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

async fn next_chunk(response: &mut Response) -> Result<Option<Bytes>> {
    let chunk = tokio::time::timeout(IDLE_TIMEOUT, response.chunk()).await;
    Ok(chunk.map_err(|_| Error::unavailable("the download of the archive stalled"))??)
}

fn check_sha256(announced: Option<&str>, actual: &str) -> Result<()> {
    match announced {
        Some(announced) if !announced.eq_ignore_ascii_case(actual) => {
            Err(Error::unavailable("the archive was damaged in transit"))
        }
        _ => Ok(()),
    }
}
