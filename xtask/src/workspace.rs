//! The workspace as `cargo metadata` describes it, and helpers to run cargo in it.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub(crate) struct Workspace {
    pub(crate) workspace_root: PathBuf,
    pub(crate) target_directory: PathBuf,
    pub(crate) packages: Vec<Package>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) manifest_path: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) targets: Vec<Target>,
}

/// A library, program or test.
#[derive(Debug, Deserialize)]
pub(crate) struct Target {
    pub(crate) name: String,
    pub(crate) kind: Vec<String>,
    pub(crate) src_path: PathBuf,
    /// Whether cargo builds and runs the tests in its source.
    pub(crate) test: bool,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) kind: Kind,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(from = "Option<NamedKind>")]
pub(crate) enum Kind {
    #[default]
    Normal,
    Build,
    Dev,
}

/// Cargo writes `null` for a normal dependency.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum NamedKind {
    Build,
    Dev,
}

impl From<Option<NamedKind>> for Kind {
    fn from(named: Option<NamedKind>) -> Self {
        match named {
            None => Kind::Normal,
            Some(NamedKind::Build) => Kind::Build,
            Some(NamedKind::Dev) => Kind::Dev,
        }
    }
}

impl Workspace {
    pub(crate) fn read() -> anyhow::Result<Self> {
        let mut command = Command::new(cargo_program());
        command.args(["metadata", "--format-version", "1", "--no-deps"]);
        serde_json::from_str(&output(&mut command)?).context("cargo metadata has an unknown form")
    }

    /// Returns the paths of the files that git tracks or would add, relative to the root and sorted. With
    /// `folders`, only those in them.
    pub(crate) fn files(&self, folders: &[&str]) -> anyhow::Result<Vec<String>> {
        let mut git = Command::new("git");
        git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"])
            .args(folders)
            .current_dir(&self.workspace_root);
        let listed = output(&mut git)?;
        let mut paths: Vec<String> = listed.split_terminator('\0').map(str::to_owned).collect();
        paths.sort();
        paths.dedup();
        // A file that was deleted may still be in the index.
        paths.retain(|path| self.workspace_root.join(path).exists());
        Ok(paths)
    }

    /// Returns a cargo command that runs in the workspace's root.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(cargo_program());
        command.args(arguments).current_dir(&self.workspace_root);
        command
    }
}

/// Returns the cargo to run: inside `cargo xtask` it is in `CARGO`, so that the same toolchain is used.
pub(crate) fn cargo_program() -> String {
    env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

/// Runs a command to its end; it inherits stdout and stderr.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", line(command)))?;
    if !status.success() {
        bail!("{} ended with {status}", line(command));
    }
    Ok(())
}

/// Runs a command and returns its stdout; it inherits stderr.
pub(crate) fn output(command: &mut Command) -> anyhow::Result<String> {
    let output = command
        .stderr(std::process::Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start {}", line(command)))?;
    if !output.status.success() {
        bail!("{} ended with {}", line(command), output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("the output of {} is not UTF-8", line(command)))
}

/// Formats a command for a message. Arguments with a URL are left out, because it may contain a password.
fn line(command: &Command) -> String {
    let mut line = PathBuf::from(command.get_program())
        .file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    for argument in command.get_args().map(|argument| argument.to_string_lossy()) {
        line.push(' ');
        line.push_str(if argument.contains("://") { "<url>" } else { &argument });
    }
    line
}
