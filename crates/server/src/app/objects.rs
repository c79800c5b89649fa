//! Where logs and artifacts are: one object store, on disk or S3.

use std::sync::Arc;

use anyhow::Context;
use axum::body::Body;
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::buffered::BufWriter;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use sha2::{Digest, Sha256};
use tokio::io::AsyncWriteExt;

use crate::app::failure::{Code, Failure};

/// How much of a stream is in memory.
const PART: usize = 8 * 1024 * 1024;

/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct Objects(Arc<dyn ObjectStore>);

impl Objects {
    /// By address: `file:///var/lib/greenroom/objects`, or `s3://bucket` with the usual `AWS_…` in the environment.
    pub fn open(address: &str) -> anyhow::Result<Self> {
        if let Some(folder) = address.strip_prefix("file://") {
            std::fs::create_dir_all(folder).with_context(|| format!("can't make the folder {folder}"))?;
            let disk = object_store::local::LocalFileSystem::new_with_prefix(folder)
                .with_context(|| format!("can't keep objects in {folder}"))?;
            return Ok(Self(Arc::new(disk)));
        }
        let store = object_store::aws::AmazonS3Builder::from_env()
            .with_url(address)
            .build()
            .with_context(|| format!("GREENROOM_OBJECTS: {address} is neither file:// nor s3://"))?;
        Ok(Self(Arc::new(store)))
    }

    /// Gone with the process: for tests.
    pub fn in_memory() -> Self {
        Self(Arc::new(object_store::memory::InMemory::new()))
    }

    pub async fn put(&self, name: &str, bytes: Bytes) -> Result<(), Failure> {
        self.0.put(&Path::from(name), bytes.into()).await.map_err(unavailable)?;
        Ok(())
    }

    /// Takes a stream in, part by part; says how long it was, and its SHA-256. Nothing is there before all of it is.
    pub async fn put_stream(&self, name: &str, body: Body, most: u64) -> Result<(u64, String), Failure> {
        let mut upload = BufWriter::with_capacity(Arc::clone(&self.0), Path::from(name), PART);
        let (mut stream, mut hash, mut length) = (body.into_data_stream(), Sha256::new(), 0);
        while let Some(part) = stream.next().await {
            let part = part
                .map_err(|error| Failure::new(Code::RequestTimeout, "The body broke off.").because(error))?;
            length += part.len() as u64;
            if length > most {
                let detail = format!("An artifact may have {most} bytes at most.");
                return Err(Failure::new(Code::BodyTooLarge, detail));
            }
            hash.update(&part);
            upload.put(part).await.map_err(unavailable)?;
        }
        upload.shutdown().await.map_err(Failure::internal)?;
        Ok((length, format!("{:x}", hash.finalize())))
    }

    /// All of an object, part by part.
    pub async fn stream(&self, name: &str) -> Result<Body, Failure> {
        let found = self.0.get(&Path::from(name)).await.map_err(unavailable)?;
        Ok(Body::from_stream(found.into_stream()))
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

    pub async fn get(&self, name: &str, range: std::ops::Range<u64>) -> Result<Bytes, Failure> {
        self.0.get_range(&Path::from(name), range).await.map_err(unavailable)
    }
}

fn unavailable(error: object_store::Error) -> Failure {
    Failure::new(
        Code::ObjectsUnavailable,
        "The server can't reach its store of logs and artifacts right now. Try again in a moment.",
    )
    .because(error)
}
