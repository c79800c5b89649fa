//! What the campaign needs from the machine: open files for thousands of connections, and a gzip bomb.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, bail};
use tokio::process::Command;

const BOMB_MIB: u32 = 256;

/// Raises the limit of open files of this process, and so of the programs that it starts, to its hard limit.
pub(crate) async fn raise_open_files(needed: usize) -> anyhow::Result<()> {
    let (_, hard) = open_files()?;
    let pid = std::process::id().to_string();
    let limit = format!("--nofile={hard}:{hard}");
    let raised = Command::new("prlimit").args(["--pid", &pid, &limit]).status().await;
    let (soft, _) = open_files()?;
    if soft < needed {
        bail!(
            "{needed} open files are needed and {soft} are allowed (prlimit: {raised:?}); raise `ulimit -n`"
        );
    }
    Ok(())
}

/// Returns the soft and the hard limit.
fn open_files() -> anyhow::Result<(usize, usize)> {
    let text = std::fs::read_to_string("/proc/self/limits")?;
    limits_in(&text).context("/proc/self/limits has no limit of open files")
}

fn limits_in(text: &str) -> Option<(usize, usize)> {
    let line = text.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    let mut numbers = line.split_whitespace().map(|word| word.parse().unwrap_or(usize::MAX));
    Some((numbers.next()?, numbers.next()?))
}

/// Compresses zeros with the `gzip` program. Returns the file's path.
pub(crate) async fn make_gzip_bomb(folder: &Path) -> anyhow::Result<PathBuf> {
    let path = folder.join("bomb.gz");
    let script = format!("head -c {BOMB_MIB}M /dev/zero | gzip -9");
    let file = std::fs::File::create(&path)?;
    let made = Command::new("sh").args(["-c", &script]).stdin(Stdio::null()).stdout(file).status().await?;
    if !made.success() {
        bail!("`{script}` failed");
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read() {
        let text = "Limit  Soft Limit  Hard Limit  Units\nMax open files            1024                 524288               files\n";
        assert_eq!(limits_in(text), Some((1_024, 524_288)));
        assert_eq!(limits_in("Max processes 1 2"), None);
    }
}
