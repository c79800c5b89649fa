//! Load by `wrk`, a separate and cheap process, so that the server is what is measured.

use anyhow::{Context, bail};
use tokio::process::Command;

pub(crate) struct Load<'a> {
    pub(crate) url: &'a str,
    pub(crate) token: &'a str,
    pub(crate) connections: u32,
    pub(crate) seconds: u32,
}

/// Returns requests per second. A run with any response other than 2xx is an error.
pub(crate) async fn throughput(load: &Load<'_>) -> anyhow::Result<f64> {
    let output = Command::new("wrk")
        .args(["--threads", "1", "--connections", &load.connections.to_string()])
        .args(["--duration", &format!("{}s", load.seconds)])
        .args(["--header", &format!("Authorization: Bearer {}", load.token)])
        .arg(load.url)
        .output()
        .await
        .context("wrk is needed: apt-get install wrk")?;
    let text = String::from_utf8_lossy(&output.stdout);
    if text.contains("Non-2xx") || text.contains("Socket errors") || !output.status.success() {
        bail!("the run is void:\n{text}{}", String::from_utf8_lossy(&output.stderr));
    }
    let rate = text.lines().find_map(|line| line.trim().strip_prefix("Requests/sec:"));
    rate.and_then(|rate| rate.trim().parse().ok()).with_context(|| format!("wrk printed no rate:\n{text}"))
}
