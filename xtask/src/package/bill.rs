//! What is in the programs and in the dashboard: lists of dependencies in the format CycloneDX.

use std::fs;
use std::path::Path;

use anyhow::Context;
use serde_json::Value;

use super::release::Release;
use crate::ui;
use crate::workspace::{self, Workspace};

const TOOL: &str = "cargo-cyclonedx";
const TOOL_VERSION: &str = "0.5.9";

pub(crate) fn write(workspace: &Workspace, release: &Release, out: &Path) -> anyhow::Result<()> {
    let tool = workspace.target_directory.join("tools").join("bin").join(TOOL);
    if !tool.exists() {
        let folder = workspace.target_directory.join("tools");
        let mut install =
            workspace.cargo(&["install", "--locked", "--version", TOOL_VERSION, TOOL, "--root"]);
        workspace::run(install.arg(folder))?;
    }
    let name = format!("bill-{}", release.architecture);
    for (package, title) in [("server", "greenroomd"), ("runner", "greenroom-runner")] {
        let manifest = workspace.workspace_root.join("crates").join(package);
        let mut list = release.command(&tool.to_string_lossy());
        list.args([
            "cyclonedx",
            "--format",
            "json",
            "--no-build-deps",
            "--override-filename",
            &name,
            "--manifest-path",
        ]);
        workspace::run(list.arg(manifest.join("Cargo.toml")))?;
        // The tool writes one beside each manifest of the workspace.
        let written = manifest.join(format!("{name}.json"));
        fs::copy(&written, out.join(format!("{title}-{}.cdx.json", release.version)))
            .with_context(|| format!("{} was not written", written.display()))?;
    }
    for package in &workspace.packages {
        let _ = fs::remove_file(package.manifest_path.with_file_name(format!("{name}.json")));
    }
    let mut listed: Value =
        serde_json::from_str(&ui::bill(workspace)?).context("npm sbom has an unknown form")?;
    // npm writes a random serial number and the current time into each list, so that no two runs are the same.
    if let Some(list) = listed.as_object_mut() {
        list.remove("serialNumber");
        if let Some(metadata) = list.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("timestamp".to_owned(), format!("{}T00:00:00Z", release.date).into());
        }
    }
    let text = serde_json::to_string_pretty(&listed)?;
    fs::write(out.join(format!("dashboard-{}.cdx.json", release.version)), text)
        .context("cannot write the dashboard's list")
}
