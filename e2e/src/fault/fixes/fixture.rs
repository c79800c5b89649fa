//! The real parts of the campaign: server, worker, PostgreSQL, Temporal, a git server and a runner; and a forge that records its
//! requests.

use anyhow::Context;
use greenroom_recording_forge::{Dialect, RecordingForge, TOKEN};
use reqwest::Method;
use serde_json::{Value, json};

use crate::fault::fixes::options::Fixes;
use crate::fault::fixes::repository::{self, Repository};
use crate::parts::deadline::Deadline;
use crate::parts::runner::{Backend, Runner, RunnerLaunch};
use crate::scenarios::parts::Parts;
use crate::scenarios::people::People;

pub(super) const ORGANIZATION: &str = "fixes";
pub(super) const PIPELINE: &str = "shop";
pub(super) const PUBLIC_URL: &str = "https://greenroom.example.test";
const ENVIRONMENT: &str = "qa-1";
const TIMEOUT_SECONDS: u64 = 240;
/// The step fails with a line that names the change, so that different changes fail differently.
const DEFINITION: &str = r#"
fix: { labels: [fixes] }
ephemeralEnvironments:
  qa-1: {}
  fix-1: { labels: [fixes] }
stages:
  deploy:
    steps:
      - name: check
        image: none
        run: |
          echo "checking $(cat name 2>/dev/null)"
          if [ -e value ] && [ "$(cat value)" != right ]; then
            echo "ERROR: wrong value in value: of $(cat name) must be right ."
            exit 1
          fi
          sleep 0.5
"#;

pub(super) struct FixFixture {
    pub(super) parts: Parts,
    pub(super) forge: RecordingForge,
    pub(super) repository: Repository,
    runner: Runner,
    owner: String,
}

impl FixFixture {
    pub(super) async fn start(options: &Fixes) -> anyhow::Result<Self> {
        let mut settings = options.stack.settings();
        settings.server_variables.push(("GREENROOM_PUBLIC_URL", PUBLIC_URL.to_owned()));
        let parts = Parts::start(&settings, false).await?;
        match Self::prepare(&parts).await {
            Ok((forge, repository, runner, owner)) => Ok(Self { parts, forge, repository, runner, owner }),
            Err(error) => {
                parts.end(options.stack.keep).await?;
                Err(error)
            }
        }
    }

    async fn prepare(parts: &Parts) -> anyhow::Result<(RecordingForge, Repository, Runner, String)> {
        let people = People::of(parts, ORGANIZATION).await?;
        let owner = people.owner().to_owned();
        let folder = &parts.folder;
        let repository = Repository::make(&folder.join("repositories"), folder.join("work")).await?;
        let forge = RecordingForge::start(Dialect::Github).await;
        let main = repository.main().await?;
        forge.state().branches.insert("main".to_owned(), main);
        let url = parts.url_of_repository(repository::NAME);
        let served = url.trim_start_matches("http://");
        let own = format!("/organizations/{ORGANIZATION}");
        let body = json!({
            "name": "recording", "kind": "github", "address": forge.address(), "repositories": [served],
            "credential": { "token": TOKEN },
        });
        parts.api.call_ok(Method::POST, &format!("{own}/forges"), &owner, Some(&body)).await?;
        let body = json!({ "name": PIPELINE, "slug": PIPELINE, "definition": DEFINITION, "repository": url });
        parts.api.call_ok(Method::POST, &format!("{own}/pipelines"), &owner, Some(&body)).await?;
        let body = Runner::creation_body("fixes", None);
        let made = parts.api.call_ok(Method::POST, &format!("{own}/runners"), &owner, Some(&body)).await?;
        let mut runner = Runner::of(&made, "fixes", folder.join("runners").join("fixes"))?;
        runner.start(&RunnerLaunch {
            programs: &parts.programs,
            url: parts.api.base(),
            docker_host: None,
            backend: Backend::Process,
            concurrency: 2,
            log_level: "info",
        })?;
        Ok((forge, repository, runner, owner))
    }

    /// Creates a token of kind `agent`.
    pub(super) async fn agent_token(&self) -> anyhow::Result<String> {
        let body = json!({ "name": "agent", "kind": "agent" });
        let made = self.call(Method::POST, "/api-tokens", Some(body)).await?;
        made["token"].as_str().map(str::to_owned).context("a token without its text")
    }

    /// Sends a request that has to succeed. While a part is down, it is sent again.
    pub(super) async fn call(
        &self,
        method: Method,
        below: &str,
        body: Option<Value>,
    ) -> anyhow::Result<Value> {
        let path = format!("/organizations/{ORGANIZATION}{below}");
        let deadline = Deadline::in_seconds(60);
        loop {
            let response = self.parts.api.call(method.clone(), &path, &self.owner, body.as_ref()).await;
            match response {
                Ok(response) if response.is_good() => return Ok(response.data().clone()),
                Ok(response) if response.status < 500 => {
                    anyhow::bail!("{method} {path} returned {} {:#}", response.status, response.body)
                }
                _ => deadline.wait(|| format!("{method} {path} did not succeed")).await?,
            }
        }
    }

    pub(super) async fn get(&self, below: &str) -> anyhow::Result<Value> {
        self.call(Method::GET, below, None).await
    }

    /// Waits until a record is as expected.
    pub(super) async fn wait_for(
        &self,
        below: &str,
        is_done: impl Fn(&Value) -> bool,
    ) -> anyhow::Result<Value> {
        let deadline = Deadline::in_seconds(TIMEOUT_SECONDS);
        loop {
            let found = self.get(below).await?;
            if is_done(&found) {
                return Ok(found);
            }
            deadline.wait(|| format!("{below} stays {found:#}")).await?;
        }
    }

    /// Deploys a commit, which fails, and requests its analysis. Returns the analysis.
    pub(super) async fn analyzed_failure(
        &self,
        (commit, branch): &(String, String),
    ) -> anyhow::Result<String> {
        let sessions = format!("/pipelines/{PIPELINE}/ephemeral-environments/{ENVIRONMENT}/sessions");
        let body = json!({ "commitId": commit, "branch": branch });
        let made = self.call(Method::POST, &sessions, Some(body)).await?;
        let session = made["sessionId"].as_str().context("a session without an id")?;
        let id = made["deployments"][0]["id"].as_str().context("a session without a deployment")?;
        let ended =
            self.wait_for(&format!("/deployments/{id}"), |found| found["endedAt"].is_string()).await?;
        anyhow::ensure!(ended["status"] == "failed", "a deployment should have failed: {ended:#}");
        self.wait_for(&format!("/deployments/{id}/evidence"), |found| found["status"] == "ready").await?;
        self.call(Method::DELETE, &format!("{sessions}/{session}"), None).await?;
        let made = self.call(Method::POST, &format!("/deployments/{id}/analyses"), Some(json!({}))).await?;
        made["id"].as_str().map(str::to_owned).context("an analysis without an id")
    }

    /// Returns the environments that are held.
    pub(super) async fn held(&self) -> anyhow::Result<Vec<String>> {
        let found = self.get(&format!("/pipelines/{PIPELINE}/ephemeral-environments")).await?;
        let all = found.as_array().cloned().unwrap_or_default();
        let held = all.iter().filter(|environment| environment["lock"]["status"] != "free");
        Ok(held.map(|environment| environment["envName"].to_string()).collect())
    }

    pub(super) async fn end(mut self, keep: bool) -> anyhow::Result<()> {
        self.runner.end().await?;
        self.parts.end(keep).await
    }
}
