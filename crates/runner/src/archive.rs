//! Archives of a workspace: what stages leave each other, and caches. What comes out of one stays in the workspace, and what
//! goes into one was in it: a step may have put links there that lead elsewhere.

use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};

use tar::{Archive, Builder, EntryType};

/// As much as the server takes.
const MAX_ARCHIVE_BYTES: u64 = 10 << 30;
const HEADER_BYTES: u64 = 512;

/// Packs files and folders of the workspace. One that is not there is an error: somebody counts on it.
pub fn pack(workspace: &Path, paths: &[String], into: &Path) -> io::Result<()> {
    let workspace = workspace.canonicalize()?;
    let mut builder = Builder::new(io::BufWriter::new(File::create(into)?));
    builder.follow_symlinks(false);
    // Holes are written as zeros: whoever unpacks the archive knows no sparse entries.
    builder.sparse(false);
    let mut room = MAX_ARCHIVE_BYTES;
    for path in paths {
        let inner = inner_path(path)?;
        let outer = workspace.join(&inner);
        // The last part may be a link, and is then packed as one; what leads there must not.
        let parent =
            outer.parent().unwrap_or(&workspace).canonicalize().map_err(|error| explain(path, &error))?;
        if !parent.starts_with(&workspace) {
            return Err(io::Error::other(format!("`{path}` lies outside of the workspace")));
        }
        measure(&outer, &mut room).map_err(|error| explain(path, &error))?;
        add(&mut builder, &outer, &inner).map_err(|error| explain(path, &error))?;
    }
    builder.into_inner()?.into_inner().map_err(|error| error.into_error())?.sync_data()
}

/// Takes what a file or folder will need in an archive from the room that is left. A sparse file counts with its holes, so
/// that one of a terabyte is rejected before it fills the disk.
fn measure(path: &Path, room: &mut u64) -> io::Result<()> {
    let found = fs::symlink_metadata(path)?;
    let length = if found.is_file() { found.len() } else { 0 };
    let left = room.checked_sub(length.saturating_add(HEADER_BYTES));
    *room = left.ok_or_else(|| {
        io::Error::other(format!("an archive may have {} GiB at most", MAX_ARCHIVE_BYTES >> 30))
    })?;
    if found.is_dir() {
        for entry in fs::read_dir(path)? {
            measure(&entry?.path(), room)?;
        }
    }
    Ok(())
}

/// In the order of their names, so that the same files make the same archive. Sockets, pipes and devices mean nothing
/// elsewhere and are left out.
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

/// Unpacks into the workspace. Anything that would land elsewhere fails all of it.
pub fn unpack(archive: &Path, workspace: &Path) -> io::Result<()> {
    unpack_if(archive, workspace, |_, _| Ok(()))
}

/// Unpacks what belongs to these files and folders of the workspace. Anything else fails all of it, also if it would get to
/// another place by a link: whoever packed the archive may be trusted with less than who unpacks it.
pub fn unpack_within(archive: &Path, workspace: &Path, paths: &[String]) -> io::Result<()> {
    let paths = paths.iter().map(|path| inner_path(path)).collect::<io::Result<Vec<_>>>()?;
    let belongs = |inner: &Path| paths.iter().any(|path| inner.starts_with(path));
    unpack_if(archive, workspace, |inner, linked| {
        let target = linked.map(|target| relative(target).is_some_and(|target| belongs(&target)));
        if !belongs(inner) || target == Some(false) || leads_through_link(workspace, inner)? {
            return Err(misplaced(inner));
        }
        Ok(())
    })
}

/// Whether a folder above a path in the workspace is a link.
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

fn misplaced(path: &Path) -> io::Error {
    io::Error::other(format!("the archive holds `{}`, which has no place here", path.display()))
}

/// `allowed` gets each path and, of a hard link, what it is linked to.
fn unpack_if(
    archive: &Path,
    workspace: &Path,
    allowed: impl Fn(&Path, Option<&Path>) -> io::Result<()>,
) -> io::Result<()> {
    let mut archive = Archive::new(io::BufReader::new(File::open(archive)?));
    // Whoever packed it is nobody here.
    archive.set_preserve_ownerships(false);
    archive.set_overwrite(true);
    for entry in archive.entries()? {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        let inner = relative(&path);
        let usual = matches!(
            entry.header().entry_type(),
            EntryType::Regular | EntryType::Directory | EntryType::Symlink | EntryType::Link
        );
        let Some(inner) = inner.filter(|_| usual) else { return Err(misplaced(&path)) };
        let linked = entry.link_name()?.filter(|_| entry.header().entry_type() == EntryType::Link);
        allowed(&inner, linked.as_deref())?;
        // The library refuses what would be written, or linked, through a link that leads out.
        if !entry.unpack_in(workspace)? {
            return Err(io::Error::other(format!("`{}` would leave the workspace", path.display())));
        }
    }
    Ok(())
}

/// A path from a pipeline's definition.
fn inner_path(path: &str) -> io::Result<PathBuf> {
    relative(Path::new(path))
        .ok_or_else(|| io::Error::other(format!("`{path}` lies outside of the workspace")))
}

/// Without `.`; none if it is not a way down.
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

fn explain(path: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("`{path}`: {error}"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use tar::Header;

    use super::*;

    struct Place {
        folder: tempfile::TempDir,
    }

    impl Place {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir(folder.path().join("workspace")).unwrap();
            fs::create_dir(folder.path().join("other")).unwrap();
            fs::write(folder.path().join("secret"), "secret").unwrap();
            Place { folder }
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

        /// An archive of one entry, written without anybody's checks.
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
    fn what_is_packed_comes_out_as_it_was() {
        let place = Place::new();
        let from = place.workspace();
        fs::create_dir_all(from.join("dist/deep")).unwrap();
        fs::write(from.join("dist/deep/program"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(from.join("dist/deep/program"), fs::Permissions::from_mode(0o755)).unwrap();
        symlink("deep/program", from.join("dist/link")).unwrap();
        fs::write(from.join("report.txt"), "all well").unwrap();
        fs::write(from.join("not-asked-for"), "x").unwrap();
        pack(&from, &names(&["./dist", "report.txt"]), &place.archive()).unwrap();
        unpack(&place.archive(), &place.other()).unwrap();
        let to = place.other();
        assert_eq!(fs::read_to_string(to.join("dist/link")).unwrap(), "#!/bin/sh\n");
        assert_eq!(fs::metadata(to.join("dist/deep/program")).unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(fs::read_to_string(to.join("report.txt")).unwrap(), "all well");
        assert!(!to.join("not-asked-for").exists());
    }

    #[test]
    fn a_path_that_leaves_the_workspace_is_not_packed() {
        let place = Place::new();
        symlink("..", place.workspace().join("out")).unwrap();
        for path in ["../secret", "/etc/passwd", "a/../../secret", "out/secret", "missing"] {
            assert!(pack(&place.workspace(), &names(&[path]), &place.archive()).is_err(), "{path}");
        }
    }

    #[test]
    fn a_link_is_packed_as_a_link() {
        let place = Place::new();
        symlink("../secret", place.workspace().join("link")).unwrap();
        pack(&place.workspace(), &names(&["link"]), &place.archive()).unwrap();
        unpack(&place.archive(), &place.other()).unwrap();
        assert_eq!(fs::read_link(place.other().join("link")).unwrap(), Path::new("../secret"));
    }

    #[test]
    fn an_entry_that_leaves_the_workspace_is_refused() {
        let place = Place::new();
        for name in ["../forged", "/tmp/greenroom-forged", "a/../../forged"] {
            let archive = place.forged(name, EntryType::Regular, None);
            assert!(unpack(&archive, &place.workspace()).is_err(), "{name}");
        }
        assert!(!place.folder.path().join("forged").exists());
    }

    #[test]
    fn nothing_is_written_through_a_link_that_leads_out() {
        let place = Place::new();
        let mut builder = Builder::new(File::create(place.archive()).unwrap());
        place.forge(&mut builder, "out", EntryType::Symlink, Some(".."));
        place.forge(&mut builder, "out/forged", EntryType::Regular, None);
        builder.finish().unwrap();
        assert!(unpack(&place.archive(), &place.workspace()).is_err());
        assert!(!place.folder.path().join("forged").exists());
    }

    #[test]
    fn a_hard_link_to_something_outside_is_refused() {
        let place = Place::new();
        for target in ["../secret", "/etc/passwd"] {
            let archive = place.forged("stolen", EntryType::Link, Some(target));
            assert!(unpack(&archive, &place.workspace()).is_err(), "{target}");
        }
        assert!(!place.workspace().join("stolen").exists());
    }

    #[test]
    fn a_sparse_file_comes_out_as_it_was() {
        let place = Place::new();
        fs::create_dir(place.workspace().join("dist")).unwrap();
        let file = File::create(place.workspace().join("dist/db")).unwrap();
        file.set_len(4 << 20).unwrap();
        std::os::unix::fs::FileExt::write_at(&file, b"the end", 3 << 20).unwrap();
        pack(&place.workspace(), &names(&["dist"]), &place.archive()).unwrap();
        unpack(&place.archive(), &place.other()).unwrap();
        let out = fs::read(place.other().join("dist/db")).unwrap();
        assert_eq!((out.len(), &out[3 << 20..(3 << 20) + 7]), (4 << 20, &b"the end"[..]));
    }

    #[test]
    fn what_would_be_too_large_is_refused_before_it_fills_the_disk() {
        let place = Place::new();
        fs::create_dir(place.workspace().join("dist")).unwrap();
        for name in ["one", "two"] {
            File::create(place.workspace().join("dist").join(name)).unwrap().set_len(6 << 30).unwrap();
        }
        let error = pack(&place.workspace(), &names(&["dist"]), &place.archive()).unwrap_err();
        assert!(error.to_string().contains("10 GiB"), "{error}");
        assert!(fs::metadata(place.archive()).unwrap().len() < 1 << 20);
    }

    #[test]
    fn a_caches_archive_stays_in_its_declared_paths() {
        let place = Place::new();
        fs::write(place.workspace().join("deploy.sh"), "right").unwrap();
        fs::create_dir(place.workspace().join("deps")).unwrap();
        let declared = names(&["deps", "./tool/cache"]);
        for name in ["deploy.sh", "depsx/a", "tool/other", "tool"] {
            let archive = place.forged(name, EntryType::Regular, None);
            assert!(unpack_within(&archive, &place.workspace(), &declared).is_err(), "{name}");
        }
        for name in ["deps/a", "deps/deep/b", "tool/cache/c"] {
            let archive = place.forged(name, EntryType::Regular, None);
            unpack_within(&archive, &place.workspace(), &declared).unwrap();
            assert!(place.workspace().join(name).exists(), "{name}");
        }
        // By a link to a folder of the workspace, and by a second name of a file that is there.
        let mut builder = Builder::new(File::create(place.archive()).unwrap());
        place.forge(&mut builder, "deps/up", EntryType::Symlink, Some(".."));
        place.forge(&mut builder, "deps/up/deploy.sh", EntryType::Regular, None);
        builder.finish().unwrap();
        assert!(unpack_within(&place.archive(), &place.workspace(), &declared).is_err());
        let archive = place.forged("deps/same", EntryType::Link, Some("deploy.sh"));
        assert!(unpack_within(&archive, &place.workspace(), &declared).is_err());
        assert_eq!(fs::read_to_string(place.workspace().join("deploy.sh")).unwrap(), "right");
    }

    #[test]
    fn devices_and_pipes_are_refused() {
        let place = Place::new();
        for kind in [EntryType::Char, EntryType::Block, EntryType::Fifo] {
            let archive = place.forged("odd", kind, None);
            assert!(unpack(&archive, &place.workspace()).is_err(), "{kind:?}");
        }
    }
}
