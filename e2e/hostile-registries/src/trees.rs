//! Repositories whose content is the attack: the folder of `roll-out/v9.0.0`.

use crate::repository::{MANIFEST, Repository};
use crate::{HostileRegistry, Served};

/// The tag of the hostile folder.
pub const TAG: &str = "roll-out/v9.0.0";

/// A registry with a folder that has `step.yaml` and these lines of `git mktree`.
fn tree(
    name: &'static str,
    reason: &'static str,
    make: impl Fn(&Repository) -> String + Clone + Send + Sync + 'static,
) -> HostileRegistry {
    HostileRegistry::new(name, reason, move || {
        let make = make.clone();
        async move {
            let repository = Repository::with_step();
            let manifest = repository.blob(MANIFEST.as_bytes());
            let lines = make(&repository);
            let tree = repository.tree(&format!("100644 blob {manifest}\tstep.yaml\n{lines}"));
            repository.publish_tree(&tree, TAG);
            Served::repository(repository).await
        }
    })
}

/// A registry with a folder of this name in that of the step.
fn folder(name: &'static str, reason: &'static str, folder: &'static str) -> HostileRegistry {
    tree(name, reason, move |repository| {
        let file = repository.blob(b"x");
        let tree = repository.tree(&format!("100644 blob {file}\tx\n"));
        format!("040000 tree {tree}\t{folder}\n")
    })
}

fn link(repository: &Repository) -> String {
    format!("120000 blob {}\tlink\n", repository.blob(b"/etc/passwd"))
}

fn submodule(repository: &Repository) -> String {
    format!("160000 commit {}\tmodule\n", repository.git(&["rev-parse", "HEAD"]))
}

fn many_files(repository: &Repository) -> String {
    let file = repository.blob(b"x");
    (0..256).map(|number| format!("100644 blob {file}\tfile-{number}\n")).collect()
}

fn large_files(repository: &Repository) -> String {
    let file = repository.blob(&vec![0; 3 << 20]);
    (0..3).map(|number| format!("100644 blob {file}\tfile-{number}\n")).collect()
}

/// A quarter of a gibibyte of zeros is a quarter of a mebibyte when it is compressed.
fn zeros(repository: &Repository) -> String {
    let file = repository.path().join("zeros");
    std::fs::File::create(&file).unwrap().set_len(256 << 20).unwrap();
    let blob = repository.git(&["hash-object", "-w", "zeros"]);
    std::fs::remove_file(file).unwrap();
    format!("100644 blob {blob}\tzeros\n")
}

/// Ten folders with ten folders each, and so on: ten thousand million files in eleven objects.
fn folders_that_contain_each_other(repository: &Repository) -> String {
    let mut entry = format!("100644 blob {}", repository.blob(b"x"));
    for _ in 0..10 {
        let lines: String = (0..10).map(|number| format!("{entry}\tf{number}\n")).collect();
        entry = format!("040000 tree {}", repository.tree(&lines));
    }
    format!("{entry}\tmany\n")
}

fn deep_folders(repository: &Repository) -> String {
    let mut entry = format!("100644 blob {}", repository.blob(b"x"));
    for _ in 0..100 {
        entry = format!("040000 tree {}", repository.tree(&format!("{entry}\td\n")));
    }
    format!("{entry}\tdeep\n")
}

pub fn all() -> Vec<HostileRegistry> {
    let backslash = |repository: &Repository| format!("100644 blob {}\ta\\b\n", repository.blob(b"x"));
    vec![
        tree("symbolic-link", "`link`: it is a symbolic link", link).in_ci(),
        tree("submodule", "`module`: it is a submodule", submodule),
        folder("path-dot-dot", "hasDotdot", ".."),
        folder("path-dot", "hasDot", "."),
        folder("path-git", "hasDotgit", ".git"),
        folder("path-git-capitals", "hasDotgit", ".GIT"),
        tree("path-backslash", "plain relative path", backslash),
        tree("many-files", "more than 256 files", many_files),
        tree("large-files", "more than 8388608 bytes", large_files),
        tree("zlib-bomb", "more than 8388608 bytes", zeros),
        tree("tree-bomb", "more than 256 files", folders_that_contain_each_other),
        tree("deep-folders", "too large to be read", deep_folders),
    ]
}
