//! The content of a step, read from an archive and verified by its digest. The archive is not trusted: nothing of it is written before
//! all of it was checked.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use greenroom_domain::step::{
    FileMode, InvalidContent, InvalidPath, MAX_FILES, StepDigest, StepFile, StepPath, content_digest,
};
use tar::{Archive, EntryType};

const FOLDER_MODE: u32 = 0o755;
/// How much of a path is part of an error. It can be as long as the archive.
const MAX_SHOWN_CHARS: usize = 200;

/// Why an archive is not the content of a digest. The text is the predicate of a sentence about the archive.
#[derive(Debug, thiserror::Error)]
pub enum InvalidArchive {
    #[error("is not a readable tar archive: {0}")]
    Unreadable(#[from] io::Error),
    #[error("contains {path:?}, which is not a regular file")]
    NotAFile { path: String },
    #[error("contains {path:?} with the mode {mode:o}, and only 644 and 755 are allowed")]
    Mode { path: String, mode: u32 },
    #[error("contains the path {path:?}, which {reason}")]
    Path { path: String, reason: InvalidPath },
    #[error("contains more than {MAX_FILES} files")]
    TooManyFiles,
    #[error("can't be a step: {0}")]
    Content(#[from] InvalidContent),
    #[error("has the digest {actual}")]
    Digest { actual: StepDigest },
}

/// The files of a step whose digest was verified.
#[derive(Debug)]
pub struct StepContent {
    files: Vec<(StepFile, Vec<u8>)>,
}

impl StepContent {
    /// Reads an archive, and verifies that its files have this digest.
    pub fn verify(archive: &[u8], expected: &StepDigest) -> Result<Self, InvalidArchive> {
        let files = read(archive)?;
        let described: Vec<StepFile> = files.iter().map(|(file, _)| file.clone()).collect();
        let actual = content_digest(&described)?;
        if actual != *expected {
            return Err(InvalidArchive::Digest { actual });
        }
        Ok(StepContent { files })
    }

    /// Writes the files into a folder, which must not exist. Every user can read them: the step may run as another one.
    pub fn unpack(&self, folder: &Path) -> io::Result<()> {
        create_folder(folder)?;
        for (file, bytes) in &self.files {
            let mut parent = folder.to_owned();
            let mut names = file.path.split('/').peekable();
            while let Some(name) = names.next() {
                let path = parent.join(name);
                if names.peek().is_some() {
                    create_folder(&path).or_else(unless_exists)?;
                } else {
                    let mut target = OpenOptions::new().write(true).create_new(true).open(&path)?;
                    target.write_all(bytes)?;
                    target.set_permissions(fs::Permissions::from_mode(permissions(file.mode)))?;
                }
                parent = path;
            }
        }
        Ok(())
    }
}

fn read(archive: &[u8]) -> Result<Vec<(StepFile, Vec<u8>)>, InvalidArchive> {
    let mut files = Vec::new();
    for entry in Archive::new(archive).entries()? {
        let mut entry = entry?;
        if files.len() == MAX_FILES {
            return Err(InvalidArchive::TooManyFiles);
        }
        let path = entry.path_bytes().into_owned();
        let shown = || String::from_utf8_lossy(&path).chars().take(MAX_SHOWN_CHARS).collect();
        if entry.header().entry_type() != EntryType::Regular {
            return Err(InvalidArchive::NotAFile { path: shown() });
        }
        let checked =
            StepPath::from_bytes(&path).map_err(|reason| InvalidArchive::Path { path: shown(), reason })?;
        let mode = match entry.header().mode()? {
            0o644 => FileMode::Regular,
            0o755 => FileMode::Executable,
            mode => return Err(InvalidArchive::Mode { path: shown(), mode }),
        };
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes)?;
        files.push((StepFile::new(checked.as_str(), mode, &bytes), bytes));
    }
    Ok(files)
}

const fn permissions(mode: FileMode) -> u32 {
    match mode {
        FileMode::Regular => 0o644,
        FileMode::Executable => 0o755,
    }
}

/// Creates a folder that every user can read, independently of this process's umask.
fn create_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().create(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(FOLDER_MODE))
}

/// Ignores that a folder exists. It was created for another file of the same step: no path is a file and a folder.
fn unless_exists(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::AlreadyExists { Ok(()) } else { Err(error) }
}

#[cfg(test)]
#[path = "content_tests.rs"]
mod tests;
