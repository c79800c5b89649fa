//! `cargo xtask package`: builds what is shipped: programs, archives, Debian packages, images, lists of what is in
//! them, sums and a signature.

mod archive;
mod bill;
mod debian;
mod image;
mod programs;
mod release;
mod tree;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::Context;
use clap::Args;
use serde::Serialize;

use crate::output;
use crate::workspace::{self, Workspace};
use release::Release;

#[derive(Args)]
pub(crate) struct Options {
    /// The folder for the files; it is emptied first
    #[arg(long, default_value = "target/package")]
    out: PathBuf,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    /// Also build the container images, with podman
    #[arg(long)]
    images: bool,
    /// The image that the images are based on
    #[arg(long, default_value = image::BASE)]
    base: String,
    /// A folder with programs that are built already, such as `target/debug`: packages that are only tried, and never shipped
    #[arg(long, value_name = "FOLDER")]
    programs: Option<PathBuf>,
    /// Leave out the lists of dependencies, for which `cargo-cyclonedx` is compiled once
    #[arg(long)]
    without_bill: bool,
    /// Sign the sums with this private key of ssh-keygen
    #[arg(long)]
    sign_key: Option<PathBuf>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    #[serde(flatten)]
    release: &'a Release,
    programs: Vec<FileSize>,
    files: Vec<FileSize>,
    seconds: u64,
}

#[derive(Serialize)]
struct FileSize {
    name: String,
    bytes: u64,
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<ExitCode> {
    let started = Instant::now();
    let release = Release::of(workspace)?;
    let out = workspace.workspace_root.join(&options.out);
    if out.exists() {
        fs::remove_dir_all(&out).with_context(|| format!("cannot empty {}", out.display()))?;
    }
    fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
    let programs = match &options.programs {
        Some(folder) => programs::found(workspace, folder)?,
        None => programs::build(workspace, &release)?,
    };
    archive::build(workspace, &release, &programs, &out)?;
    debian::build(workspace, &release, &programs, &out)?;
    if !options.without_bill {
        bill::write(workspace, &release, &out)?;
    }
    if options.images {
        image::build(workspace, &release, &programs, &options.base, &out)?;
    }
    sum(&out)?;
    if let Some(key) = &options.sign_key {
        sign(&out, key)?;
    }
    let report = Report {
        release: &release,
        programs: programs.iter().map(|path| size(path)).collect::<anyhow::Result<_>>()?,
        files: listed(&out)?.iter().map(|path| size(path)).collect::<anyhow::Result<_>>()?,
        seconds: started.elapsed().as_secs(),
    };
    if options.json {
        output::print(serde_json::to_string_pretty(&report)?)?;
    } else {
        for FileSize { name, bytes } in &report.files {
            output::print(format_args!("{bytes:>12}  {name}"))?;
        }
        output::print(out.display())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes `SHA256SUMS`, which `sha256sum --check` reads.
fn sum(out: &Path) -> anyhow::Result<()> {
    let names = listed(out)?.into_iter().filter_map(|path| path.file_name().map(ToOwned::to_owned));
    let sums = workspace::output(Command::new("sha256sum").args(names).current_dir(out))?;
    fs::write(out.join("SHA256SUMS"), sums).context("cannot write SHA256SUMS")
}

/// Writes `SHA256SUMS.sig`. `ssh-keygen -Y verify -n greenroom` reads it.
fn sign(out: &Path, key: &Path) -> anyhow::Result<()> {
    let mut command = Command::new("ssh-keygen");
    command.args(["-Y", "sign", "-n", "greenroom", "-f"]).arg(key).arg(out.join("SHA256SUMS"));
    workspace::run(&mut command)
}

/// Returns the files of a folder, sorted.
fn listed(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .with_context(|| format!("cannot list {}", folder.display()))?;
    let mut files: Vec<PathBuf> =
        entries.iter().map(fs::DirEntry::path).filter(|path| path.is_file()).collect();
    files.sort();
    Ok(files)
}

fn size(path: &Path) -> anyhow::Result<FileSize> {
    let metadata = fs::metadata(path).with_context(|| format!("{} was not built", path.display()))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(FileSize { name, bytes: metadata.len() })
}
