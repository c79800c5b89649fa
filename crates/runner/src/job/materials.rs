//! What a job is given before its first step, and what it leaves after its last: inputs, caches, the artifact.

use std::collections::HashSet;
use std::path::PathBuf;

use greenroom_api_types::runner::{Artifact, Cache, Job};
use greenroom_client::JobClient;

use super::folders::JobFolder;
use super::lease::Lease;
use super::patience::{Unanswered, insist};
use crate::archive;

/// What went wrong, for people.
type Outcome<T> = Result<T, String>;

pub struct Materials<'a> {
    pub job: &'a Job,
    pub client: &'a JobClient,
    pub lease: &'a Lease,
    pub folder: &'a JobFolder,
}

impl Materials<'_> {
    /// What the stages before have left, unpacked into the workspace.
    pub async fn unpack_inputs(&self) -> Outcome<()> {
        for input in &self.job.inputs {
            self.unpack_input(input).await.map_err(|error| {
                format!("what the stage {} has left could not be had: {error}", input.stage)
            })?;
        }
        Ok(())
    }

    async fn unpack_input(&self, input: &Artifact) -> Outcome<()> {
        let file = self.folder.archive("input");
        let get = || self.client.get_artifact(&input.artifact_id, &file);
        let sha256 = insist(self.lease, "get artifact", get).await.map_err(|error| error.to_string())?;
        if !sha256.eq_ignore_ascii_case(&input.sha256) {
            return Err(format!("it should have the SHA-256 {}, and has {sha256}", input.sha256));
        }
        self.unpack(file).await
    }

    /// The keys that were found. A cache saves time and nothing hangs on it, so what goes wrong with one is only noted.
    pub async fn restore_caches(&self) -> HashSet<&str> {
        let mut found = HashSet::new();
        for cache in &self.job.caches {
            match self.restore_cache(cache).await {
                Ok(true) => {
                    found.insert(cache.key.as_str());
                }
                Ok(false) => {}
                Err(error) => tracing::warn!(cache = cache.key, error, "a cache could not be restored"),
            }
        }
        found
    }

    async fn restore_cache(&self, cache: &Cache) -> Outcome<bool> {
        let file = self.folder.archive("cache");
        let get = || self.client.get_cache(&cache.key, &file);
        let found = insist(self.lease, "get cache", get).await.map_err(|error| error.to_string())?;
        if found.is_some() {
            let (workspace, paths) = (self.folder.workspace(), cache.paths.clone());
            aside(move || {
                archive::unpack_within(&file, &workspace, &paths)?;
                std::fs::remove_file(file)
            })
            .await?;
        }
        Ok(found.is_some())
    }

    /// For the stages after this one.
    pub async fn keep_artifact(&self) -> Outcome<()> {
        if self.job.artifacts.is_empty() {
            return Ok(());
        }
        let kept = async {
            let file = self.pack("artifact", &self.job.artifacts).await?;
            let put = || self.client.put_artifact(&file);
            insist(self.lease, "put artifact", put).await.map_err(|error: Unanswered| error.to_string())
        };
        kept.await.map_err(|error| format!("the artifacts could not be kept: {error}"))
    }

    /// Those that were not there before.
    pub async fn save_caches(&self, found: &HashSet<&str>) {
        for cache in self.job.caches.iter().filter(|cache| !found.contains(cache.key.as_str())) {
            let saved = async {
                let file = self.pack("cache", &cache.paths).await?;
                let put = || self.client.put_cache(&cache.key, &file);
                insist(self.lease, "put cache", put).await.map_err(|error: Unanswered| error.to_string())
            };
            if let Err(error) = saved.await {
                tracing::warn!(cache = cache.key, error, "a cache could not be saved");
            }
        }
    }

    async fn unpack(&self, file: PathBuf) -> Outcome<()> {
        let workspace = self.folder.workspace();
        aside(move || {
            archive::unpack(&file, &workspace)?;
            std::fs::remove_file(file)
        })
        .await
    }

    async fn pack(&self, name: &str, paths: &[String]) -> Outcome<PathBuf> {
        let file = self.folder.archive(name);
        let (workspace, paths, into) = (self.folder.workspace(), paths.to_vec(), file.clone());
        aside(move || archive::pack(&workspace, &paths, &into)).await?;
        Ok(file)
    }
}

/// On a thread that may block.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> std::io::Result<T> + Send + 'static) -> Outcome<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    }
}
