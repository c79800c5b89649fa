//! The folder of a campaign: logs, data, work.

use std::path::PathBuf;

/// Removed at the end, unless it is to be kept.
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
    keep: bool,
}

impl Folder {
    /// Creates a new folder in `.stack`, with a subfolder for logs.
    pub(crate) fn make(name: &str, keep: bool) -> anyhow::Result<Self> {
        let name = format!("{name}-{}-{:06x}", std::process::id(), rand::random_range(0..0x100_0000));
        let path = std::env::current_dir()?.join(".stack").join(name);
        std::fs::create_dir_all(path.join("logs"))?;
        Ok(Self { path, keep })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.keep {
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}
