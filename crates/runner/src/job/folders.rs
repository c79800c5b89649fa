//! The folders of the runner and of its jobs. A job's folder is created for the job and removed after it;
//! folders that a previous process has left are removed at start-up.
//!
//! ```text
//! <work-dir>/lock                     locked by the runner that uses this folder
//! <work-dir>/alive                    written again and again while the runner works, for health checks
//! <work-dir>/greenroom-entry          the entrypoint, which is mounted into containers
//! <work-dir>/steps/<digest>.tar       archives of steps of registries, kept for other jobs
//! <work-dir>/jobs/<job>/workspace     shared by the steps
//!                      /control       liveness file and scripts
//!                      /output-<n>    with the file $GREENROOM_OUTPUT of step n
//!                      /registry-step-<n>   the files of step n, if it is one of a registry
//!                      /inputs-<n>.json     and its inputs
//!                      /<name>.tar    archives during their transfer
//!                      /home          for steps that run directly on this machine, created by their backend
//! ```

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::backend::{Folders, LIVENESS_FILE, OUTPUT_FILE, RegistryStepFiles, User};
use crate::step_archive::{StepArchives, StepContent};

/// How long processes may still write into a folder that is being removed, such as steps of a previous runner
/// process.
const REMOVE_TIMEOUT: Duration = Duration::from_secs(10);
const REMOVE_RETRY_DELAY: Duration = Duration::from_millis(100);

/// The runner's folder, locked until this is dropped.
#[derive(Debug)]
pub struct WorkDir {
    path: PathBuf,
    step_archives: Arc<StepArchives>,
    _lock: File,
}

impl WorkDir {
    /// Locks the folder. Fails if another runner uses it: each would remove the other's jobs as leftovers.
    pub fn take(path: &Path) -> io::Result<Self> {
        fs::create_dir_all(path)?;
        let path = path.canonicalize()?;
        if path.to_string_lossy().contains(':') {
            return Err(io::Error::other("the work folder's path must not contain a colon"));
        }
        let lock = File::create(path.join("lock"))?;
        match lock.try_lock() {
            Ok(()) => {
                let step_archives = Arc::new(StepArchives::new(path.join("steps")));
                Ok(WorkDir { path, step_archives, _lock: lock })
            }
            Err(TryLockError::WouldBlock) => Err(io::Error::other("another runner uses this folder")),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn step_archives(&self) -> &Arc<StepArchives> {
        &self.step_archives
    }

    fn jobs(&self) -> PathBuf {
        self.path.join("jobs")
    }

    /// Removes the folders that a previous process has left.
    pub async fn sweep(&self) -> io::Result<()> {
        self.step_archives.sweep()?;
        let jobs = self.jobs();
        remove(&jobs).await?;
        fs::create_dir_all(&jobs)?;
        // Keeps other users of this machine out. Containers are not affected: they get the folders mounted.
        fs::set_permissions(jobs, fs::Permissions::from_mode(0o700))
    }

    pub fn job(&self, job_id: &str) -> io::Result<JobFolder> {
        let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
        if job_id.is_empty() || !job_id.chars().all(is_allowed) {
            return Err(io::Error::other("the job's id is invalid"));
        }
        let folder = JobFolder { path: self.jobs().join(job_id) };
        for part in [folder.workspace(), folder.control()] {
            fs::create_dir_all(part)?;
        }
        // A step that runs as another user has to read this folder, independently of this process's umask.
        fs::set_permissions(folder.control(), fs::Permissions::from_mode(0o755))?;
        // No step can start without this file, so it is created before any entrypoint can read it.
        fs::write(folder.control().join(LIVENESS_FILE), "0")?;
        Ok(folder)
    }
}

#[derive(Clone, Debug)]
pub struct JobFolder {
    path: PathBuf,
}

impl JobFolder {
    pub fn workspace(&self) -> PathBuf {
        self.path.join("workspace")
    }

    pub fn control(&self) -> PathBuf {
        self.path.join("control")
    }

    /// The path of an archive during its transfer between workspace and server.
    pub fn archive(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}.tar"))
    }

    /// Unpacks the files of a step of a registry, and writes its inputs.
    pub fn registry_step(
        &self,
        number: usize,
        content: &StepContent,
        inputs: &serde_json::Value,
    ) -> io::Result<RegistryStepFiles> {
        let folder = self.path.join(format!("registry-step-{number}"));
        content.unpack(&folder)?;
        let file = self.path.join(format!("inputs-{number}.json"));
        fs::write(&file, inputs.to_string())?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o444))?;
        Ok(RegistryStepFiles { folder, inputs: file })
    }

    /// Creates the step's script and its output folder.
    pub fn step(
        &self,
        number: usize,
        script: &str,
        registry_step: Option<RegistryStepFiles>,
        owner: Option<User>,
    ) -> io::Result<Folders> {
        let name = format!("step-{number}.sh");
        let path = self.control().join(&name);
        fs::write(&path, script)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o644))?;
        let output = self.path.join(format!("output-{number}"));
        fs::create_dir_all(&output)?;
        fs::write(output.join(OUTPUT_FILE), "")?;
        if let Some(owner) = owner {
            change_owner(&output, owner)?;
        }
        Ok(Folders {
            workspace: self.workspace(),
            control: self.control(),
            script: name,
            output,
            home: self.path.join("home"),
            registry_step,
        })
    }

    /// Makes the steps' user the owner of the workspace.
    pub async fn change_workspace_owner(&self, owner: User) -> io::Result<()> {
        let workspace = self.workspace();
        tokio::task::spawn_blocking(move || change_owner(&workspace, owner))
            .await
            .map_err(io::Error::other)?
    }

    pub async fn remove(&self) -> io::Result<()> {
        remove(&self.path).await
    }
}

/// Changes the owner recursively. Links are not followed.
fn change_owner(path: &Path, owner: User) -> io::Result<()> {
    let found = fs::symlink_metadata(path)?;
    if (User { user: found.uid(), group: found.gid() }) != owner {
        lchown(path, Some(owner.user), Some(owner.group))?;
    }
    if found.is_dir() {
        for entry in fs::read_dir(path)? {
            change_owner(&entry?.path(), owner)?;
        }
    }
    Ok(())
}

/// Removes a folder and its content. Retries while a process still writes into it, and restores permissions
/// that a step has removed.
async fn remove(path: &Path) -> io::Result<()> {
    let deadline = Instant::now() + REMOVE_TIMEOUT;
    loop {
        let target = path.to_owned();
        let removed = tokio::task::spawn_blocking(move || {
            fs::remove_dir_all(&target).or_else(|error| match error.kind() {
                ErrorKind::NotFound if !target.exists() => Ok(()),
                ErrorKind::PermissionDenied => {
                    grant_access(&target);
                    fs::remove_dir_all(&target)
                }
                _ => Err(error),
            })
        });
        match removed.await.map_err(io::Error::other)? {
            Err(_) if Instant::now() < deadline => tokio::time::sleep(REMOVE_RETRY_DELAY).await,
            done => return done,
        }
    }
}

fn grant_access(folder: &Path) {
    let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        grant_access(&entry.path());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_at_most_one_runner() {
        let folder = tempfile::tempdir().unwrap();
        let held = WorkDir::take(folder.path()).unwrap();
        assert!(WorkDir::take(folder.path()).is_err());
        drop(held);
        WorkDir::take(folder.path()).unwrap();
    }

    #[tokio::test]
    async fn a_job_id_with_path_characters_is_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let work = WorkDir::take(folder.path()).unwrap();
        work.sweep().await.unwrap();
        for id in ["", "..", "a/b", "job_1/../../x", "job 1"] {
            assert!(work.job(id).is_err(), "{id}");
        }
    }

    #[tokio::test]
    async fn a_folder_without_permissions_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let work = WorkDir::take(folder.path()).unwrap();
        work.sweep().await.unwrap();
        let job = work.job("job_1").unwrap();
        let closed = job.workspace().join("closed");
        fs::create_dir(&closed).unwrap();
        fs::write(closed.join("file"), "x").unwrap();
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
        job.remove().await.unwrap();
        assert_eq!(fs::read_dir(work.jobs()).unwrap().count(), 0);
        job.remove().await.unwrap();
    }
}
