//! Builds of a small workspace with two revisions. They need no network.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use super::build::{self, Build, Step, step};
use super::cache::ProgramCache;
use super::source::Tree;
use crate::workspace;

const MANIFEST: &str = "[package]\nname = \"PACKAGE\"\nedition = \"2024\"\n\n[dependencies]\n";

/// A git repository with a program that prints a word of a library, and the cache folder of its comparisons.
struct Repository {
    folder: PathBuf,
}

impl Repository {
    fn make(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("greenroom-compare-{name}-{}", std::process::id()));
        let repository = Self { folder };
        repository.write("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"program\", \"word\"]\n");
        repository.write("word/Cargo.toml", &MANIFEST.replace("PACKAGE", "word"));
        let program = MANIFEST.replace("PACKAGE", "program") + "word = { path = \"../word\" }\n";
        repository.write("program/Cargo.toml", &program);
        repository.write("program/src/main.rs", "fn main() { println!(\"{}\", word::WORD) }\n");
        repository.set_word("first");
        repository.git(&["init", "--quiet"]);
        repository.commit();
        repository
    }

    fn root(&self) -> PathBuf {
        self.folder.join("root")
    }

    fn cache(&self) -> PathBuf {
        self.folder.join("cache")
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn set_word(&self, word: &str) {
        self.write("word/src/lib.rs", &format!("pub const WORD: &str = \"{word}\";\n"));
    }

    fn git(&self, arguments: &[&str]) {
        let name = ["-c", "user.name=test", "-c", "user.email=test@greenroom.test"];
        workspace::run(Command::new("git").args(name).args(arguments).current_dir(self.root())).unwrap();
    }

    fn commit(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", "a revision"]);
    }

    fn checkout(&self) -> Tree {
        Tree::of_checkout(&self.root(), &self.folder.join("index")).unwrap()
    }

    fn revision(&self, revision: &str) -> Tree {
        Tree::of_revision(&self.root(), revision).unwrap()
    }

    fn open(&self) -> ProgramCache {
        ProgramCache::open(&self.root(), &self.cache()).unwrap()
    }

    /// Writes the sources of a tree with times before every build, as a checkout that was made earlier has.
    fn write_old_source(&self, tree: &Tree) -> (PathBuf, PathBuf) {
        let (source, target) = (self.cache().join("source"), self.cache().join("target"));
        tree.write(&self.root(), &self.folder.join("index"), &source).unwrap();
        for file in ["word/src/lib.rs", "word/Cargo.toml", "program/src/main.rs", "program/Cargo.toml"] {
            let file = fs::File::options().write(true).open(source.join(file)).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        }
        (source, target)
    }
}

impl Drop for Repository {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn steps() -> [Step<'static>; 1] {
    [step(&["program"], &["program"])]
}

fn run(program: &Path) -> String {
    workspace::output(&mut Command::new(program)).unwrap().trim().to_owned()
}

#[test]
fn programs_are_kept_by_the_contents_of_their_sources() {
    let repository = Repository::make("kept");
    let first = repository.open().find_or_build(&repository.revision("HEAD"), "product", &steps()).unwrap();
    assert_eq!(run(&first.join("program")), "first");
    assert_eq!(repository.revision("HEAD"), repository.checkout());

    // With a change that is not committed, the checkout differs; committed, it stays the same.
    repository.set_word("second");
    let of_first = repository.cache().join("target/release/deps/word-0123456789abcdef.d");
    fs::write(&of_first, "").unwrap();
    let second = repository.open().find_or_build(&repository.checkout(), "product", &steps()).unwrap();
    assert_eq!((run(&second.join("program")).as_str(), of_first.exists()), ("second", false));
    let written = fs::metadata(second.join("program")).unwrap().modified().unwrap();
    repository.commit();
    let again = repository.open().find_or_build(&repository.revision("HEAD"), "product", &steps()).unwrap();
    assert_eq!(again, second);
    assert_eq!(fs::metadata(again.join("program")).unwrap().modified().unwrap(), written);
    let baseline =
        repository.open().find_or_build(&repository.revision("HEAD~1"), "product", &steps()).unwrap();
    assert_eq!((run(&baseline.join("program")), baseline), ("first".to_owned(), first));
}

#[test]
fn files_that_git_does_not_track_belong_to_the_checkout() {
    let repository = Repository::make("untracked");
    repository.write(".gitignore", "ignored\n");
    let before = repository.checkout();
    repository.write("ignored", "");
    assert_eq!(repository.checkout(), before);
    repository.write("word/src/more.rs", "");
    assert_ne!(repository.checkout(), before);
}

#[test]
fn what_an_interrupted_comparison_has_built_is_not_taken_for_another_tree() {
    let repository = Repository::make("interrupted");
    let first = repository.checkout();
    repository.set_word("second");
    let second = repository.checkout();
    // A process ended after the build of the first tree.
    let (source, target) = repository.write_old_source(&first);
    let mut build = Build::default();
    build.run_step(&steps()[0], &source, &target).unwrap();
    assert_eq!((build.own_units, build.other_units), (2, 0));

    // Cargo takes the program of the first tree for that of the second, which is noticed.
    repository.write_old_source(&second);
    let error = Build::default().run_step(&steps()[0], &source, &target).unwrap_err().to_string();
    assert!(error.contains("was not compiled from these sources"), "{error}");

    // It cannot, after what was built of the workspace is removed.
    build::clean(&source, &target).unwrap();
    let mut build = Build::default();
    let programs = build.run_step(&steps()[0], &source, &target).unwrap();
    assert_eq!((run(&programs[0]).as_str(), build.own_units), ("second", 2));
    // A second step of the same build takes what the first one has compiled.
    build.run_step(&steps()[0], &source, &target).unwrap();
    assert_eq!(build.own_units, 2);
}

#[test]
fn programs_of_trees_that_were_used_long_ago_are_removed() {
    let repository = Repository::make("old");
    // A tree without steps has an empty folder.
    let folder = repository.open().find_or_build(&repository.checkout(), "product", &[]).unwrap();
    let trees = folder.ancestors().nth(2).unwrap();
    let make = |name: &str, time: u64| {
        fs::create_dir_all(trees.join(name).join("product")).unwrap();
        let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(time);
        fs::File::create(trees.join(name).join("last_use")).unwrap().set_modified(modified).unwrap();
    };
    (1..9).for_each(|time| make(&format!("tree-{time}"), time));
    assert_eq!(repository.open().find_or_build(&repository.checkout(), "product", &[]).unwrap(), folder);
    assert!(folder.is_dir() && trees.join("tree-2").is_dir() && !trees.join("tree-1").exists());
}

#[test]
fn an_incomplete_folder_of_programs_is_not_used() {
    let repository = Repository::make("partial");
    let tree = repository.checkout();
    let [good] = steps();
    let [other] = steps();
    let missing = Step { programs: vec!["other"], ..other };
    let error = repository.open().find_or_build(&tree, "product", &[good, missing]).unwrap_err().to_string();
    assert!(error.contains("has not built other"), "{error}");
    let programs = repository.open().find_or_build(&tree, "product", &steps()).unwrap();
    assert_eq!(fs::read_dir(programs).unwrap().count(), 1);
}
