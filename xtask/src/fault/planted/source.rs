//! The sources of a daemon with planted bugs: a copy of the workspace to which all patches of `e2e/planted`
//! are applied.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use crate::workspace::{self, Workspace};

const PATCHES: &str = "e2e/planted";
/// The call with which a patch tests whether its bug was chosen.
const CHECK: &str = "planted::is(\"";

/// Writes the patched sources into the target folder and returns the path of their manifest. Fails unless the
/// patches plant exactly these bugs.
pub(super) fn prepare(workspace: &Workspace, bugs: &BTreeSet<&str>) -> anyhow::Result<PathBuf> {
    let root = &workspace.workspace_root;
    let folder = workspace.target_directory.join("planted");
    let (fresh, source) = (folder.join("fresh"), folder.join("source"));
    // Searches that run at the same time prepare the same sources, one after the other.
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let lock = File::create(folder.join("lock")).context("cannot make the lock of the patched sources")?;
    lock.lock().context("cannot lock the patched sources")?;
    remove(&fresh)?;
    for path in workspace.files(&[])? {
        copy(&root.join(&path), &fresh.join(&path))?;
    }
    let mut planted = BTreeSet::new();
    for path in workspace.files(&[PATCHES])?.iter().filter(|path| path.ends_with(".patch")) {
        let patch = root.join(path);
        apply(&patch, &fresh).with_context(|| {
            format!("{path} does not apply: {PATCHES}/README.md describes how to renew it")
        })?;
        let text = fs::read_to_string(&patch).with_context(|| format!("cannot read {path}"))?;
        planted.extend(bugs_of(&text).map(str::to_owned));
    }
    let planted: BTreeSet<&str> = planted.iter().map(String::as_str).collect();
    ensure!(
        planted == *bugs,
        "the bugs of {PATCHES} and those of xtask/src/fault/planted.rs differ: {:?}",
        planted.symmetric_difference(bugs)
    );
    replace_changed(&fresh, &source)?;
    remove(&fresh)?;
    Ok(source.join("Cargo.toml"))
}

/// Returns the names of the bugs that a patch adds, one for each place of the bug.
fn bugs_of(patch: &str) -> impl Iterator<Item = &str> {
    let added = patch.lines().filter(|line| line.starts_with('+'));
    added.filter_map(|line| line.split_once(CHECK)?.1.split('"').next())
}

fn apply(patch: &Path, folder: &Path) -> anyhow::Result<()> {
    let mut git = Command::new("git");
    git.args(["apply", "--whitespace=nowarn"]).arg(patch).current_dir(folder);
    // If the target folder is inside a repository, git would look for the patched files from its root.
    git.env_remove("GIT_DIR").env("GIT_CEILING_DIRECTORIES", folder.parent().unwrap_or(folder));
    workspace::run(&mut git)
}

/// Makes `old` equal to `new`. Files with the same contents are not touched, so that cargo compiles only what
/// has changed since the last time.
fn replace_changed(new: &Path, old: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(old).with_context(|| format!("cannot make {}", old.display()))?;
    let names = entry_names(new)?;
    for gone in entry_names(old)?.difference(&names) {
        remove(&old.join(gone))?;
    }
    for name in names {
        let (new, old) = (new.join(&name), old.join(&name));
        if new.is_dir() {
            replace_changed(&new, &old)?;
        } else if fs::read(&old).ok() != Some(read(&new)?) {
            copy(&new, &old)?;
        }
    }
    Ok(())
}

fn entry_names(folder: &Path) -> anyhow::Result<BTreeSet<OsString>> {
    let context = || format!("cannot read {}", folder.display());
    let entries = fs::read_dir(folder).with_context(context)?;
    entries.map(|entry| Ok(entry.with_context(context)?.file_name())).collect()
}

fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    fs::read(file).with_context(|| format!("cannot read {}", file.display()))
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    to.parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::copy(from, to))
        .map(drop)
        .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))
}

/// Removes a file, or a folder with all that is in it, if it exists.
fn remove(path: &Path) -> anyhow::Result<()> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed.with_context(|| format!("cannot remove {}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    const PATCH: &str = "\
diff --git a/src/one.rs b/src/one.rs
--- a/src/one.rs
+++ b/src/one.rs
@@ -1,2 +1,3 @@
 before
+    if crate::planted::is(\"a_bug\") {}
 after
";

    fn write(folder: &Path, files: &[(&str, &str)]) {
        for (name, text) in files {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    fn folder(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("greenroom-planted-{name}-{}", std::process::id()))
    }

    #[test]
    fn bugs_are_found_in_added_lines() {
        assert_eq!(bugs_of(PATCH).collect::<Vec<_>>(), ["a_bug"]);
        assert_eq!(bugs_of("-    planted::is(\"a_bug\")\n").count(), 0);
    }

    #[test]
    fn a_patch_applies_only_where_its_context_is() {
        let folder = folder("apply");
        let patch = folder.join("a.patch");
        write(&folder, &[("a.patch", PATCH), ("copy/src/one.rs", "before\nafter\n")]);
        // A target folder is usually inside a repository.
        workspace::run(Command::new("git").args(["init", "--quiet"]).current_dir(&folder)).unwrap();
        apply(&patch, &folder.join("copy")).unwrap();
        assert!(fs::read_to_string(folder.join("copy/src/one.rs")).unwrap().contains("a_bug"));
        assert!(apply(&patch, &folder.join("copy")).is_err());
        remove(&folder).unwrap();
    }

    #[test]
    fn only_changed_files_are_replaced() {
        let folder = folder("replace");
        let (new, old) = (folder.join("new"), folder.join("old"));
        write(&new, &[("a/same", "1"), ("a/changed", "2"), ("b/added", "3")]);
        write(&old, &[("a/same", "1"), ("a/changed", "1"), ("gone", "1"), ("c/gone", "1")]);
        let long_ago = SystemTime::UNIX_EPOCH;
        for name in ["a/same", "a/changed"] {
            fs::File::options().write(true).open(old.join(name)).unwrap().set_modified(long_ago).unwrap();
        }
        let modified = |name: &str| fs::metadata(old.join(name)).unwrap().modified().unwrap();

        replace_changed(&new, &old).unwrap();
        assert_eq!(fs::read_to_string(old.join("a/changed")).unwrap(), "2");
        assert_eq!(fs::read_to_string(old.join("b/added")).unwrap(), "3");
        assert_eq!((modified("a/same"), modified("a/changed") > long_ago), (long_ago, true));
        assert_eq!(entry_names(&old).unwrap(), BTreeSet::from(["a".into(), "b".into()]));
        remove(&folder).unwrap();
    }
}
