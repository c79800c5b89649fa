//! A job's folders, and the runner's: made for the job, removed after it, and at start-up whatever a former life has left.
//!
//! ```text
//! <work-dir>/lock                     held by the runner that works here
//! <work-dir>/jobs/<job>/workspace     what the steps share
//!                      /control       alive file and scripts
//!                      /output-<n>    what step n writes to $GREENROOM_OUTPUT
//!                      /<name>.tar    archives on their way
//!                      /home          for steps that run on this machine itself, made by their backend
//! ```

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::Instant;

use crate::backend::{ALIVE_FILE, Folders, OUTPUT_FILE};

/// How long what a former life has left may still write into a folder that is being removed.
const REMOVE_PATIENCE: Duration = Duration::from_secs(10);
const REMOVE_AGAIN: Duration = Duration::from_millis(100);

/// The runner's folder, for as long as this is held.
#[derive(Debug)]
pub struct WorkDir {
    path: PathBuf,
    _lock: File,
}

impl WorkDir {
    /// Fails if another runner works there: it would take this one's jobs for leftovers.
    pub fn take(path: &Path) -> io::Result<Self> {
        fs::create_dir_all(path)?;
        let path = path.canonicalize()?;
        if path.to_string_lossy().contains(':') {
            return Err(io::Error::other("the work folder's path must not contain a colon"));
        }
        let lock = File::create(path.join("lock"))?;
        match lock.try_lock() {
            Ok(()) => Ok(WorkDir { path, _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(io::Error::other("another runner works in this folder")),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    fn jobs(&self) -> PathBuf {
        self.path.join("jobs")
    }

    /// Removes what a former life has left.
    pub async fn sweep(&self) -> io::Result<()> {
        let jobs = self.jobs();
        remove(&jobs).await?;
        fs::create_dir_all(&jobs)?;
        // Keeps others on this machine out. A container gets its folders mounted, and does not come this way.
        fs::set_permissions(jobs, fs::Permissions::from_mode(0o700))
    }

    pub fn job(&self, job_id: &str) -> io::Result<JobFolder> {
        let sound = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
        if job_id.is_empty() || !job_id.chars().all(sound) {
            return Err(io::Error::other("the job's id is not one"));
        }
        let folder = JobFolder { path: self.jobs().join(job_id) };
        for part in [folder.workspace(), folder.control()] {
            fs::create_dir_all(part)?;
        }
        // A step under another user has to read this one, whatever this process's umask says.
        fs::set_permissions(folder.control(), fs::Permissions::from_mode(0o755))?;
        // No step can start without this file, so it is there before anything that might look for it.
        fs::write(folder.control().join(ALIVE_FILE), "0")?;
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

    /// Where an archive lies between the workspace and the server.
    pub fn archive(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}.tar"))
    }

    /// The step's script and its place for outputs.
    pub fn step(&self, number: usize, script: &str, owner: Option<(u32, u32)>) -> io::Result<Folders> {
        let name = format!("step-{number}.sh");
        let path = self.control().join(&name);
        fs::write(&path, script)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o644))?;
        let output = self.path.join(format!("output-{number}"));
        fs::create_dir_all(&output)?;
        fs::write(output.join(OUTPUT_FILE), "")?;
        if let Some(owner) = owner {
            give_away(&output, owner)?;
        }
        Ok(Folders {
            workspace: self.workspace(),
            control: self.control(),
            script: name,
            output,
            home: self.path.join("home"),
        })
    }

    /// Gives the workspace to the user whom the steps run as.
    pub async fn give_workspace(&self, owner: (u32, u32)) -> io::Result<()> {
        let workspace = self.workspace();
        tokio::task::spawn_blocking(move || give_away(&workspace, owner)).await.map_err(io::Error::other)?
    }

    pub async fn remove(&self) -> io::Result<()> {
        remove(&self.path).await
    }
}

/// Links are given away themselves, never what they point to.
fn give_away(path: &Path, owner: (u32, u32)) -> io::Result<()> {
    let found = fs::symlink_metadata(path)?;
    if (found.uid(), found.gid()) != owner {
        lchown(path, Some(owner.0), Some(owner.1))?;
    }
    if found.is_dir() {
        for entry in fs::read_dir(path)? {
            give_away(&entry?.path(), owner)?;
        }
    }
    Ok(())
}

/// Removes a folder and all in it, also if something still writes into it for a moment, and if a step has taken rights
/// from a folder of its own.
async fn remove(path: &Path) -> io::Result<()> {
    let until = Instant::now() + REMOVE_PATIENCE;
    loop {
        let target = path.to_owned();
        let removed = tokio::task::spawn_blocking(move || {
            fs::remove_dir_all(&target).or_else(|error| match error.kind() {
                ErrorKind::NotFound if !target.exists() => Ok(()),
                ErrorKind::PermissionDenied => {
                    open_up(&target);
                    fs::remove_dir_all(&target)
                }
                _ => Err(error),
            })
        });
        match removed.await.map_err(io::Error::other)? {
            Err(_) if Instant::now() < until => tokio::time::sleep(REMOVE_AGAIN).await,
            done => return done,
        }
    }
}

fn open_up(folder: &Path) {
    let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        open_up(&entry.path());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_one_runners() {
        let place = tempfile::tempdir().unwrap();
        let held = WorkDir::take(place.path()).unwrap();
        assert!(WorkDir::take(place.path()).is_err());
        drop(held);
        WorkDir::take(place.path()).unwrap();
    }

    #[tokio::test]
    async fn a_jobs_id_is_no_path() {
        let place = tempfile::tempdir().unwrap();
        let work = WorkDir::take(place.path()).unwrap();
        work.sweep().await.unwrap();
        for id in ["", "..", "a/b", "job_1/../../x", "job 1"] {
            assert!(work.job(id).is_err(), "{id}");
        }
    }

    #[tokio::test]
    async fn nothing_of_a_job_is_left() {
        let place = tempfile::tempdir().unwrap();
        let work = WorkDir::take(place.path()).unwrap();
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
