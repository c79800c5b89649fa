//! The folder for a step's values that are files, if the step runs directly on this machine. It is on a tmpfs, so
//! that secrets are never on a disk, and it is locked as long as the step's runner lives: a folder that is not
//! locked was left by a runner that was killed.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use nix::sys::statfs::{TMPFS_MAGIC, statfs};
use nix::unistd::geteuid;

use super::{BackendError, Result};

const TMPFS: &str = "/dev/shm";
const PREFIX: &str = "greenroom-";
/// The number of random hexadecimal digits after the prefix.
const RANDOM_DIGITS: usize = 32;
/// How often the folder is created again because another runner that has just started has removed it.
const MAX_ATTEMPTS: u32 = 5;

/// Returns a path that no other step uses.
pub(super) fn new_path() -> PathBuf {
    Path::new(TMPFS).join(format!("{PREFIX}{:0RANDOM_DIGITS$x}", rand::random::<u128>()))
}

pub(super) struct ValuesFolder {
    path: PathBuf,
    /// Not inherited by the step, so that it ends with this process.
    _lock: File,
}

impl ValuesFolder {
    /// Creates the folder for this user only. A folder that exists already may belong to another user.
    pub(super) fn create(path: &Path) -> Result<Self> {
        let failed = |error: io::Error| {
            BackendError::new(format!("could not create a folder for secrets in {TMPFS}"), error)
        };
        let found = statfs(TMPFS).map_err(|error| failed(error.into()))?;
        if found.filesystem_type() != TMPFS_MAGIC {
            return Err(failed(io::Error::other("it is not a tmpfs, so the secrets would be on a disk")));
        }
        for _ in 0..MAX_ATTEMPTS {
            DirBuilder::new().mode(0o700).create(path).map_err(failed)?;
            if let Some(lock) = lock(path).map_err(failed)? {
                return Ok(ValuesFolder { path: path.to_owned(), _lock: lock });
            }
            let _ = fs::remove_dir(path);
        }
        Err(failed(io::Error::other("another process removes it each time")))
    }

    pub(super) fn remove(self) -> Result<()> {
        match fs::remove_dir_all(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(BackendError::new("the step's secret files could not be removed", error))
            }
            _ => Ok(()),
        }
    }
}

/// Locks a folder. Returns `None` if another process has locked or removed it. Links are not followed.
fn lock(path: &Path) -> io::Result<Option<File>> {
    let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW;
    let folder = match OpenOptions::new().read(true).custom_flags(flags.bits()).open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        folder => folder?,
    };
    if folder.try_lock().is_err() {
        return Ok(None);
    }
    // Another process may have removed it between the opening and the lock.
    let (locked, present) = (folder.metadata()?, fs::symlink_metadata(path));
    Ok(present.is_ok_and(|present| present.ino() == locked.ino()).then_some(folder))
}

/// Removes the folders of runners that do not live any more. Errors are only logged: a folder that can't be
/// removed must not keep this runner from its work.
pub(super) fn sweep() {
    let Ok(entries) = fs::read_dir(TMPFS) else { return };
    for path in entries.flatten().map(|entry| entry.path()).filter(|path| is_own_name(path)) {
        match remove_abandoned(&path) {
            Ok(true) => {
                tracing::info!(path = %path.display(), "removed secrets that a killed runner has left")
            }
            Ok(false) => {}
            Err(error) => {
                tracing::warn!(%error, path = %path.display(), "could not remove secrets of a killed runner");
            }
        }
    }
}

fn is_own_name(path: &Path) -> bool {
    let random = path.file_name().and_then(|name| name.to_str()?.strip_prefix(PREFIX));
    random.is_some_and(|random| {
        random.len() == RANDOM_DIGITS && random.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// Returns whether the folder was removed.
fn remove_abandoned(path: &Path) -> io::Result<bool> {
    let found = fs::symlink_metadata(path)?;
    if !found.is_dir() || found.uid() != geteuid().as_raw() {
        return Ok(false);
    }
    let Some(_lock) = lock(path)? else { return Ok(false) };
    fs::remove_dir_all(path)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn the_folder_of_a_live_step_is_kept_and_that_of_a_dead_runner_is_removed() {
        let (live, dead) = (new_path(), new_path());
        let folder = ValuesFolder::create(&live).unwrap();
        fs::write(live.join("KEY"), "hunter22").unwrap();
        let abandoned = ValuesFolder::create(&dead).unwrap();
        fs::create_dir(dead.join("more")).unwrap();
        fs::write(dead.join("more/KEY"), "hunter22").unwrap();
        // The lock ends as with its process, and the folder stays.
        drop(abandoned);
        sweep();
        assert!(live.join("KEY").exists() && !dead.exists());
        folder.remove().unwrap();
        assert!(!live.exists());
    }

    #[test]
    fn only_folders_with_the_name_of_a_runners_folder_are_removed() {
        let target = tempfile::tempdir().unwrap();
        fs::write(target.path().join("file"), "x").unwrap();
        let (link, file) = (new_path(), new_path());
        symlink(target.path(), &link).unwrap();
        fs::write(&file, "x").unwrap();
        let other = Path::new(TMPFS).join(format!("{PREFIX}{}", std::process::id()));
        fs::create_dir(&other).unwrap();
        sweep();
        for path in [&link, &file, &other, &target.path().join("file")] {
            assert!(fs::symlink_metadata(path).is_ok(), "{}", path.display());
        }
        fs::remove_file(link).unwrap();
        fs::remove_file(file).unwrap();
        fs::remove_dir(other).unwrap();
    }

    #[test]
    fn a_folder_that_exists_is_not_used() {
        let path = new_path();
        let folder = ValuesFolder::create(&path).unwrap();
        assert!(ValuesFolder::create(&path).is_err());
        folder.remove().unwrap();
    }

    #[test]
    fn a_folder_that_was_removed_can_not_be_locked() {
        let path = new_path();
        assert!(lock(&path).unwrap().is_none());
        let folder = ValuesFolder::create(&path).unwrap();
        assert!(lock(&path).unwrap().is_none());
        fs::remove_dir(&path).unwrap();
        folder.remove().unwrap();
    }
}
