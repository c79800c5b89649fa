//! Where logs, artifacts and caches are: one object store, on disk or S3. Nothing here relies on an S3 that compares before it
//! writes, because not all do: names are never used for two things, and PostgreSQL says what is there.

use std::os::unix::fs::DirBuilderExt;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use axum::body::Body;
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::buffered::BufWriter;
use object_store::path::Path;
use object_store::{BackoffConfig, ClientConfigKey, ObjectStore, ObjectStoreExt, RetryConfig};
use sha2::{Digest, Sha256};
use tokio::io::AsyncWriteExt;

use crate::app::failure::{Code, Failure};

/// A stream is sent on in parts; so many of them, and the one that is being gathered, are in memory. S3 takes no smaller parts,
/// and 10,000 of them are more than the largest archive.
const PART: usize = 5 * 1024 * 1024;
const PARTS_AT_ONCE: usize = 2;
/// A body that brings nothing for this long is given up.
const BODY_IDLE_TIMEOUT: Duration = Duration::from_secs(20);

/// How long an S3 may take before it counts as away: less than a request has. `AWS_CONNECT_TIMEOUT` and the like win.
const PATIENCE: [(ClientConfigKey, &str); 3] = [
    (ClientConfigKey::ConnectTimeout, "3 seconds"),
    // Nothing comes for so long; an archive as a whole may take an hour.
    (ClientConfigKey::ReadTimeout, "20 seconds"),
    (ClientConfigKey::Timeout, "1 hour"),
];

/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct Objects(Arc<dyn ObjectStore>);

impl Objects {
    /// By address: `file:///var/lib/greenroom/objects`, or `s3://bucket` with the usual `AWS_…` among the variables.
    pub fn open(
        address: &str,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> anyhow::Result<Self> {
        if let Some(folder) = address.strip_prefix("file://") {
            // Logs and artifacts are not for other users of the machine.
            let mut builder = std::fs::DirBuilder::new();
            builder.recursive(true).mode(0o700);
            builder.create(folder).with_context(|| format!("can't make the folder {folder}"))?;
            let disk = object_store::local::LocalFileSystem::new_with_prefix(folder)
                .with_context(|| format!("can't keep objects in {folder}"))?;
            return Ok(Self(Arc::new(disk.with_automatic_cleanup(true))));
        }
        let store = s3(address, variables)
            .build()
            .with_context(|| format!("GREENROOM_OBJECTS: {address} is neither file:// nor s3://"))?;
        Ok(Self(Arc::new(store)))
    }

    /// Gone with the process: for tests.
    pub fn in_memory() -> Self {
        Self(Arc::new(object_store::memory::InMemory::new()))
    }

    /// The names of everything that is stored: for tests.
    pub async fn names(&self) -> Result<Vec<String>, Failure> {
        let found = self.0.list(None).map_ok(|found| found.location.to_string());
        found.try_collect().await.map_err(unavailable)
    }

    pub async fn put(&self, name: &str, bytes: Bytes) -> Result<(), Failure> {
        self.0.put(&Path::from(name), bytes.into()).await.map_err(unavailable)?;
        Ok(())
    }

    /// Takes a stream in, part by part; says how long it was, and its SHA-256. Nothing is there before all of it is.
    pub async fn put_stream(&self, name: &str, body: Body, most: u64) -> Result<(u64, String), Failure> {
        let mut upload = BufWriter::with_capacity(Arc::clone(&self.0), Path::from(name), PART)
            .with_max_concurrency(PARTS_AT_ONCE);
        match pour(&mut upload, body, most).await {
            Ok(poured) => {
                upload.shutdown().await.map_err(unavailable)?;
                Ok(poured)
            }
            Err(failure) => {
                // An S3 keeps the parts until it is told otherwise.
                if let Err(error) = upload.abort().await {
                    tracing::debug!(
                        error = &error as &dyn std::error::Error,
                        name,
                        "an upload was not aborted"
                    );
                }
                Err(failure)
            }
        }
    }

    /// All of an object, part by part.
    pub async fn stream(&self, name: &str) -> Result<Body, Failure> {
        let found = self.0.get(&Path::from(name)).await.map_err(unreadable)?;
        Ok(Body::from_stream(found.into_stream()))
    }

    pub async fn get(&self, name: &str, range: std::ops::Range<u64>) -> Result<Bytes, Failure> {
        self.0.get_range(&Path::from(name), range).await.map_err(unreadable)
    }

    /// What is not there is gone already. A name that ends in `/` means all below it.
    pub async fn remove(&self, name: &str) -> Result<(), Failure> {
        let below = match name.strip_suffix('/') {
            Some(folder) => self.0.list(Some(&Path::from(folder))).map_ok(|found| found.location).boxed(),
            None => stream::iter([Ok(Path::from(name))]).boxed(),
        };
        let mut gone = self.0.delete_stream(below);
        while let Some(removed) = gone.next().await {
            match removed {
                Ok(_) | Err(object_store::Error::NotFound { .. }) => {}
                Err(error) => return Err(unavailable(error)),
            }
        }
        Ok(())
    }
}

fn s3(address: &str, variables: impl IntoIterator<Item = (String, String)>) -> AmazonS3Builder {
    let retry = RetryConfig {
        backoff: BackoffConfig { max_backoff: Duration::from_secs(1), ..BackoffConfig::default() },
        max_retries: 6,
        retry_timeout: Duration::from_secs(8),
    };
    let mut builder = AmazonS3Builder::new().with_retry(retry);
    for (key, value) in PATIENCE {
        builder = builder.with_config(AmazonS3ConfigKey::Client(key), value);
    }
    for (name, value) in variables {
        if name.starts_with("AWS_")
            && let Ok(key) = name.to_ascii_lowercase().parse()
        {
            builder = builder.with_config(key, value);
        }
    }
    builder.with_url(address)
}

async fn pour(upload: &mut BufWriter, body: Body, most: u64) -> Result<(u64, String), Failure> {
    let (mut stream, mut hash, mut length) = (body.into_data_stream(), Sha256::new(), 0);
    loop {
        let part = tokio::time::timeout(BODY_IDLE_TIMEOUT, stream.next()).await.map_err(|_| {
            let seconds = BODY_IDLE_TIMEOUT.as_secs();
            Failure::new(Code::RequestTimeout, format!("Nothing of the body came for {seconds} seconds."))
        })?;
        let Some(part) = part else { break };
        let part = part.map_err(|_| Failure::new(Code::RequestTimeout, "The body broke off."))?;
        length += part.len() as u64;
        if length > most {
            let detail = format!("An archive may have {most} bytes at most.");
            return Err(Failure::new(Code::BodyTooLarge, detail));
        }
        hash.update(&part);
        upload.put(part).await.map_err(unavailable)?;
    }
    Ok((length, format!("{:x}", hash.finalize())))
}

/// PostgreSQL says that it is there.
fn unreadable(error: object_store::Error) -> Failure {
    match error {
        object_store::Error::NotFound { .. } => Failure::new(
            Code::ObjectMissing,
            "This was kept, and is not in the server's store of logs and artifacts any more. Whoever runs the server can say \
             whether that store was emptied, or restored from an older backup than the database.",
        )
        .because(error),
        error => unavailable(error),
    }
}

fn unavailable(error: impl std::error::Error + Send + Sync + 'static) -> Failure {
    Failure::new(
        Code::ObjectsUnavailable,
        "The server can't reach its store of logs and artifacts right now. Try again in a moment.",
    )
    .because(error)
}
