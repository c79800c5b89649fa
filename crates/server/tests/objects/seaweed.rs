//! An S3 server for one test: SeaweedFS, started by `e2e/s3/serve`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use uuid::Uuid;

pub struct Seaweed {
    folder: PathBuf,
    script: Option<Child>,
    /// The environment variables that a server needs to reach it.
    variables: BTreeMap<String, String>,
}

impl Seaweed {
    pub async fn start() -> Self {
        let folder = std::env::temp_dir().join(format!("greenroom-s3-{}", Uuid::now_v7()));
        let mut seaweed = Self { folder, script: None, variables: BTreeMap::new() };
        seaweed.start_again().await;
        seaweed
    }

    /// Starts it on the same ports with the same data.
    pub async fn start_again(&mut self) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../e2e/s3/serve");
        let mut command = Command::new(script);
        command.arg(&self.folder).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut script = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(script.stdout.take().unwrap()).read_line(&mut line).await.unwrap();
        self.variables = serde_json::from_str(&line).unwrap_or_else(|_| {
            panic!("e2e/s3/serve did not start; its output is above, its log in {:?}", self.folder)
        });
        self.script = Some(script);
    }

    pub fn address(&self) -> &str {
        &self.variables["GREENROOM_OBJECTS"]
    }

    pub fn variables(&self) -> BTreeMap<String, String> {
        self.variables.clone()
    }

    /// Kills the server.
    pub async fn stop(&mut self) {
        if let Some(mut script) = self.script.take() {
            drop(script.stdin.take());
            script.wait().await.unwrap();
        }
    }
}

impl Drop for Seaweed {
    fn drop(&mut self) {
        if self.script.is_none() {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}
