//! Which images of the engine were pulled with a credential. They stay on this machine after the job, and a job
//! without the credential must not use them: for these the registry decides each time. The names are kept in a
//! file, because the images outlive the runner's process.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

const FILE: &str = "private-images";

#[derive(Debug)]
pub(super) struct PrivateImages {
    file: PathBuf,
    /// Names without tag and digest.
    repositories: Mutex<BTreeSet<String>>,
}

impl PrivateImages {
    pub(super) fn load(work_dir: &Path) -> io::Result<Self> {
        let file = work_dir.join(FILE);
        let known = match fs::read_to_string(&file) {
            Ok(text) => text.lines().map(str::to_owned).collect(),
            Err(error) if error.kind() == ErrorKind::NotFound => BTreeSet::new(),
            Err(error) => return Err(error),
        };
        Ok(PrivateImages { file, repositories: Mutex::new(known) })
    }

    pub(super) fn contains(&self, repository: &str) -> bool {
        self.repositories.lock().unwrap_or_else(PoisonError::into_inner).contains(repository)
    }

    /// Called before the image is pulled, so that a runner that is killed meanwhile does not forget it.
    pub(super) fn add(&self, repository: &str) -> io::Result<()> {
        let mut known = self.repositories.lock().unwrap_or_else(PoisonError::into_inner);
        if known.contains(repository) {
            return Ok(());
        }
        if let Some(folder) = self.file.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = OpenOptions::new().create(true).append(true).open(&self.file)?;
        file.write_all(format!("{repository}\n").as_bytes())?;
        file.sync_all()?;
        known.insert(repository.to_owned());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_images_are_known_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let work_dir = folder.path().join("work");
        let images = PrivateImages::load(&work_dir).unwrap();
        for repository in ["registry.test/team/app", "registry.test/team/app", "registry.test/b"] {
            images.add(repository).unwrap();
        }
        let again = PrivateImages::load(&work_dir).unwrap();
        assert!(again.contains("registry.test/team/app") && again.contains("registry.test/b"));
        assert!(!again.contains("registry.test/team"));
        assert_eq!(fs::read_to_string(work_dir.join(FILE)).unwrap().lines().count(), 2);
    }
}
