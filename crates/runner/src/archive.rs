//! Archives of workspace files: artifacts that stages pass on, and caches. Neither packing nor unpacking
//! leaves the workspace, although a step may have created links that lead out of it, and neither of them touches
//! the repository's own folder.

mod unpack;

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};

use tar::Builder;

pub use self::unpack::Unpacker;

/// Git's own folder. Everybody who writes into it decides what the next git command runs.
const GIT: &str = ".git";
/// The server's limit.
const MAX_ARCHIVE_BYTES: u64 = 10 << 30;
const HEADER_BYTES: u64 = 512;

/// Packs files and folders of the workspace. A missing one is an error, because a later stage depends on it.
pub fn pack(workspace: &Path, paths: &[String], into: &Path) -> io::Result<()> {
    let workspace = workspace.canonicalize()?;
    let mut builder = Builder::new(io::BufWriter::new(File::create(into)?));
    builder.follow_symlinks(false);
    // Holes are written as zeros, because `Unpacker` does not support sparse entries.
    builder.sparse(false);
    let mut remaining = MAX_ARCHIVE_BYTES;
    for path in paths {
        let inner = inner_path(path)?;
        if inner.starts_with(GIT) {
            return Err(io::Error::other(format!("`{path}` belongs to git, and can't be kept")));
        }
        let outer = workspace.join(&inner);
        // The last component may be a link, which is packed as a link. The folders above it must not lead
        // out.
        let parent = workspace.join(inner.parent().unwrap_or(Path::new("")));
        let parent = parent.canonicalize().map_err(|error| add_path(path, &error))?;
        if !parent.starts_with(&workspace) {
            return Err(io::Error::other(format!("`{path}` is outside of the workspace")));
        }
        measure(&outer, &inner, &mut remaining).map_err(|error| add_path(path, &error))?;
        add(&mut builder, &outer, &inner).map_err(|error| add_path(path, &error))?;
    }
    builder.into_inner()?.into_inner().map_err(|error| error.into_error())?.sync_data()
}

/// Subtracts the archived size of a file or folder from the remaining bytes. A sparse file counts with its
/// holes, so that one of a terabyte is rejected before it fills the disk.
fn measure(outer: &Path, inner: &Path, remaining: &mut u64) -> io::Result<()> {
    let found = fs::symlink_metadata(outer)?;
    let length = if found.is_file() { found.len() } else { 0 };
    let left = remaining.checked_sub(length.saturating_add(HEADER_BYTES));
    *remaining = left.ok_or_else(|| {
        io::Error::other(format!("an archive may have at most {} GiB", MAX_ARCHIVE_BYTES >> 30))
    })?;
    if found.is_dir() {
        for name in names(outer, inner)? {
            measure(&outer.join(&name), &inner.join(&name), remaining)?;
        }
    }
    Ok(())
}

/// Adds a file or folder. Entries are sorted by name, so that the same files make the same archive. Sockets,
/// pipes and devices are skipped, because they mean nothing on another machine.
fn add<W: io::Write>(builder: &mut Builder<W>, outer: &Path, inner: &Path) -> io::Result<()> {
    let kind = fs::symlink_metadata(outer)?.file_type();
    if kind.is_dir() {
        if !inner.as_os_str().is_empty() {
            builder.append_path_with_name(outer, inner)?;
        }
        for name in names(outer, inner)? {
            add(builder, &outer.join(&name), &inner.join(&name))?;
        }
    } else if kind.is_file() || kind.is_symlink() {
        builder.append_path_with_name(outer, inner)?;
    }
    Ok(())
}

/// Returns what is in a folder of the workspace, sorted, without git's own folder.
fn names(outer: &Path, inner: &Path) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(outer)? {
        names.push(entry?.file_name());
    }
    names.retain(|name| !inner.as_os_str().is_empty() || name != GIT);
    names.sort();
    Ok(names)
}

/// Parses a path of a pipeline's definition.
fn inner_path(path: &str) -> io::Result<PathBuf> {
    relative(Path::new(path)).ok_or_else(|| io::Error::other(format!("`{path}` is outside of the workspace")))
}

/// Removes `.` components. Returns `None` if the path is absolute or contains `..`.
fn relative(path: &Path) -> Option<PathBuf> {
    let mut inner = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => inner.push(name),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(inner)
}

fn add_path(path: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("`{path}`: {error}"))
}

#[cfg(test)]
#[path = "archive_tests.rs"]
mod tests;
