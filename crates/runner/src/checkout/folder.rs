//! The folders that a checkout uses besides the workspace.

use std::path::{Path, PathBuf};

/// Returns the path of a folder next to the workspace, which no step can access.
pub(super) fn beside(workspace: &Path, suffix: &str) -> PathBuf {
    let mut name = workspace.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    workspace.with_file_name(name)
}
