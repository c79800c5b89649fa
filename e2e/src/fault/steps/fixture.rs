//! The real parts of the campaign: server, worker, PostgreSQL, Temporal, a git server, and runners that run steps as processes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, bail};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::fault::steps::options::Steps;
use crate::fault::steps::registry::{STEP, StepRegistry};
use crate::parts::deadline::Deadline;
use crate::parts::output::print_progress;
use crate::parts::runner::{Backend, Runner, RunnerLaunch};
use crate::scenarios::parts::Parts;
use crate::scenarios::people::People;

const ORGANIZATION: &str = "steps";
/// Its runner has not kept the files of any step.
pub(super) const FRESH_POOL: &str = "fresh";
const SYNC_TIMEOUT_SECONDS: u64 = 60;
const END_TIMEOUT_SECONDS: u64 = 300;

pub(super) struct StepFixture {
    pub(super) parts: Parts,
    pub(super) registry: StepRegistry,
    pub(super) registry_id: String,
    runners: Vec<Runner>,
    owner: String,
    /// The pipelines that use the step.
    pub(super) pipelines: Vec<String>,
    ledger: PathBuf,
}

impl StepFixture {
    pub(super) async fn start(options: &Steps) -> anyhow::Result<Self> {
        let parts = Parts::start(&options.stack.settings(), false).await?;
        let people = People::of(&parts, ORGANIZATION).await?;
        let registry = StepRegistry::start(&parts.folder.join("registries")).await?;
        let mut fixture = Self {
            registry,
            registry_id: String::new(),
            runners: Vec::new(),
            owner: people.owner().to_owned(),
            pipelines: (0..options.pipelines.max(1)).map(|number| format!("service-{number}")).collect(),
            ledger: parts.folder.join("ledger"),
            parts,
        };
        if let Err(error) = fixture.prepare().await {
            fixture.end(options.stack.keep).await?;
            return Err(error);
        }
        Ok(fixture)
    }

    async fn prepare(&mut self) -> anyhow::Result<()> {
        self.registry.publish("1.0.0", "locked").await?;
        let body = json!({ "name": "acme", "url": self.registry.url() });
        let made = self.call(Method::POST, "/step-registries", Some(body)).await?;
        self.registry_id = made["id"].as_str().context("a registry without an id")?.to_owned();
        self.wait_for_versions(1).await?;
        for (name, pool) in [("one", "default"), ("two", "default"), (FRESH_POOL, FRESH_POOL)] {
            self.start_runner(name, pool).await?;
        }
        for pipeline in self.pipelines.clone() {
            self.make_pipeline(&pipeline, "default").await?;
        }
        print_progress(&format!("{} pipelines have locked the step", self.pipelines.len()));
        Ok(())
    }

    pub(super) async fn make_pipeline(&self, slug: &str, pool: &str) -> anyhow::Result<()> {
        let with = json!({ "ledger": self.ledger.display().to_string() });
        let definition = json!({
            "runner": { "pool": pool },
            "stages": { "ship": { "steps": [{ "uses": format!("acme/{STEP}@v1"), "with": with }] } },
        });
        let body = json!({ "name": slug, "slug": slug, "definition": definition.to_string() });
        self.call(Method::POST, "/pipelines", Some(body)).await.map(drop)
    }

    async fn start_runner(&mut self, name: &str, pool: &str) -> anyhow::Result<()> {
        let body = Runner::creation_body(name, Some(pool));
        let made = self.call(Method::POST, "/runners", Some(body)).await?;
        let mut runner = Runner::of(&made, name, self.parts.folder.join("runners").join(name))?;
        runner.start(&RunnerLaunch {
            programs: &self.parts.programs,
            url: self.parts.api.base(),
            docker_host: None,
            backend: Backend::Process,
            concurrency: 4,
            log_level: "info",
        })?;
        self.runners.push(runner);
        Ok(())
    }

    pub(super) async fn call(
        &self,
        method: Method,
        below: &str,
        body: Option<Value>,
    ) -> anyhow::Result<Value> {
        let path = format!("/organizations/{ORGANIZATION}{below}");
        self.parts.api.call_ok(method, &path, &self.owner, body.as_ref()).await
    }

    /// Returns the digests of the step's versions.
    pub(super) async fn versions(&self) -> anyhow::Result<BTreeMap<String, String>> {
        let path = format!("/step-registries/{}/steps/{STEP}/versions", self.registry_id);
        let path = format!("/organizations/{ORGANIZATION}{path}");
        // The step does not exist before its first version.
        let found = self.parts.api.call(Method::GET, &path, &self.owner, None).await?;
        let versions = found.data().as_array().map(Vec::as_slice).unwrap_or_default();
        let text = |version: &Value, key: &str| version[key].as_str().unwrap_or_default().to_owned();
        Ok(versions.iter().map(|version| (text(version, "version"), text(version, "digest"))).collect())
    }

    /// Synchronizes the registry until it has this number of versions.
    pub(super) async fn wait_for_versions(&self, count: usize) -> anyhow::Result<()> {
        let deadline = Deadline::in_seconds(SYNC_TIMEOUT_SECONDS);
        self.call(Method::POST, &format!("/step-registries/{}/sync", self.registry_id), None).await?;
        while self.versions().await?.len() < count {
            deadline.wait(|| format!("the registry does not have {count} versions")).await?;
        }
        Ok(())
    }

    /// Waits until there is an event of this type, and returns how many there are.
    pub(super) async fn wait_for_event(&self, event_type: &str) -> anyhow::Result<usize> {
        let path = format!("/events?type={event_type}");
        let deadline = Deadline::in_seconds(SYNC_TIMEOUT_SECONDS / 2);
        loop {
            let count = self.call(Method::GET, &path, None).await?.as_array().map_or(0, Vec::len);
            if count > 0 || deadline.wait(String::new).await.is_err() {
                return Ok(count);
            }
        }
    }

    pub(super) async fn deploy(&self, pipeline: &str) -> anyhow::Result<String> {
        let path = format!("/pipelines/{pipeline}/deployments");
        let made = self.call(Method::POST, &path, Some(json!({ "commitId": "abcdef1234567" }))).await?;
        made["id"].as_str().map(str::to_owned).context("a deployment without an id")
    }

    /// Waits until a deployment has ended, and returns it with the attempt of its stage.
    pub(super) async fn end_of(&self, deployment: &str) -> anyhow::Result<(Value, Value)> {
        let deadline = Deadline::in_seconds(END_TIMEOUT_SECONDS);
        loop {
            let found = self.call(Method::GET, &format!("/deployments/{deployment}"), None).await?;
            if matches!(found["status"].as_str(), Some("succeeded" | "failed" | "errored" | "canceled")) {
                let path = format!("/deployments/{deployment}/stages/ship/attempts");
                let mut attempts = self.call(Method::GET, &path, None).await?;
                return Ok((found, attempts[0].take()));
            }
            deadline.wait(|| format!("the deployment has not ended: {found:#}")).await?;
        }
    }

    /// Returns the lines of the ledger: the id of a deployment, and the content that ran.
    pub(super) fn ledger(&self) -> Vec<(String, String)> {
        let text = std::fs::read_to_string(&self.ledger).unwrap_or_default();
        let lines = text.lines().filter_map(|line| line.split_once(' '));
        lines.map(|(deployment, content)| (deployment.to_owned(), content.to_owned())).collect()
    }

    /// Replaces bytes in the stored files of all steps, as an attacker with access to the database could.
    pub(super) async fn tamper(&self, from: &str, to: &str) -> anyhow::Result<()> {
        let hex = |text: &str| text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
        let statement = format!(
            "update step_archives set archive = decode(replace(encode(archive, 'hex'), '{}', '{}'), 'hex')",
            hex(from),
            hex(to)
        );
        let ran = Command::new(self.parts.postgres_program("psql"))
            .args(["-Xq", "-v", "ON_ERROR_STOP=1", self.parts.database_url(), "-c", &statement])
            .stdin(Stdio::null())
            .output()
            .await?;
        if !ran.status.success() {
            bail!("psql: {}", String::from_utf8_lossy(&ran.stderr));
        }
        Ok(())
    }

    pub(super) async fn end(mut self, keep: bool) -> anyhow::Result<()> {
        for runner in &mut self.runners {
            runner.end().await?;
        }
        self.parts.end(keep).await
    }
}
