//! Where logs and artifacts are: one object store, on disk or S3.

use std::sync::Arc;

use anyhow::Context;
use bytes::Bytes;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};

use crate::app::failure::Failure;

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

    pub async fn get(&self, name: &str, range: std::ops::Range<u64>) -> Result<Bytes, Failure> {
        self.0.get_range(&Path::from(name), range).await.map_err(unavailable)
    }
}

fn unavailable(error: object_store::Error) -> Failure {
    Failure::new(
        crate::app::failure::Code::ObjectsUnavailable,
        "The server can't reach its store of logs and artifacts right now. Try again in a moment.",
    )
    .because(error)
}
