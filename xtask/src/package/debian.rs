//! The Debian packages of the server and of the runner.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::release::Release;
use super::tree::Tree;
use crate::workspace::{self, Workspace};

/// A package: its name, its programs, its units, and its file of settings.
struct Package {
    name: &'static str,
    programs: &'static [&'static str],
    units: &'static [&'static str],
    settings: &'static str,
}

const PACKAGES: [Package; 2] = [
    Package {
        name: "greenroom-server",
        programs: &["greenroomd"],
        units: &["greenroom", "greenroom-serve", "greenroom-worker"],
        settings: "server",
    },
    Package {
        name: "greenroom-runner",
        programs: &["greenroom-runner", "greenroom-entry"],
        units: &["greenroom-runner"],
        settings: "runner",
    },
];

pub(crate) fn build(
    workspace: &Workspace,
    release: &Release,
    programs: &[PathBuf],
    out: &Path,
) -> anyhow::Result<()> {
    PACKAGES.iter().try_for_each(|package| pack(workspace, release, programs, package, out))
}

fn pack(
    workspace: &Workspace,
    release: &Release,
    programs: &[PathBuf],
    package: &Package,
    out: &Path,
) -> anyhow::Result<()> {
    let (root, Package { name, settings, .. }) = (&workspace.workspace_root, package);
    let tree = Tree::new(workspace.target_directory.join("package-trees").join(name))?;
    for program in programs {
        let file = program.file_name().unwrap_or_default().to_string_lossy();
        if package.programs.contains(&file.as_ref()) {
            tree.program(program, &format!("usr/bin/{file}"))?;
        }
    }
    for unit in package.units {
        let file = format!("{unit}.service");
        tree.file(&root.join("deploy/systemd").join(&file), &format!("usr/lib/systemd/system/{file}"))?;
    }
    if package.name == "greenroom-server" {
        let grants = root.join("crates/store/grants/daemon.sql");
        tree.file(&grants, "usr/share/greenroom/grants/daemon.sql")?;
    }
    tree.file(&root.join("LICENSE"), &format!("usr/share/doc/{name}/copyright"))?;
    // They may contain a password: systemd reads them as root.
    let text = fs::read(root.join(format!("deploy/settings/{settings}.env")))?;
    tree.write(&format!("etc/greenroom/{settings}.env"), &text, 0o600)?;
    tree.write("DEBIAN/conffiles", format!("/etc/greenroom/{settings}.env\n").as_bytes(), 0o644)?;
    let scripts = root.join("deploy/debian").join(name);
    for script in ["postinst", "prerm", "postrm"] {
        let content = fs::read(scripts.join(script)).with_context(|| format!("{name} has no {script}"))?;
        tree.write(&format!("DEBIAN/{script}"), &content, 0o755)?;
    }
    let control =
        fs::read_to_string(scripts.join("control")).with_context(|| format!("{name} has no control"))?;
    let control =
        control.replace("@version@", &release.version).replace("@architecture@", release.architecture);
    tree.write("DEBIAN/control", control.as_bytes(), 0o644)?;
    let file = out.join(format!("{name}_{}_{}.deb", release.version, release.architecture));
    let mut build = release.command("dpkg-deb");
    build.args(["--root-owner-group", "--build", "-Zxz"]).arg(&tree.root).arg(file);
    workspace::run(build.stdout(std::process::Stdio::null()))
}
