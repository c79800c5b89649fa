//! The object store of logs, artifacts and caches, on disk or S3. Nothing here relies on conditional writes,
//! because not every S3 implementation has them: a name is never used twice, and PostgreSQL records which
//! objects exist.

use std::collections::HashSet;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt, TryStreamExt};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::buffered::BufWriter;
use object_store::path::Path;
use object_store::{BackoffConfig, ClientConfigKey, ObjectStore, ObjectStoreExt, RetryConfig};
use sha2::{Digest, Sha256};
use tokio::io::AsyncWriteExt;

/// The part size of a multipart upload. S3 accepts no smaller parts, and its maximum of 10,000 parts is more
/// than the largest archive needs.
const PART_BYTES: usize = 5 * 1024 * 1024;
/// This many parts, and the one that is being filled, are in memory.
const MAX_CONCURRENT_PARTS: usize = 2;
/// How many objects are looked up concurrently.
const MAX_CONCURRENT_LOOKUPS: usize = 32;
/// A body from which nothing arrives for this long times out.
const BODY_IDLE_TIMEOUT: Duration = Duration::from_secs(20);

/// After these timeouts S3 counts as unavailable. They are shorter than the deadline of a request.
/// `AWS_CONNECT_TIMEOUT` and similar variables override them.
const S3_TIMEOUTS: [(ClientConfigKey, &str); 3] = [
    (ClientConfigKey::ConnectTimeout, "3 seconds"),
    // Between two reads; a whole archive may take an hour.
    (ClientConfigKey::ReadTimeout, "20 seconds"),
    (ClientConfigKey::Timeout, "1 hour"),
];

/// The content of an object, piece by piece.
pub type ByteStream = BoxStream<'static, io::Result<Bytes>>;

/// What was stored of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredObject {
    pub bytes: u64,
    pub sha256: String,
}

#[derive(Debug, thiserror::Error)]
pub enum ObjectsError {
    /// According to PostgreSQL the object should exist.
    #[error("the object is not in the object store")]
    Missing(#[source] object_store::Error),
    #[error("the object store is not available")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A stream has more bytes than this maximum.
    #[error("the content has more than {0} bytes")]
    TooLarge(u64),
    #[error("nothing of the content arrived for {} s", .0.as_secs())]
    BodyIdle(Duration),
    #[error("the content was interrupted")]
    BodyInterrupted,
}

/// Why the object store can't be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("can't create the folder {0}")]
    Folder(String, #[source] io::Error),
    #[error("can't store objects in {0}")]
    Disk(String, #[source] object_store::Error),
    #[error("GREENROOM_OBJECTS: {0} is neither file:// nor s3://")]
    Address(String, #[source] object_store::Error),
}

/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct Objects(Arc<dyn ObjectStore>);

impl Objects {
    /// Opens the store at an address: `file:///var/lib/greenroom/objects`, or `s3://bucket` with the usual
    /// `AWS_…` variables.
    pub fn open(
        address: &str,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, OpenError> {
        if let Some(folder) = address.strip_prefix("file://") {
            // Other users of the machine must not read logs and artifacts.
            let mut builder = std::fs::DirBuilder::new();
            builder.recursive(true).mode(0o700);
            builder.create(folder).map_err(|error| OpenError::Folder(folder.to_owned(), error))?;
            let disk = object_store::local::LocalFileSystem::new_with_prefix(folder)
                .map_err(|error| OpenError::Disk(folder.to_owned(), error))?;
            return Ok(Self(Arc::new(disk.with_automatic_cleanup(true))));
        }
        let store =
            s3(address, variables).build().map_err(|error| OpenError::Address(address.to_owned(), error))?;
        Ok(Self(Arc::new(store)))
    }

    /// A store in memory, for tests.
    pub fn in_memory() -> Self {
        Self(Arc::new(object_store::memory::InMemory::new()))
    }

    /// Returns the names of all stored objects, for tests.
    pub async fn names(&self) -> Result<Vec<String>, ObjectsError> {
        let found = self.0.list(None).map_ok(|found| found.location.to_string());
        found.try_collect().await.map_err(unavailable)
    }

    pub async fn put(&self, name: &str, bytes: Bytes) -> Result<(), ObjectsError> {
        self.0.put(&Path::from(name), bytes.into()).await.map_err(unavailable)?;
        Ok(())
    }

    /// Stores a stream of at most `max_bytes`, part by part. The object exists only once all of it is stored.
    pub async fn put_stream(
        &self,
        name: &str,
        body: ByteStream,
        max_bytes: u64,
    ) -> Result<StoredObject, ObjectsError> {
        let mut upload = BufWriter::with_capacity(Arc::clone(&self.0), Path::from(name), PART_BYTES)
            .with_max_concurrency(MAX_CONCURRENT_PARTS);
        match write_body(&mut upload, body, max_bytes).await {
            Ok(written) => {
                upload.shutdown().await.map_err(unavailable)?;
                Ok(written)
            }
            Err(failure) => {
                // S3 stores the parts until the upload is aborted.
                if let Err(error) = upload.abort().await {
                    tracing::debug!(
                        error = &error as &dyn std::error::Error,
                        name,
                        "could not abort an upload"
                    );
                }
                Err(failure)
            }
        }
    }

    /// Returns those of `names` that are not stored.
    pub async fn missing<'a>(
        &self,
        names: impl Iterator<Item = &'a str>,
    ) -> Result<HashSet<String>, ObjectsError> {
        let looked_up = stream::iter(names.map(str::to_owned)).map(|name| async move {
            match self.0.head(&Path::from(name.as_str())).await {
                Ok(_) => Ok(None),
                Err(object_store::Error::NotFound { .. }) => Ok(Some(name)),
                Err(error) => Err(unavailable(error)),
            }
        });
        looked_up
            .buffer_unordered(MAX_CONCURRENT_LOOKUPS)
            .try_filter_map(|name| async { Ok(name) })
            .try_collect()
            .await
    }

    /// Returns a whole object as a stream.
    pub async fn stream(&self, name: &str) -> Result<ByteStream, ObjectsError> {
        let found = self.0.get(&Path::from(name)).await.map_err(unreadable)?;
        Ok(found.into_stream().map_err(io::Error::other).boxed())
    }

    pub async fn get(&self, name: &str, range: std::ops::Range<u64>) -> Result<Bytes, ObjectsError> {
        self.0.get_range(&Path::from(name), range).await.map_err(unreadable)
    }

    /// Removes an object. Idempotent. A name that ends in `/` removes all objects below it.
    pub async fn remove(&self, name: &str) -> Result<(), ObjectsError> {
        let below = match name.strip_suffix('/') {
            Some(folder) => self.0.list(Some(&Path::from(folder))).map_ok(|found| found.location).boxed(),
            None => stream::iter([Ok(Path::from(name))]).boxed(),
        };
        let mut removals = self.0.delete_stream(below);
        while let Some(removed) = removals.next().await {
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
    for (key, value) in S3_TIMEOUTS {
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

async fn write_body(
    upload: &mut BufWriter,
    mut body: ByteStream,
    max_bytes: u64,
) -> Result<StoredObject, ObjectsError> {
    let (mut hash, mut length) = (Sha256::new(), 0);
    loop {
        let idle = |_| ObjectsError::BodyIdle(BODY_IDLE_TIMEOUT);
        let Some(part) = tokio::time::timeout(BODY_IDLE_TIMEOUT, body.next()).await.map_err(idle)? else {
            break;
        };
        let part = part.map_err(|_| ObjectsError::BodyInterrupted)?;
        length += part.len() as u64;
        if length > max_bytes {
            return Err(ObjectsError::TooLarge(max_bytes));
        }
        hash.update(&part);
        upload.put(part).await.map_err(unavailable)?;
    }
    Ok(StoredObject { bytes: length, sha256: format!("{:x}", hash.finalize()) })
}

fn unreadable(error: object_store::Error) -> ObjectsError {
    match error {
        object_store::Error::NotFound { .. } => ObjectsError::Missing(error),
        error => unavailable(error),
    }
}

fn unavailable(error: impl std::error::Error + Send + Sync + 'static) -> ObjectsError {
    ObjectsError::Unavailable(Box::new(error))
}
