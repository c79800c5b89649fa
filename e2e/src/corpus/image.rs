//! The image of the corpus: an archive of a file tree with all tools of the cases, kept outside of the checkout.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use sha2::{Digest, Sha256};
use tokio::process::Command;

use crate::parts::output::print_progress;

/// The image name in steps.
pub(super) const IMAGE: &str = "localhost/greenroom-corpus:1";
const SOURCES: [&str; 3] = ["build", "packages", "npm-packages"];

/// Returns the path of the archive. It is built if there is none of these sources.
pub(super) async fn find_or_build(corpus: &Path) -> anyhow::Result<PathBuf> {
    let folder = corpus.join("image");
    let mut hash = Sha256::new();
    for source in SOURCES {
        hash.update(std::fs::read(folder.join(source))?);
    }
    let key: String = hash.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let cache =
        std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home).context("HOME is not set")?;
    let archive = cache.join("greenroom").join(format!("corpus-image-{key}.tar"));
    if !archive.is_file() {
        print_progress("building the image, which takes some minutes");
        let status = Command::new(folder.join("build")).arg(&archive).status().await?;
        if !status.success() {
            bail!("the image can't be built: {status}");
        }
    }
    Ok(archive)
}
