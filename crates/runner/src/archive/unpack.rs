//! Unpacks what other jobs have packed. They may be less trusted than the job that unpacks it, so an archive adds only
//! files below the paths that the definition gives, and changes nothing that was checked out.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use tar::{Archive, Entry, EntryType};

use super::{GIT, inner_path, names, relative};

type ArchiveEntry<'a> = Entry<'a, io::BufReader<File>>;

/// Unpacks archives into a workspace.
pub struct Unpacker {
    workspace: PathBuf,
    /// The files and links of the checkout, by their paths in the workspace.
    checkout: HashSet<PathBuf>,
}

/// What happens with an entry that would change a file of the checkout.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Refused,
    Skipped,
}

impl Unpacker {
    /// Everything that is in the workspace now counts as checked out.
    pub fn new(workspace: &Path) -> io::Result<Self> {
        let mut checkout = HashSet::new();
        list(workspace, Path::new(""), &mut checkout)?;
        Ok(Self { workspace: workspace.to_owned(), checkout })
    }

    /// Unpacks an artifact. `paths` are those that its stage declares. Fails if an entry is not below one of them, or
    /// would change a file of the checkout that is not itself one of them.
    pub fn artifact(&self, archive: &Path, paths: &[String]) -> io::Result<()> {
        self.unpack(archive, paths, Change::Refused)
    }

    /// Unpacks a cache, of which the files of the checkout are left out: they may have changed since it was kept. Fails
    /// if an entry is not below one of its paths.
    pub fn cache(&self, archive: &Path, paths: &[String]) -> io::Result<()> {
        self.unpack(archive, paths, Change::Skipped)
    }

    fn unpack(&self, archive: &Path, paths: &[String], change: Change) -> io::Result<()> {
        let paths = paths.iter().map(|path| inner_path(path)).collect::<io::Result<Vec<_>>>()?;
        let mut archive = Archive::new(io::BufReader::new(File::open(archive)?));
        // The user ids of the machine that packed the archive mean nothing here.
        archive.set_preserve_ownerships(false);
        archive.set_overwrite(true);
        for entry in archive.entries()? {
            let mut entry = entry?;
            let path = entry.path()?.into_owned();
            let inner = relative(&path).filter(|_| is_supported(&entry));
            let Some(inner) = inner.filter(|inner| is_below(&paths, inner)) else {
                return Err(not_allowed(&path));
            };
            if self.leads_through_link(&inner)? || !self.may_link(&entry, &paths)? {
                return Err(not_allowed(&path));
            }
            if self.checkout.contains(&inner) && !paths.contains(&inner) {
                match change {
                    Change::Skipped => continue,
                    Change::Refused if is_same(&mut entry, &self.workspace.join(&inner))? => continue,
                    Change::Refused => return Err(changes_checkout(&path)),
                }
            }
            // The library rejects entries that would be written or linked through a link that leads out.
            if !entry.unpack_in(&self.workspace)? {
                return Err(io::Error::other(format!("`{}` would leave the workspace", path.display())));
            }
        }
        Ok(())
    }

    /// Returns whether a folder above a path in the workspace is a link.
    fn leads_through_link(&self, inner: &Path) -> io::Result<bool> {
        let above = inner.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
        for folder in above {
            match fs::symlink_metadata(self.workspace.join(folder)) {
                Ok(found) if found.is_symlink() => return Ok(true),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Returns whether an entry is no hard link, or one to a file that was unpacked: writing to a hard link changes the
    /// file that it names.
    fn may_link(&self, entry: &ArchiveEntry<'_>, paths: &[PathBuf]) -> io::Result<bool> {
        let Some(target) = entry.link_name()?.filter(|_| entry.header().entry_type() == EntryType::Link)
        else {
            return Ok(true);
        };
        let Some(target) = relative(&target) else { return Ok(false) };
        let is_unpacked = is_below(paths, &target) && !self.checkout.contains(&target);
        Ok(is_unpacked && !self.leads_through_link(&target)?)
    }
}

/// Adds the files and links of a folder to a set.
fn list(folder: &Path, inner: &Path, files: &mut HashSet<PathBuf>) -> io::Result<()> {
    for name in names(folder, inner)? {
        let (outer, inner) = (folder.join(&name), inner.join(&name));
        if fs::symlink_metadata(&outer)?.is_dir() {
            list(&outer, &inner, files)?;
        } else {
            files.insert(inner);
        }
    }
    Ok(())
}

fn is_supported(entry: &ArchiveEntry<'_>) -> bool {
    let kind = entry.header().entry_type();
    matches!(kind, EntryType::Regular | EntryType::Directory | EntryType::Symlink | EntryType::Link)
}

/// Returns whether a path in the workspace is one of these paths or below one, and not git's own.
fn is_below(paths: &[PathBuf], inner: &Path) -> bool {
    !inner.starts_with(GIT) && paths.iter().any(|path| inner.starts_with(path))
}

/// Returns whether a file or link has the content of an entry.
fn is_same(entry: &mut ArchiveEntry<'_>, existing: &Path) -> io::Result<bool> {
    let found = fs::symlink_metadata(existing)?;
    match entry.header().entry_type() {
        EntryType::Regular if found.is_file() && found.len() == entry.size() => {
            has_content(&mut File::open(existing)?, entry)
        }
        EntryType::Symlink if found.is_symlink() => {
            Ok(entry.link_name()?.as_deref() == Some(fs::read_link(existing)?.as_path()))
        }
        _ => Ok(false),
    }
}

fn has_content(file: &mut File, expected: &mut impl Read) -> io::Result<bool> {
    let (mut read, mut own) = ([0; 8192], [0; 8192]);
    loop {
        let length = expected.read(&mut read)?;
        if length == 0 {
            return Ok(true);
        }
        file.read_exact(&mut own[..length])?;
        if read[..length] != own[..length] {
            return Ok(false);
        }
    }
}

fn not_allowed(path: &Path) -> io::Error {
    io::Error::other(format!("the archive contains `{}`, which is not allowed here", path.display()))
}

fn changes_checkout(path: &Path) -> io::Error {
    let path = path.display();
    io::Error::other(format!(
        "the archive would replace `{path}`, which was checked out; write `{path}` in the `artifacts` of its stage if that is intended"
    ))
}
