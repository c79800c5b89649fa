//! Archives of a workspace: what stages leave each other, and caches. What comes out of one stays in the workspace, and what
//! goes into one was in it: a step may have put links there that lead elsewhere.

use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};

use tar::{Archive, Builder, EntryType};

/// Packs files and folders of the workspace. One that is not there is an error: somebody counts on it.
pub fn pack(workspace: &Path, paths: &[String], into: &Path) -> io::Result<()> {
    let workspace = workspace.canonicalize()?;
    let mut builder = Builder::new(io::BufWriter::new(File::create(into)?));
    builder.follow_symlinks(false);
    for path in paths {
        let inner = inner_path(path)?;
        let outer = workspace.join(&inner);
        // The last part may be a link, and is then packed as one; what leads there must not.
        let parent =
            outer.parent().unwrap_or(&workspace).canonicalize().map_err(|error| explain(path, &error))?;
        if !parent.starts_with(&workspace) {
            return Err(io::Error::other(format!("`{path}` lies outside of the workspace")));
        }
        add(&mut builder, &outer, &inner).map_err(|error| explain(path, &error))?;
    }
    builder.into_inner()?.into_inner().map_err(|error| error.into_error())?.sync_data()
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
        if inner.is_none() || !usual {
            return Err(io::Error::other(format!(
                "the archive holds `{}`, which has no place here",
                path.display()
            )));
        }
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
    fn devices_and_pipes_are_refused() {
        let place = Place::new();
        for kind in [EntryType::Char, EntryType::Block, EntryType::Fifo] {
            let archive = place.forged("odd", kind, None);
            assert!(unpack(&archive, &place.workspace()).is_err(), "{kind:?}");
        }
    }
}
