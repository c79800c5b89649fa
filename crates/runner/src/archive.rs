//! Archives of workspace files: artifacts that stages pass on, and caches. Neither packing nor unpacking
//! leaves the workspace, although a step may have created links that lead out of it.

use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};

use tar::{Archive, Builder, EntryType};

/// The server's limit.
const MAX_ARCHIVE_BYTES: u64 = 10 << 30;
const HEADER_BYTES: u64 = 512;

/// Packs files and folders of the workspace. A missing one is an error, because a later stage depends on it.
pub fn pack(workspace: &Path, paths: &[String], into: &Path) -> io::Result<()> {
    let workspace = workspace.canonicalize()?;
    let mut builder = Builder::new(io::BufWriter::new(File::create(into)?));
    builder.follow_symlinks(false);
    // Holes are written as zeros, because `unpack` does not support sparse entries.
    builder.sparse(false);
    let mut remaining = MAX_ARCHIVE_BYTES;
    for path in paths {
        let inner = inner_path(path)?;
        let outer = workspace.join(&inner);
        // The last component may be a link, which is packed as a link. The folders above it must not lead
        // out.
        let parent =
            outer.parent().unwrap_or(&workspace).canonicalize().map_err(|error| add_path(path, &error))?;
        if !parent.starts_with(&workspace) {
            return Err(io::Error::other(format!("`{path}` is outside of the workspace")));
        }
        measure(&outer, &mut remaining).map_err(|error| add_path(path, &error))?;
        add(&mut builder, &outer, &inner).map_err(|error| add_path(path, &error))?;
    }
    builder.into_inner()?.into_inner().map_err(|error| error.into_error())?.sync_data()
}

/// Subtracts the archived size of a file or folder from the remaining bytes. A sparse file counts with its
/// holes, so that one of a terabyte is rejected before it fills the disk.
fn measure(path: &Path, remaining: &mut u64) -> io::Result<()> {
    let found = fs::symlink_metadata(path)?;
    let length = if found.is_file() { found.len() } else { 0 };
    let left = remaining.checked_sub(length.saturating_add(HEADER_BYTES));
    *remaining = left.ok_or_else(|| {
        io::Error::other(format!("an archive may have at most {} GiB", MAX_ARCHIVE_BYTES >> 30))
    })?;
    if found.is_dir() {
        for entry in fs::read_dir(path)? {
            measure(&entry?.path(), remaining)?;
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
        let mut names: Vec<_> = fs::read_dir(outer)?
            .map(|entry| entry.map(|entry| entry.file_name()))
            .collect::<io::Result<_>>()?;
        names.sort();
        for name in names {
            add(builder, &outer.join(&name), &inner.join(&name))?;
        }
    } else if kind.is_file() || kind.is_symlink() {
        builder.append_path_with_name(outer, inner)?;
    }
    Ok(())
}

/// Unpacks into the workspace. Fails if any entry would be written outside of it.
pub fn unpack(archive: &Path, workspace: &Path) -> io::Result<()> {
    unpack_if(archive, workspace, |_, _| Ok(()))
}

/// Unpacks into these files and folders of the workspace. Fails if any entry would be written elsewhere, also
/// through a link: the pipeline that packed the archive may be less trusted than the one that unpacks it.
pub fn unpack_within(archive: &Path, workspace: &Path, paths: &[String]) -> io::Result<()> {
    let paths = paths.iter().map(|path| inner_path(path)).collect::<io::Result<Vec<_>>>()?;
    let belongs = |inner: &Path| paths.iter().any(|path| inner.starts_with(path));
    unpack_if(archive, workspace, |inner, linked| {
        let target = linked.map(|target| relative(target).is_some_and(|target| belongs(&target)));
        if !belongs(inner) || target == Some(false) || leads_through_link(workspace, inner)? {
            return Err(not_allowed(inner));
        }
        Ok(())
    })
}

/// Returns whether a folder above a path in the workspace is a link.
fn leads_through_link(workspace: &Path, inner: &Path) -> io::Result<bool> {
    let above = inner.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
    for folder in above {
        match fs::symlink_metadata(workspace.join(folder)) {
            Ok(found) if found.is_symlink() => return Ok(true),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

fn not_allowed(path: &Path) -> io::Error {
    io::Error::other(format!("the archive contains `{}`, which is not allowed here", path.display()))
}

/// Calls `check` with each path and the target of a hard link.
fn unpack_if(
    archive: &Path,
    workspace: &Path,
    check: impl Fn(&Path, Option<&Path>) -> io::Result<()>,
) -> io::Result<()> {
    let mut archive = Archive::new(io::BufReader::new(File::open(archive)?));
    // The user ids of the machine that packed the archive mean nothing here.
    archive.set_preserve_ownerships(false);
    archive.set_overwrite(true);
    for entry in archive.entries()? {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        let inner = relative(&path);
        let is_supported = matches!(
            entry.header().entry_type(),
            EntryType::Regular | EntryType::Directory | EntryType::Symlink | EntryType::Link
        );
        let Some(inner) = inner.filter(|_| is_supported) else { return Err(not_allowed(&path)) };
        let linked = entry.link_name()?.filter(|_| entry.header().entry_type() == EntryType::Link);
        check(&inner, linked.as_deref())?;
        // The library rejects entries that would be written or linked through a link that leads out.
        if !entry.unpack_in(workspace)? {
            return Err(io::Error::other(format!("`{}` would leave the workspace", path.display())));
        }
    }
    Ok(())
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
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use tar::Header;

    use super::*;

    struct ArchiveFixture {
        folder: tempfile::TempDir,
    }

    impl ArchiveFixture {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir(folder.path().join("workspace")).unwrap();
            fs::create_dir(folder.path().join("other")).unwrap();
            fs::write(folder.path().join("secret"), "secret").unwrap();
            ArchiveFixture { folder }
        }

        fn workspace(&self) -> PathBuf {
            self.folder.path().join("workspace")
        }

        fn other(&self) -> PathBuf {
            self.folder.path().join("other")
        }

        fn archive(&self) -> PathBuf {
            self.folder.path().join("archive.tar")
        }

        /// Writes an archive of one entry without any checks.
        fn forged(&self, name: &str, kind: EntryType, target: Option<&str>) -> PathBuf {
            let mut builder = Builder::new(File::create(self.archive()).unwrap());
            self.forge(&mut builder, name, kind, target);
            builder.finish().unwrap();
            self.archive()
        }

        fn forge(&self, builder: &mut Builder<File>, name: &str, kind: EntryType, target: Option<&str>) {
            let mut header = Header::new_gnu();
            header.set_entry_type(kind);
            header.set_mode(0o644);
            let body: &[u8] = if kind == EntryType::Regular { b"forged" } else { b"" };
            header.set_size(body.len() as u64);
            let field = &mut header.as_gnu_mut().unwrap().name;
            field[..name.len()].copy_from_slice(name.as_bytes());
            if let Some(target) = target {
                header.as_gnu_mut().unwrap().linkname[..target.len()].copy_from_slice(target.as_bytes());
            }
            header.set_cksum();
            builder.append(&header, body).unwrap();
        }
    }

    fn names(paths: &[&str]) -> Vec<String> {
        paths.iter().map(|&path| path.to_owned()).collect()
    }

    #[test]
    fn unpacking_restores_the_packed_files() {
        let fixture = ArchiveFixture::new();
        let from = fixture.workspace();
        fs::create_dir_all(from.join("dist/deep")).unwrap();
        fs::write(from.join("dist/deep/program"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(from.join("dist/deep/program"), fs::Permissions::from_mode(0o755)).unwrap();
        symlink("deep/program", from.join("dist/link")).unwrap();
        fs::write(from.join("report.txt"), "all well").unwrap();
        fs::write(from.join("not-packed"), "x").unwrap();
        pack(&from, &names(&["./dist", "report.txt"]), &fixture.archive()).unwrap();
        unpack(&fixture.archive(), &fixture.other()).unwrap();
        let to = fixture.other();
        assert_eq!(fs::read_to_string(to.join("dist/link")).unwrap(), "#!/bin/sh\n");
        assert_eq!(fs::metadata(to.join("dist/deep/program")).unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(fs::read_to_string(to.join("report.txt")).unwrap(), "all well");
        assert!(!to.join("not-packed").exists());
    }

    #[test]
    fn a_path_outside_of_the_workspace_is_not_packed() {
        let fixture = ArchiveFixture::new();
        symlink("..", fixture.workspace().join("out")).unwrap();
        for path in ["../secret", "/etc/passwd", "a/../../secret", "out/secret", "missing"] {
            assert!(pack(&fixture.workspace(), &names(&[path]), &fixture.archive()).is_err(), "{path}");
        }
    }

    #[test]
    fn a_link_is_packed_as_a_link() {
        let fixture = ArchiveFixture::new();
        symlink("../secret", fixture.workspace().join("link")).unwrap();
        pack(&fixture.workspace(), &names(&["link"]), &fixture.archive()).unwrap();
        unpack(&fixture.archive(), &fixture.other()).unwrap();
        assert_eq!(fs::read_link(fixture.other().join("link")).unwrap(), Path::new("../secret"));
    }

    #[test]
    fn an_entry_outside_of_the_workspace_is_rejected() {
        let fixture = ArchiveFixture::new();
        for name in ["../forged", "/tmp/greenroom-forged", "a/../../forged"] {
            let archive = fixture.forged(name, EntryType::Regular, None);
            assert!(unpack(&archive, &fixture.workspace()).is_err(), "{name}");
        }
        assert!(!fixture.folder.path().join("forged").exists());
    }

    #[test]
    fn nothing_is_written_through_a_link_that_leads_out() {
        let fixture = ArchiveFixture::new();
        let mut builder = Builder::new(File::create(fixture.archive()).unwrap());
        fixture.forge(&mut builder, "out", EntryType::Symlink, Some(".."));
        fixture.forge(&mut builder, "out/forged", EntryType::Regular, None);
        builder.finish().unwrap();
        assert!(unpack(&fixture.archive(), &fixture.workspace()).is_err());
        assert!(!fixture.folder.path().join("forged").exists());
    }

    #[test]
    fn a_hard_link_to_a_file_outside_is_rejected() {
        let fixture = ArchiveFixture::new();
        for target in ["../secret", "/etc/passwd"] {
            let archive = fixture.forged("stolen", EntryType::Link, Some(target));
            assert!(unpack(&archive, &fixture.workspace()).is_err(), "{target}");
        }
        assert!(!fixture.workspace().join("stolen").exists());
    }

    #[test]
    fn unpacking_restores_a_sparse_file() {
        let fixture = ArchiveFixture::new();
        fs::create_dir(fixture.workspace().join("dist")).unwrap();
        let file = File::create(fixture.workspace().join("dist/db")).unwrap();
        file.set_len(4 << 20).unwrap();
        std::os::unix::fs::FileExt::write_at(&file, b"the end", 3 << 20).unwrap();
        pack(&fixture.workspace(), &names(&["dist"]), &fixture.archive()).unwrap();
        unpack(&fixture.archive(), &fixture.other()).unwrap();
        let out = fs::read(fixture.other().join("dist/db")).unwrap();
        assert_eq!((out.len(), &out[3 << 20..(3 << 20) + 7]), (4 << 20, &b"the end"[..]));
    }

    #[test]
    fn too_large_archives_are_rejected_before_they_fill_the_disk() {
        let fixture = ArchiveFixture::new();
        fs::create_dir(fixture.workspace().join("dist")).unwrap();
        for name in ["one", "two"] {
            File::create(fixture.workspace().join("dist").join(name)).unwrap().set_len(6 << 30).unwrap();
        }
        let error = pack(&fixture.workspace(), &names(&["dist"]), &fixture.archive()).unwrap_err();
        assert!(error.to_string().contains("10 GiB"), "{error}");
        assert!(fs::metadata(fixture.archive()).unwrap().len() < 1 << 20);
    }

    #[test]
    fn unpack_within_rejects_entries_outside_of_the_declared_paths() {
        let fixture = ArchiveFixture::new();
        fs::write(fixture.workspace().join("deploy.sh"), "right").unwrap();
        fs::create_dir(fixture.workspace().join("deps")).unwrap();
        let declared = names(&["deps", "./tool/cache"]);
        for name in ["deploy.sh", "depsx/a", "tool/other", "tool"] {
            let archive = fixture.forged(name, EntryType::Regular, None);
            assert!(unpack_within(&archive, &fixture.workspace(), &declared).is_err(), "{name}");
        }
        for name in ["deps/a", "deps/deep/b", "tool/cache/c"] {
            let archive = fixture.forged(name, EntryType::Regular, None);
            unpack_within(&archive, &fixture.workspace(), &declared).unwrap();
            assert!(fixture.workspace().join(name).exists(), "{name}");
        }
        // Through a link to a folder of the workspace, and through a hard link to an existing file.
        let mut builder = Builder::new(File::create(fixture.archive()).unwrap());
        fixture.forge(&mut builder, "deps/up", EntryType::Symlink, Some(".."));
        fixture.forge(&mut builder, "deps/up/deploy.sh", EntryType::Regular, None);
        builder.finish().unwrap();
        assert!(unpack_within(&fixture.archive(), &fixture.workspace(), &declared).is_err());
        let archive = fixture.forged("deps/same", EntryType::Link, Some("deploy.sh"));
        assert!(unpack_within(&archive, &fixture.workspace(), &declared).is_err());
        assert_eq!(fs::read_to_string(fixture.workspace().join("deploy.sh")).unwrap(), "right");
    }

    #[test]
    fn devices_and_pipes_are_rejected() {
        let fixture = ArchiveFixture::new();
        for kind in [EntryType::Char, EntryType::Block, EntryType::Fifo] {
            let archive = fixture.forged("odd", kind, None);
            assert!(unpack(&archive, &fixture.workspace()).is_err(), "{kind:?}");
        }
    }
}
