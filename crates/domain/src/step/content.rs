//! The content of a step: its files, and the digest by which it is locked, fetched and verified.
//!
//! The digest is the SHA-256 of one line per file, `mode path sha256` and a newline, with single spaces. `mode` is git's,
//! `100644` or `100755`; `path` starts at the step's folder; `sha256` is that of the file's bytes, in 64 hexadecimal
//! digits. The lines are sorted by their bytes. In the folder of a step:
//!
//! ```sh
//! find . -type f -printf '%P\n' | while read -r path; do
//!   test -x "$path" && mode=100755 || mode=100644
//!   echo "$mode $path $(sha256sum < "$path" | cut -c 1-64)"
//! done | LC_ALL=C sort | sha256sum
//! ```
//!
//! Names and times of commits, authors and git's own object ids are not part of it.

use std::collections::BTreeSet;
use std::fmt;

use sha2::{Digest, Sha256};

use super::path::{InvalidPath, StepPath};
use crate::digest::StepDigest;

/// The file that makes a folder a step.
pub const MANIFEST_PATH: &str = "step.yaml";
pub const MAX_FILES: usize = 256;
pub const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// The mode of a file. Links and submodules have other modes in git, and can't be part of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileMode {
    Regular,
    Executable,
}

crate::text_enum::text_enum!(FileMode { Regular = "100644", Executable = "100755" });

/// A file of a step. Its path is checked together with those of the other files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepFile {
    pub path: String,
    pub mode: FileMode,
    pub bytes: u64,
    pub sha256: [u8; 32],
}

impl StepFile {
    pub fn new(path: &str, mode: FileMode, content: &[u8]) -> Self {
        Self {
            path: path.to_owned(),
            mode,
            bytes: u64::try_from(content.len()).unwrap_or(u64::MAX),
            sha256: Sha256::digest(content).into(),
        }
    }
}

/// Why files can't be the content of a step.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidContent {
    #[error("the step has no `{MANIFEST_PATH}`: add it to the step's folder")]
    NoManifest,
    #[error(
        "the step has {0} files, and {MAX_FILES} is the most: move files that it does not need out of its folder"
    )]
    TooManyFiles(usize),
    #[error(
        "the step has {0} bytes, and {MAX_BYTES} (8 MiB) is the most: put large files into the image or fetch them in `run`"
    )]
    TooLarge(u64),
    #[error("the path {} {reason}: rename the file", quoted(path))]
    Path { path: String, reason: InvalidPath },
    #[error(
        "the paths {} and {} are the same where upper and lower case do not differ: rename one of them",
        quoted(one),
        quoted(other)
    )]
    SamePath { one: String, other: String },
    #[error("the path {} is a file and a folder: rename one of them", quoted(path))]
    FileAndFolder { path: String },
}

/// The path is of a stranger, and terminals print it.
fn quoted(path: &str) -> impl fmt::Display {
    crate::definition::quote(path)
}

/// Checks the files of a step and returns their digest: that of [`content_lines`].
pub fn content_digest(files: &[StepFile]) -> Result<StepDigest, InvalidContent> {
    Ok(StepDigest::of(content_lines(files)?.as_bytes()))
}

/// Checks the files of a step and returns a line for each, sorted: mode, path and SHA-256. The order of the files does not
/// matter.
pub fn content_lines(files: &[StepFile]) -> Result<String, InvalidContent> {
    if files.len() > MAX_FILES {
        return Err(InvalidContent::TooManyFiles(files.len()));
    }
    let bytes = files.iter().fold(0_u64, |sum, file| sum.saturating_add(file.bytes));
    if bytes > MAX_BYTES {
        return Err(InvalidContent::TooLarge(bytes));
    }
    let mut lines = BTreeSet::new();
    for file in files {
        let invalid = |reason| InvalidContent::Path { path: file.path.clone(), reason };
        let path = StepPath::new(&file.path).map_err(invalid)?;
        lines.insert(line(file.mode, &path, &file.sha256));
    }
    check_unique(files)?;
    if !files.iter().any(|file| file.path == MANIFEST_PATH) {
        return Err(InvalidContent::NoManifest);
    }
    Ok(lines.into_iter().collect())
}

fn line(mode: FileMode, path: &StepPath, sha256: &[u8; 32]) -> String {
    let mut line = format!("{mode} {path} ");
    for byte in sha256 {
        line.push_str(&format!("{byte:02x}"));
    }
    line.push('\n');
    line
}

/// Checks that no file would replace another one, nor a folder, on any file system.
fn check_unique(files: &[StepFile]) -> Result<(), InvalidContent> {
    let mut paths: Vec<(String, &str)> =
        files.iter().map(|file| (file.path.to_lowercase(), file.path.as_str())).collect();
    paths.sort();
    for pair in paths.windows(2) {
        if let [(one_folded, one), (other_folded, other)] = pair
            && one_folded == other_folded
        {
            return Err(InvalidContent::SamePath { one: (*one).to_owned(), other: (*other).to_owned() });
        }
    }
    let folders: BTreeSet<&str> = paths
        .iter()
        .flat_map(|(path, _)| path.match_indices('/').filter_map(|(end, _)| path.get(..end)))
        .collect();
    match paths.iter().find(|(folded, _)| folders.contains(folded.as_str())) {
        Some((_, path)) => Err(InvalidContent::FileAndFolder { path: (*path).to_owned() }),
        None => Ok(()),
    }
}

#[cfg(test)]
#[path = "content_tests.rs"]
mod tests;
