//! A step registry: a git repository with one step, `mark`, which writes the deployment's id and its own content to the ledger.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::bail;
use tokio::process::Command;

use crate::parts::git_server::GitServer;

const REPOSITORY: &str = "steps.git";
pub(super) const STEP: &str = "mark";
/// No runner of the campaign uses containers.
const MANIFEST: &str = r#"name: mark
description: Writes the id of the deployment and the content of the step to the ledger.
inputs:
  ledger: { type: string, required: true }
outputs:
  content: { description: The content of the step }
image: none@sha256:0000000000000000000000000000000000000000000000000000000000000000
run: |
  content=$(cat "$GREENROOM_STEP_FOLDER/content")
  grep -q '"ledger"' "$GREENROOM_INPUTS_FILE"
  echo "$GREENROOM_DEPLOYMENT_ID $content" >> "$GREENROOM_INPUT_LEDGER"
  echo "content=$content" >> "$GREENROOM_OUTPUT"
"#;

pub(super) struct StepRegistry {
    folder: PathBuf,
    server: Option<GitServer>,
}

impl StepRegistry {
    pub(super) async fn start(root: &Path) -> anyhow::Result<Self> {
        let folder = root.join(REPOSITORY);
        std::fs::create_dir_all(&folder)?;
        let server = Some(GitServer::start(root, root).await?);
        let registry = Self { folder, server };
        registry.git(&["init", "--quiet", "--initial-branch", "main", "."]).await?;
        Ok(registry)
    }

    pub(super) fn url(&self) -> String {
        self.server.as_ref().map(|server| server.url(REPOSITORY, None)).unwrap_or_default()
    }

    /// Commits the content, and puts the version's tag there, also if there is one already.
    pub(super) async fn publish(&self, version: &str, content: &str) -> anyhow::Result<()> {
        let step = self.folder.join(STEP);
        std::fs::create_dir_all(&step)?;
        std::fs::write(step.join("step.yaml"), MANIFEST)?;
        std::fs::write(step.join("content"), format!("{content}\n"))?;
        self.git(&["add", "--all"]).await?;
        self.git(&["commit", "--quiet", "--message", content]).await?;
        self.git(&["tag", "--force", &format!("{STEP}/v{version}")]).await
    }

    /// Ends the server: connections to its address are refused from now on.
    pub(super) fn kill(&mut self) {
        self.server = None;
    }

    async fn git(&self, arguments: &[&str]) -> anyhow::Result<()> {
        let made = Command::new("git")
            .args(["-c", "user.name=Steps", "-c", "user.email=steps@example.test"])
            .args(arguments)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .output()
            .await?;
        if !made.status.success() {
            bail!("git {}: {}", arguments.join(" "), String::from_utf8_lossy(&made.stderr));
        }
        Ok(())
    }
}
