//! The `.tar.gz` for any Linux with glibc 2.36 or newer.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, bail};

use super::release::Release;
use super::tree::Tree;
use crate::workspace::Workspace;

pub(crate) fn build(
    workspace: &Workspace,
    release: &Release,
    programs: &[PathBuf],
    out: &Path,
) -> anyhow::Result<()> {
    let root = &workspace.workspace_root;
    let name = format!("greenroom-{}-linux-{}", release.version, release.architecture);
    let tree = Tree::new(workspace.target_directory.join("package-trees").join(&name))?;
    for program in programs {
        let file = program.file_name().unwrap_or_default().to_string_lossy();
        tree.program(program, &format!("bin/{file}"))?;
    }
    tree.file(&root.join("LICENSE"), "LICENSE")?;
    tree.file(&root.join("docs/install.md"), "install.md")?;
    tree.file(&root.join("crates/store/grants/daemon.sql"), "share/grants/daemon.sql")?;
    for unit in ["greenroom", "greenroom-serve", "greenroom-worker", "greenroom-runner"] {
        tree.file(
            &root.join(format!("deploy/systemd/{unit}.service")),
            &format!("share/systemd/{unit}.service"),
        )?;
    }
    for settings in ["server", "runner"] {
        tree.file(
            &root.join(format!("deploy/settings/{settings}.env")),
            &format!("share/settings/{settings}.env"),
        )?;
    }
    let archive = out.join(format!("{name}.tar.gz"));
    let parent = tree.root.parent().context("the folder has no parent")?;
    // No name and no time of this build is in the archive.
    let mut tar = release.command("tar");
    tar.args(["--create", "--format=gnu", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"])
        .arg(format!("--mtime=@{}", release.epoch))
        .arg("--directory")
        .arg(parent)
        .arg(&name)
        .stdout(Stdio::piped());
    let mut tar = tar.spawn().context("cannot start tar")?;
    let packed = tar.stdout.take().context("tar has no output")?;
    let file = File::create(&archive).with_context(|| format!("cannot write {}", archive.display()))?;
    let gzip = release.command("gzip").args(["--no-name", "-9"]).stdin(packed).stdout(file).status();
    if !(gzip.context("cannot start gzip")?.success() && tar.wait()?.success()) {
        bail!("{} could not be written", archive.display());
    }
    Ok(())
}
