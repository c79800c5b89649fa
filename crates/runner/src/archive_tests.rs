use std::os::unix::fs::{PermissionsExt, symlink};

use tar::{EntryType, Header};

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
        self.forged_all(&[(name, kind, target)])
    }

    fn forged_all(&self, entries: &[(&str, EntryType, Option<&str>)]) -> PathBuf {
        let mut builder = Builder::new(File::create(self.archive()).unwrap());
        for (name, kind, target) in entries {
            self.forge(&mut builder, name, *kind, *target);
        }
        builder.finish().unwrap();
        self.archive()
    }

    /// Makes a workspace with a repository: `deploy.sh`, and a folder `dist` with a file.
    fn check_out(&self) {
        for folder in [".git/hooks", "dist"] {
            fs::create_dir_all(self.workspace().join(folder)).unwrap();
        }
        for file in [".git/config", "deploy.sh", "dist/kept"] {
            fs::write(self.workspace().join(file), "right").unwrap();
        }
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.workspace().join(name)).unwrap()
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

/// Unpacks an artifact of the whole workspace.
fn unpack(archive: &Path, workspace: &Path) -> io::Result<()> {
    Unpacker::new(workspace)?.artifact(archive, &names(&["."]))
}

fn unpack_within(archive: &Path, workspace: &Path, paths: &[String]) -> io::Result<()> {
    Unpacker::new(workspace)?.artifact(archive, paths)
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
    let archive = fixture
        .forged_all(&[("out", EntryType::Symlink, Some("..")), ("out/forged", EntryType::Regular, None)]);
    assert!(unpack(&archive, &fixture.workspace()).is_err());
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
    let archive = fixture.forged_all(&[
        ("deps/up", EntryType::Symlink, Some("..")),
        ("deps/up/deploy.sh", EntryType::Regular, None),
    ]);
    assert!(unpack_within(&archive, &fixture.workspace(), &declared).is_err());
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

#[test]
fn an_artifact_changes_no_file_of_the_checkout() {
    let fixture = ArchiveFixture::new();
    fixture.check_out();
    let unpacker = Unpacker::new(&fixture.workspace()).unwrap();
    let everything = names(&["."]);
    for (name, kind, target) in [
        ("deploy.sh", EntryType::Regular, None),
        ("./deploy.sh", EntryType::Regular, None),
        ("deploy.sh", EntryType::Symlink, Some("dist/kept")),
        ("deploy.sh", EntryType::Directory, None),
        ("dist/kept", EntryType::Link, Some("dist/new")),
        ("dist", EntryType::Regular, None),
        ("dist", EntryType::Symlink, Some("elsewhere")),
    ] {
        let archive = fixture.forged_all(&[("dist/new", EntryType::Regular, None), (name, kind, target)]);
        assert!(unpacker.artifact(&archive, &everything).is_err(), "{name} {kind:?}");
        assert_eq!((fixture.read("deploy.sh"), fixture.read("dist/kept")), ("right".into(), "right".into()));
    }
    let archive = fixture.forged("deploy.sh", EntryType::Regular, None);
    let error = unpacker.artifact(&archive, &everything).unwrap_err();
    assert!(error.to_string().contains("`deploy.sh`, which was checked out"), "{error}");
    // What the stage names itself may be replaced, and what another artifact has added.
    unpacker.artifact(&archive, &names(&["dist", "deploy.sh"])).unwrap();
    assert_eq!(fixture.read("deploy.sh"), "forged");
    let archive = fixture.forged("dist/new", EntryType::Regular, None);
    unpacker.artifact(&archive, &everything).unwrap();
}

#[test]
fn an_artifact_may_contain_unchanged_files_of_the_checkout() {
    let fixture = ArchiveFixture::new();
    fixture.check_out();
    symlink("kept", fixture.workspace().join("dist/link")).unwrap();
    fs::write(fixture.workspace().join("dist/made"), "made").unwrap();
    pack(&fixture.workspace(), &names(&["."]), &fixture.archive()).unwrap();
    fs::remove_file(fixture.workspace().join("dist/made")).unwrap();
    unpack(&fixture.archive(), &fixture.workspace()).unwrap();
    assert_eq!(fixture.read("dist/made"), "made");
}

#[test]
fn a_cache_leaves_the_files_of_the_checkout_as_they_are() {
    let fixture = ArchiveFixture::new();
    fixture.check_out();
    let archive = fixture
        .forged_all(&[("dist/kept", EntryType::Regular, None), ("dist/cached", EntryType::Regular, None)]);
    Unpacker::new(&fixture.workspace()).unwrap().cache(&archive, &names(&["dist"])).unwrap();
    assert_eq!((fixture.read("dist/kept"), fixture.read("dist/cached")), ("right".into(), "forged".into()));
}

#[test]
fn a_hard_link_to_a_file_of_the_checkout_is_rejected() {
    let fixture = ArchiveFixture::new();
    fixture.check_out();
    let everything = names(&["."]);
    let link = ("dist/same", EntryType::Link, Some("deploy.sh"));
    for archive in [
        fixture.forged_all(&[link]),
        fixture.forged_all(&[
            ("dist/up", EntryType::Symlink, Some("..")),
            ("dist/same", EntryType::Link, Some("dist/up/deploy.sh")),
        ]),
    ] {
        let unpacker = Unpacker::new(&fixture.workspace()).unwrap();
        assert!(unpacker.artifact(&archive, &everything).is_err());
        assert!(unpacker.cache(&archive, &everything).is_err());
        assert!(!fixture.workspace().join("dist/same").exists());
    }
}

#[test]
fn the_folder_of_git_is_neither_packed_nor_unpacked() {
    let fixture = ArchiveFixture::new();
    fixture.check_out();
    for path in [".git", "./.git", ".git/config"] {
        let error = pack(&fixture.workspace(), &names(&[path]), &fixture.archive()).unwrap_err();
        assert!(error.to_string().contains("belongs to git"), "{error}");
    }
    pack(&fixture.workspace(), &names(&["."]), &fixture.archive()).unwrap();
    unpack(&fixture.archive(), &fixture.other()).unwrap();
    assert!(fixture.other().join("deploy.sh").exists() && !fixture.other().join(".git").exists());
    for name in [".git/hooks/post-checkout", ".git/config", ".git"] {
        let archive = fixture.forged(name, EntryType::Regular, None);
        let unpacker = Unpacker::new(&fixture.workspace()).unwrap();
        for paths in [names(&["."]), names(&[".git", ".git/config"])] {
            assert!(unpacker.artifact(&archive, &paths).is_err(), "{name}");
            assert!(unpacker.cache(&archive, &paths).is_err(), "{name}");
        }
    }
    assert_eq!(fixture.read(".git/config"), "right");
}
