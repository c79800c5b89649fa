//! A repository on disk.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A valid manifest of the step `roll-out`.
pub const MANIFEST: &str = "\
name: roll-out
image: localhost/tools@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
run: ./run
";

pub struct Repository {
    folder: TempDir,
}

impl Repository {
    pub fn init() -> Self {
        let repository = Repository { folder: TempDir::new().unwrap() };
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository
    }

    /// A repository with the step `roll-out` and the lightweight tag `roll-out/v1.0.0`.
    pub fn with_step() -> Self {
        let repository = Self::init();
        repository.write("roll-out/step.yaml", MANIFEST);
        repository.commit();
        repository.git(&["tag", "roll-out/v1.0.0"]);
        repository
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn git(&self, arguments: &[&str]) -> String {
        self.git_with(arguments, b"")
    }

    pub fn git_with(&self, arguments: &[&str], input: &[u8]) -> String {
        String::from_utf8(self.run(arguments, input)).unwrap().trim().to_owned()
    }

    fn run(&self, arguments: &[&str], input: &[u8]) -> Vec<u8> {
        let mut child = Command::new("git")
            .args(["-c", "user.name=Test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false"])
            .args(["-c", "core.bigFileThreshold=1m"])
            .args(arguments)
            .current_dir(self.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub fn commit(&self) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", "x"]);
        self.git(&["rev-parse", "HEAD"])
    }

    pub fn blob(&self, content: &[u8]) -> String {
        self.git_with(&["hash-object", "-w", "--stdin"], content)
    }

    /// Writes a tree of `MODE TYPE OBJECT<tab>NAME` lines.
    pub fn tree(&self, lines: &str) -> String {
        self.git_with(&["mktree", "--missing"], lines.as_bytes())
    }

    /// Returns a pack of these objects, one in a line.
    pub fn pack(&self, objects: &str) -> Vec<u8> {
        self.run(&["pack-objects", "--stdout", "--quiet"], objects.as_bytes())
    }

    /// Makes a commit whose folder `roll-out` is this tree, with this tag.
    pub fn publish_tree(&self, tree: &str, tag: &str) {
        let root = self.tree(&format!("040000 tree {tree}\troll-out\n"));
        let commit = self.git(&["commit-tree", &root, "-m", "x"]);
        self.git(&["tag", "--force", tag, &commit]);
    }
}
