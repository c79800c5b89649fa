//! The hostile organization: viewers, runners, and a step that keeps running and has a large log.

use std::time::Duration;

use anyhow::{Context, bail};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::fault::overload::options::Scale;
use crate::fault::overload::sample::Hostile;
use crate::fault::overload::stack::Stack;
use crate::parts::api::Api;
use crate::parts::runner::Runner;

const SLUG: &str = "hostile";
const VIEWERS: usize = 4;
const POLLERS: usize = 2;
const DEFINITION: &str = "stages: { only: { steps: [{ image: none, run: \"true\" }] } }";
const JOB_TOKEN_HEADER: &str = "x-greenroom-job-token";
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(2);
/// The maximum size of an appended piece of a log.
const PIECE_BYTES: usize = 1024 * 1024;

pub(crate) struct HostileTenant {
    api: Api,
    owner: String,
    pub(crate) facts: Hostile,
    job_token: String,
    keeping: JoinSet<()>,
}

impl HostileTenant {
    pub(crate) async fn make(stack: &Stack, scale: Scale) -> anyhow::Result<Self> {
        let (api, owner) = (Api::new(stack.base_url())?, stack.make_organization(SLUG).await?);
        let path = format!("/organizations/{SLUG}");
        let mut viewers = Vec::new();
        for number in 1..=VIEWERS {
            let email = format!("viewer-{number}@{SLUG}.test");
            let body = json!({ "email": email, "name": format!("Viewer {number}"), "role": "viewer" });
            api.call_ok(Method::POST, &format!("{path}/members"), &owner, Some(&body)).await?;
            let arguments =
                ["admin", "create-token", "--organization", SLUG, "--email", &email, "--name", "x"];
            viewers.push(text(&stack.admin_json(&arguments).await?, "token")?);
        }
        let pipeline = json!({ "name": "Only", "slug": "only", "definition": DEFINITION });
        api.call_ok(Method::POST, &format!("{path}/pipelines"), &owner, Some(&pipeline)).await?;
        let runners = format!("{path}/runners");
        let made =
            api.call_ok(Method::POST, &runners, &owner, Some(&Runner::creation_body("worker", None))).await?;
        let runner = text(&made, "token")?;
        let mut pollers = Vec::new();
        for number in 1..=POLLERS {
            let body = Runner::creation_body(&format!("poller-{number}"), Some("idle"));
            pollers.push(text(&api.call_ok(Method::POST, &runners, &owner, Some(&body)).await?, "token")?);
        }
        let log_bytes = match scale {
            Scale::Full => 60 * PIECE_BYTES,
            Scale::Small => 16 * PIECE_BYTES,
        };
        let (deployment, job, step) = (String::new(), String::new(), String::new());
        let organization = SLUG.to_owned();
        let facts = Hostile { organization, viewers, pollers, runner, deployment, job, step, log_bytes };
        let mut tenant = Self { api, owner, facts, job_token: String::new(), keeping: JoinSet::new() };
        tenant.begin_step().await?;
        Ok(tenant)
    }

    /// Starts another step if the last one was lost because its heartbeats were refused.
    pub(crate) async fn ensure_step(&mut self) -> anyhow::Result<()> {
        let is_alive = self.heartbeat().send().await.is_ok_and(|response| response.status().is_success());
        if is_alive { Ok(()) } else { self.begin_step().await }
    }

    fn heartbeat(&self) -> reqwest::RequestBuilder {
        self.of_job(Method::POST, "heartbeat").timeout(HEARTBEAT_INTERVAL * 2)
    }

    async fn begin_step(&mut self) -> anyhow::Result<()> {
        let (path, body) =
            (format!("/organizations/{SLUG}/pipelines/only/deployments"), json!({ "commitId": "0123abc" }));
        let made = self.api.call_ok(Method::POST, &path, &self.owner, Some(&body)).await?;
        self.facts.deployment = text(&made, "id")?;
        let wait = json!({ "waitSeconds": 20 });
        let job =
            self.api.call_ok(Method::POST, "/runner/jobs/acquire", &self.facts.runner, Some(&wait)).await?;
        self.facts.job = text(&job, "jobId").context("the hostile runner was given no job")?;
        self.job_token = text(&job, "jobToken")?;
        self.facts.step = text(&job["steps"][0], "stepRunId")?;
        let step = self.facts.step.clone();
        self.send_ok(self.of_job(Method::POST, &format!("steps/{step}/start"))).await?;
        let piece = format!("{:1023}\n", "a line of a log").repeat(PIECE_BYTES / 1024);
        for offset in (0..self.facts.log_bytes).step_by(PIECE_BYTES) {
            let place = format!("steps/{step}/logs?offset={offset}&at=2026-01-01T00:00:00Z");
            self.send_ok(self.of_job(Method::POST, &place).body(piece.clone())).await?;
        }
        self.keep_step();
        Ok(())
    }

    /// Sends heartbeats for this step from now on, and stops those for the step before it.
    fn keep_step(&mut self) {
        let heartbeat = self.heartbeat();
        self.keeping = JoinSet::new();
        self.keeping.spawn(async move {
            while let Some(heartbeat) = heartbeat.try_clone() {
                let _ = heartbeat.send().await;
                tokio::time::sleep(HEARTBEAT_INTERVAL).await;
            }
        });
    }

    fn of_job(&self, method: Method, rest: &str) -> reqwest::RequestBuilder {
        let path = format!("/runner/jobs/{}/{rest}", self.facts.job);
        self.api.request(method, &path, &self.facts.runner).header(JOB_TOKEN_HEADER, &self.job_token)
    }

    async fn send_ok(&self, request: reqwest::RequestBuilder) -> anyhow::Result<()> {
        let response = request.send().await?;
        if !response.status().is_success() {
            bail!(
                "a request of the hostile runner returned {}: {}",
                response.status(),
                response.text().await?
            );
        }
        Ok(())
    }
}

fn text(record: &Value, key: &str) -> anyhow::Result<String> {
    record[key].as_str().map(str::to_owned).with_context(|| format!("no `{key}` in {record}"))
}
