//! The container images of the server and of the runner, built by podman.

use std::path::{Path, PathBuf};

use super::release::Release;
use super::tree::Tree;
use crate::workspace::{self, Workspace};

/// What the images are based on, unless another one is named.
pub(crate) const BASE: &str = "docker.io/library/debian:12-slim";

/// An image and the programs in it.
const IMAGES: [(&str, &[&str]); 2] =
    [("greenroom-server", &["greenroomd"]), ("greenroom-runner", &["greenroom-runner", "greenroom-entry"])];

/// Builds the images, and writes each as an archive that `docker load` and `podman load` read.
pub(crate) fn build(
    workspace: &Workspace,
    release: &Release,
    programs: &[PathBuf],
    base: &str,
    out: &Path,
) -> anyhow::Result<()> {
    for (name, contained) in IMAGES {
        let context =
            Tree::new(workspace.target_directory.join("package-trees").join(format!("{name}-image")))?;
        for program in programs {
            let file = program.file_name().unwrap_or_default().to_string_lossy();
            if contained.contains(&file.as_ref()) {
                context.program(program, &file)?;
            }
        }
        let tag = format!("localhost/{name}:{}", release.version);
        let mut build = release.command("podman");
        // The Docker format: images in the OCI format have no health check.
        build.args(["build", "--quiet", "--format", "docker", "--timestamp"]).arg(release.epoch.to_string());
        build.arg("--build-arg").arg(format!("BASE={base}"));
        build.arg("--build-arg").arg(format!("COMMIT={}", release.commit));
        build.arg("--build-arg").arg(format!("VERSION={}", release.version));
        build.arg("--tag").arg(&tag).arg("--file");
        build.arg(workspace.workspace_root.join(format!("deploy/images/{name}.Containerfile")));
        workspace::run(build.arg(&context.root).stdout(std::process::Stdio::null()))?;
        let archive = out.join(format!("{name}-{}-image-{}.tar", release.version, release.architecture));
        let mut save = release.command("podman");
        save.args(["save", "--quiet", "--format", "docker-archive", "--output"]).arg(&archive).arg(&tag);
        workspace::run(save.stdout(std::process::Stdio::null()))?;
    }
    Ok(())
}
