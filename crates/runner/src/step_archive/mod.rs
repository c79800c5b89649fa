//! Archives of steps of registries, kept in the runner's work folder by their digest: `steps/<64 digits>.tar`.
//!
//! A kept archive is verified whenever it is used: with the `process` backend a step runs as the runner's own user and may have
//! changed it. One that is not the content of its digest is removed. The files of a step are unpacked from what was verified in memory,
//! into the folder of the job that uses them; so nothing depends on a kept archive once a step was prepared.

mod content;

use std::collections::HashMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use greenroom_api_types::runner::MAX_STEP_ARCHIVE_BYTES;
use greenroom_domain::step::StepDigest;
use nix::fcntl::OFlag;
use nix::sys::stat::futimens;
use nix::sys::time::TimeSpec;

pub use self::content::{InvalidArchive, StepContent};

/// The size of all kept archives together.
const MAX_KEPT_BYTES: u64 = 256 * 1024 * 1024;
const EXTENSION: &str = "tar";

#[derive(Debug)]
pub struct StepArchives {
    folder: PathBuf,
    max_bytes: u64,
    /// The archives that running jobs use, with the number of these jobs. They are not removed.
    held: Mutex<HashMap<StepDigest, usize>>,
}

impl StepArchives {
    pub fn new(folder: PathBuf) -> Self {
        StepArchives { folder, max_bytes: MAX_KEPT_BYTES, held: Mutex::default() }
    }

    /// Creates the folder, and removes files that a killed process has left half written.
    pub fn sweep(&self) -> io::Result<()> {
        match DirBuilder::new().mode(0o700).create(&self.folder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            if path.extension().is_none_or(|extension| extension != EXTENSION) {
                remove(&path)?;
            }
        }
        Ok(())
    }

    /// Keeps these archives until the result is dropped.
    pub fn hold(&self, digests: impl IntoIterator<Item = StepDigest>) -> HeldArchives<'_> {
        let digests: Vec<StepDigest> = digests.into_iter().collect();
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        for digest in &digests {
            *held.entry(digest.clone()).or_default() += 1;
        }
        HeldArchives { archives: self, digests }
    }

    /// Returns the content of a kept archive. Returns `None` if there is none, or if it was damaged.
    pub fn read(&self, digest: &StepDigest) -> Option<StepContent> {
        let path = self.path(digest);
        let read = read_file(&path).map_err(InvalidArchive::from);
        match read.and_then(|archive| StepContent::verify(&archive, digest)) {
            Ok(content) => return Some(content),
            Err(InvalidArchive::Unreadable(error)) if error.kind() == ErrorKind::NotFound => return None,
            Err(error) => {
                tracing::warn!(%error, %digest, "a kept archive of a step was damaged; it is fetched again");
            }
        }
        if let Err(error) = remove(&path) {
            tracing::warn!(%error, %digest, "could not remove a damaged archive of a step");
        }
        None
    }

    /// Keeps a verified archive, and removes the least recently used ones if there are too many.
    pub fn keep(&self, digest: &StepDigest, archive: &[u8]) -> io::Result<()> {
        let unfinished = self.folder.join(format!("{:032x}.unfinished", rand::random::<u128>()));
        let kept = fs::write(&unfinished, archive).and_then(|()| fs::rename(&unfinished, self.path(digest)));
        if kept.is_err() {
            let _ = fs::remove_file(&unfinished);
        }
        kept.and_then(|()| self.remove_unused(digest))
    }

    /// Removes archives that no job uses, the least recently used ones first.
    fn remove_unused(&self, newest: &StepDigest) -> io::Result<()> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let is_used = |path: &Path| held.keys().chain([newest]).any(|digest| self.path(digest) == path);
        let mut found: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            // Another job may have removed it since.
            let Ok(metadata) = entry.metadata() else { continue };
            found.push((metadata.modified()?, metadata.len(), entry.path()));
        }
        found.sort();
        let mut kept: u64 = found.iter().map(|(_, bytes, _)| bytes).sum();
        for (_, bytes, path) in found {
            if kept <= self.max_bytes {
                break;
            }
            if path.extension().is_some_and(|extension| extension == EXTENSION) && !is_used(&path) {
                remove(&path)?;
                kept -= bytes;
            }
        }
        Ok(())
    }

    fn path(&self, digest: &StepDigest) -> PathBuf {
        let digits = digest.as_str().rsplit(':').next().unwrap_or_default();
        self.folder.join(format!("{digits}.{EXTENSION}"))
    }
}

/// Archives that a running job uses.
#[derive(Debug)]
pub struct HeldArchives<'a> {
    archives: &'a StepArchives,
    digests: Vec<StepDigest>,
}

impl Drop for HeldArchives<'_> {
    fn drop(&mut self) {
        let mut held = self.archives.held.lock().unwrap_or_else(PoisonError::into_inner);
        for digest in &self.digests {
            if let Some(jobs) = held.get_mut(digest) {
                *jobs -= 1;
            }
        }
        held.retain(|_, jobs| *jobs > 0);
    }
}

/// Reads a kept archive, and marks it as used now. It may have been replaced by anything: links are not followed, and a pipe does not
/// block.
fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut archive = Vec::new();
    Read::by_ref(&mut &file).take(MAX_STEP_ARCHIVE_BYTES + 1).read_to_end(&mut archive)?;
    if archive.len() as u64 > MAX_STEP_ARCHIVE_BYTES {
        return Err(io::Error::other("it is too large"));
    }
    mark_as_used(&file)?;
    Ok(archive)
}

fn mark_as_used(file: &File) -> io::Result<()> {
    Ok(futimens(file, &TimeSpec::UTIME_NOW, &TimeSpec::UTIME_NOW)?)
}

fn remove(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
#[path = "archives_tests.rs"]
mod tests;
