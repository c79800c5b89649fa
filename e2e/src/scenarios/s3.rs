//! A real S3 server, started with `e2e/s3/serve`, that stores the objects of Greenroom's server.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;

use anyhow::Context;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

pub(crate) struct S3 {
    script: Child,
    /// The environment variables that make Greenroom's server use this S3 server.
    pub(crate) variables: BTreeMap<String, String>,
}

impl S3 {
    /// With a configuration of identity providers and roles, it also exchanges their tokens for credentials.
    pub(crate) async fn start(folder: &Path, iam_config: Option<&Path>) -> anyhow::Result<Self> {
        let mut command = Command::new("e2e/s3/serve");
        command.arg(folder);
        if let Some(file) = iam_config {
            command.arg("--iam-config").arg(file);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut script = command.spawn().context("e2e/s3/serve can't be started")?;
        let mut line = String::new();
        if let Some(stdout) = script.stdout.take() {
            BufReader::new(stdout).read_line(&mut line).await?;
        }
        let variables = serde_json::from_str(&line).context("e2e/s3/serve did not start an S3 server")?;
        Ok(Self { script, variables })
    }

    /// Stops the S3 server, which ends when its standard input is closed.
    pub(crate) async fn end(mut self) -> anyhow::Result<()> {
        drop(self.script.stdin.take());
        self.script.wait().await?;
        Ok(())
    }
}
