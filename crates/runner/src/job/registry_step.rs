//! Steps of registries: fetches the files of a step by their digest, verifies them, and unpacks them into the job's folder.

use std::io;
use std::sync::Arc;

use greenroom_api_types::runner::{JobRegistryStep, JobStep, PermanentFailure};
use greenroom_domain::step::StepDigest;

use super::error::JobError;
use super::retry::retry_while_leased;
use super::step::StepOutcome;
use super::work::Work;
use crate::backend::{Backend, RegistryStepFiles};
use crate::step_archive::{HeldArchives, InvalidArchive, StepArchives, StepContent};

impl<B: Backend> Work<'_, B> {
    fn registry_steps(&self) -> impl Iterator<Item = &JobRegistryStep> {
        self.job.steps.iter().filter_map(|step| step.registry_step.as_ref())
    }

    /// Keeps the archives of the job's steps until the result is dropped.
    pub(super) fn hold_step_archives(&self) -> HeldArchives<'_> {
        self.step_archives.hold(self.registry_steps().filter_map(|step| step.digest.parse().ok()))
    }

    /// Fetches the archives that are not kept on this machine, so that nothing of a job runs if one of them is wrong.
    pub(super) async fn fetch_registry_steps(&self) -> Result<(), JobError> {
        for step in self.registry_steps() {
            self.content(step).await?;
        }
        Ok(())
    }

    /// Verifies the files of a step once more, and unpacks them: a step before it may have changed what is kept. Returns `None`
    /// if the step is not one of a registry.
    pub(super) async fn prepare_registry_step(
        &self,
        number: usize,
        step: &JobStep,
    ) -> Result<Option<RegistryStepFiles>, StepOutcome> {
        let Some(registry_step) = &step.registry_step else { return Ok(None) };
        let prepare = async {
            let content = self.content(registry_step).await?;
            let (folder, inputs) = (self.folder.clone(), registry_step.inputs.clone());
            let unpacked = run_blocking(move || folder.registry_step(number, &content, &inputs)).await;
            unpacked.flatten().map_err(|error| failed(registry_step, "could not be unpacked", &error))
        };
        tokio::select! {
            biased;
            () = self.lease.ended() => Err(StepOutcome::LeaseEnded),
            files = prepare => files.map(Some).map_err(StepOutcome::Failed),
            _ = self.lease.canceled() => Err(StepOutcome::Ended),
            () = tokio::time::sleep_until(self.deadline) => Err(StepOutcome::TimedOut),
        }
    }

    /// Returns the verified files of a step.
    async fn content(&self, step: &JobRegistryStep) -> Result<StepContent, JobError> {
        let digest: StepDigest =
            step.digest.parse().map_err(|error| failed(step, "has an invalid digest, which", &error))?;
        let not_read = |error| failed(step, "could not be read", &error);
        let (archives, wanted) = (Arc::clone(self.step_archives), digest.clone());
        let kept = run_blocking(move || archives.read(&wanted)).await;
        if let Some(content) = kept.map_err(not_read)? {
            return Ok(content);
        }
        let fetch = || self.client.get_step(digest.as_str());
        let archive = retry_while_leased(self.lease, "archive of a step", fetch).await;
        let archive = archive.map_err(|error| failed(step, "could not be fetched", &error))?;
        let (archives, wanted) = (Arc::clone(self.step_archives), digest.clone());
        let verified = run_blocking(move || verify_and_keep(&archives, &wanted, &archive)).await;
        verified.map_err(not_read)?.map_err(|error| JobError {
            failure: Some(PermanentFailure::StepDigestMismatch),
            message: format!(
                "the archive of the step `{}` (version {}) is not the content of {digest}: it {error}",
                step.uses, step.version
            ),
        })
    }
}

/// An archive that can't be kept is fetched again for the next job.
fn verify_and_keep(
    archives: &StepArchives,
    digest: &StepDigest,
    archive: &[u8],
) -> Result<StepContent, InvalidArchive> {
    let content = StepContent::verify(archive, digest)?;
    if let Err(error) = archives.keep(digest, archive) {
        tracing::warn!(%error, %digest, "could not keep the archive of a step");
    }
    Ok(content)
}

/// Runs blocking work on a separate thread.
async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)
}

fn failed(step: &JobRegistryStep, what: &str, error: &dyn std::fmt::Display) -> JobError {
    JobError::from(format!("the step `{}` {what}: {error}", step.uses))
}
