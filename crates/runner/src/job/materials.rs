//! Transfers before the first step and after the last: inputs, caches, the artifact.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use greenroom_api_types::runner::{Artifact, Cache, Job};
use greenroom_client::JobClient;

use super::folders::JobFolder;
use super::lease::Lease;
use super::retry::{RequestFailure, retry_while_leased};
use crate::archive::{self, Unpacker};

/// Errors of its methods are shown to users.
pub struct Materials<'a> {
    pub job: &'a Job,
    pub client: &'a JobClient,
    pub lease: &'a Lease,
    pub folder: &'a JobFolder,
}

impl Materials<'_> {
    /// Returns what unpacks into the workspace. What is there now counts as checked out.
    pub async fn unpacker(&self) -> Result<Arc<Unpacker>, String> {
        let workspace = self.folder.workspace();
        run_blocking(move || Unpacker::new(&workspace)).await.map(Arc::new)
    }

    /// Unpacks the artifacts of earlier stages into the workspace.
    pub async fn unpack_inputs(&self, unpacker: &Arc<Unpacker>) -> Result<(), String> {
        for input in &self.job.inputs {
            self.unpack_input(input, unpacker).await.map_err(|error| {
                format!("could not unpack the artifact of stage {}: {error}", input.stage)
            })?;
        }
        Ok(())
    }

    async fn unpack_input(&self, input: &Artifact, unpacker: &Arc<Unpacker>) -> Result<(), String> {
        let file = self.folder.archive("input");
        let get = || self.client.get_artifact(&input.artifact_id, &file);
        let sha256 =
            retry_while_leased(self.lease, "get artifact", get).await.map_err(|error| error.to_string())?;
        if !sha256.eq_ignore_ascii_case(&input.sha256) {
            return Err(format!("expected the SHA-256 {}, got {sha256}", input.sha256));
        }
        let (unpacker, paths) = (unpacker.clone(), input.paths.clone());
        run_blocking(move || {
            unpacker.artifact(&file, &paths)?;
            std::fs::remove_file(file)
        })
        .await
    }

    /// Restores caches and returns the keys that were found. Caches are an optimization, so failures are only
    /// logged.
    pub async fn restore_caches(&self, unpacker: &Arc<Unpacker>) -> HashSet<&str> {
        let mut found = HashSet::new();
        for cache in &self.job.caches {
            match self.restore_cache(cache, unpacker).await {
                Ok(true) => {
                    found.insert(cache.key.as_str());
                }
                Ok(false) => {}
                Err(error) => tracing::warn!(cache = cache.key, error, "a cache could not be restored"),
            }
        }
        found
    }

    async fn restore_cache(&self, cache: &Cache, unpacker: &Arc<Unpacker>) -> Result<bool, String> {
        let file = self.folder.archive("cache");
        let get = || self.client.get_cache(&cache.key, &file);
        let found =
            retry_while_leased(self.lease, "get cache", get).await.map_err(|error| error.to_string())?;
        if found.is_some() {
            let (unpacker, paths) = (unpacker.clone(), cache.paths.clone());
            run_blocking(move || {
                unpacker.cache(&file, &paths)?;
                std::fs::remove_file(file)
            })
            .await?;
        }
        Ok(found.is_some())
    }

    /// Packs and uploads the artifact for later stages.
    pub async fn keep_artifact(&self) -> Result<(), String> {
        if self.job.artifacts.is_empty() {
            return Ok(());
        }
        let kept = async {
            let file = self.pack("artifact", &self.job.artifacts).await?;
            let put = || self.client.put_artifact(&file);
            retry_while_leased(self.lease, "put artifact", put)
                .await
                .map_err(|error: RequestFailure| error.to_string())
        };
        kept.await.map_err(|error| format!("the artifacts could not be kept: {error}"))
    }

    /// Packs and uploads the caches that were not found.
    pub async fn save_caches(&self, found: &HashSet<&str>) {
        for cache in self.job.caches.iter().filter(|cache| !found.contains(cache.key.as_str())) {
            let saved = async {
                let file = self.pack("cache", &cache.paths).await?;
                let put = || self.client.put_cache(&cache.key, &file);
                retry_while_leased(self.lease, "put cache", put)
                    .await
                    .map_err(|error: RequestFailure| error.to_string())
            };
            if let Err(error) = saved.await {
                tracing::warn!(cache = cache.key, error, "a cache could not be saved");
            }
        }
    }

    async fn pack(&self, name: &str, paths: &[String]) -> Result<PathBuf, String> {
        let file = self.folder.archive(name);
        let (workspace, paths, into) = (self.folder.workspace(), paths.to_vec(), file.clone());
        run_blocking(move || archive::pack(&workspace, &paths, &into)).await?;
        Ok(file)
    }
}

/// Runs blocking work on a separate thread.
async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> Result<T, String> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    }
}
