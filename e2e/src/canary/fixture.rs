//! The system that the canary searches: all real parts, one organization with a runner in containers and one without,
//! and two pipelines whose steps run the same scripts, of which one has the secrets.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, bail};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::canary::options::Canary;
use crate::canary::print::{Print, STAGES, script, stage_key};
use crate::parts::api::Api;
use crate::parts::containers::{Containers, IMAGE};
use crate::parts::runner::{Backend, Runner, RunnerLaunch};
use crate::scenarios::Scenarios;
use crate::scenarios::parts::Parts;
use crate::scenarios::people::People;
use crate::search::values::CanarySecret;

pub(crate) const PIPELINE: &str = "canary";
pub(crate) const CONTROL_PIPELINE: &str = "control";
const ORGANIZATION: &str = "canary";
const REPOSITORY: &str = "prints.git";
/// The pool of the runner that runs steps as processes.
const HOST_POOL: &str = "host";
/// The stages of the pipeline that run as processes. All others run in containers.
const HOST_STAGES: usize = 2;
/// The length of the bulk of one log. Only long logs are in the object store.
const BULK_LINES: usize = 100_000;

/// Reads what the API returns to the organization's owner.
#[derive(Clone)]
pub(crate) struct Reader {
    api: Api,
    token: String,
}

impl Reader {
    pub(crate) fn request(&self, method: Method, below: &str) -> RequestBuilder {
        self.api.request(method, &path(below), &self.token)
    }

    pub(crate) async fn get(&self, below: &str) -> anyhow::Result<Value> {
        self.api.get(&path(below), &self.token).await
    }

    /// Returns null for what does not exist yet.
    pub(crate) async fn find(&self, below: &str) -> anyhow::Result<Value> {
        let response = self.api.call(Method::GET, &path(below), &self.token, None).await?;
        match response.status {
            200 => Ok(response.data().clone()),
            404 => Ok(Value::Null),
            status => bail!("{below} returned {status} {:#}", response.body),
        }
    }
}

pub(crate) struct CanaryFixture {
    pub(crate) parts: Parts,
    people: People,
    pub(crate) runners: Vec<Runner>,
    commit: String,
}

impl CanaryFixture {
    pub(crate) async fn start(options: &Canary, prints: &[Print]) -> anyhow::Result<Self> {
        let settings = Scenarios::alone(
            options.bin_dir.clone(),
            options.entry.clone(),
            options.keep,
            "trace".to_owned(),
        );
        let parts = Parts::start(&settings, true).await?;
        match Self::prepare(&parts, options.secrets as usize, prints).await {
            Ok((people, runners, commit)) => Ok(Self { parts, people, runners, commit }),
            Err(error) => {
                parts.end(options.keep).await?;
                Err(error)
            }
        }
    }

    async fn prepare(
        parts: &Parts,
        secrets: usize,
        prints: &[Print],
    ) -> anyhow::Result<(People, Vec<Runner>, String)> {
        let commit = make_repository(&parts.folder.join("repositories"), prints).await?;
        let people = People::of(parts, ORGANIZATION).await?;
        let token = people.owner();
        for (slug, has_secrets) in [(PIPELINE, true), (CONTROL_PIPELINE, false)] {
            let body = json!({
                "name": slug,
                "slug": slug,
                "repository": parts.url_of_repository(REPOSITORY),
                "definition": definition(has_secrets.then_some(secrets)),
            });
            parts.api.call_ok(Method::POST, &path("/pipelines"), token, Some(&body)).await?;
        }
        let mut runners = Vec::new();
        for (name, pool, backend) in
            [("containers", "default", Backend::Container), (HOST_POOL, HOST_POOL, Backend::Process)]
        {
            let body = Runner::creation_body(name, Some(pool));
            let made = parts.api.call_ok(Method::POST, &path("/runners"), token, Some(&body)).await?;
            let mut runner = Runner::of(&made, name, parts.folder.join("runners").join(name))?;
            runner.start(&RunnerLaunch {
                programs: &parts.programs,
                url: parts.api.base(),
                docker_host: parts.containers.as_ref().map(Containers::host),
                backend,
                concurrency: 2,
                log_level: "trace",
            })?;
            runners.push(runner);
        }
        Ok((people, runners, commit))
    }

    pub(crate) fn reader(&self) -> Reader {
        Reader { api: self.parts.api.clone(), token: self.people.owner().to_owned() }
    }

    pub(crate) fn request(&self, method: Method, below: &str) -> RequestBuilder {
        self.parts.api.request(method, &path(below), self.people.owner())
    }

    pub(crate) async fn get(&self, below: &str) -> anyhow::Result<Value> {
        self.reader().get(below).await
    }

    async fn post(&self, below: &str, body: &Value) -> anyhow::Result<Value> {
        self.parts.api.call_ok(Method::POST, &path(below), self.people.owner(), Some(body)).await
    }

    pub(crate) async fn create_secrets(&self, secrets: &[CanarySecret]) -> anyhow::Result<()> {
        for secret in secrets {
            let body = json!({ "name": secret.name, "pipelineId": PIPELINE, "value": secret.value });
            self.post("/secrets", &body).await?;
        }
        Ok(())
    }

    /// Sends requests with values that are rejected, and returns the responses.
    pub(crate) async fn provoke_errors(&self, secrets: &[CanarySecret]) -> anyhow::Result<Vec<u8>> {
        let first = self.get("/secrets?limit=1").await?;
        let id = first[0]["id"].as_str().context("there is no secret")?.to_owned();
        // A value that is too long, but a body that is not: the server would close the connection.
        let padding = "x".repeat(65_536);
        let mut responses = Vec::new();
        for CanarySecret { name, value } in secrets.iter().take(10) {
            let (one, value_path) = (format!("/secrets/{id}"), format!("/secrets/{id}/value"));
            let rejected = [
                (Method::POST, "/secrets", json!({ "name": name, "pipelineId": PIPELINE, "value": value })),
                // With the question mark no value is a valid name; random letters alone can be one.
                (Method::POST, "/secrets", json!({ "name": format!("{value}?"), "value": value })),
                (Method::POST, "/secrets", json!({ "name": "other", "value": [value] })),
                (Method::POST, "/secrets", json!({ "name": "other", "value": value, "unknown": true })),
                (Method::PATCH, one.as_str(), json!({ "value": value })),
                (Method::PUT, value_path.as_str(), json!({ "value": format!("{value}\0") })),
                (Method::PUT, value_path.as_str(), json!({ "value": format!("{value}{padding}") })),
                (Method::PUT, "/secrets/unknown/value", json!({ "value": value })),
            ];
            for (method, below, body) in rejected {
                let response = self.request(method.clone(), below).json(&body).send().await?;
                if response.status().is_success() {
                    bail!("{method} {below} was not rejected");
                }
                responses.extend_from_slice(format!("{:?}\n", response.headers()).as_bytes());
                responses.extend_from_slice(&response.bytes().await?);
            }
        }
        Ok(responses)
    }

    /// Starts a deployment of a pipeline and returns its id.
    pub(crate) async fn deploy(&self, pipeline: &str) -> anyhow::Result<String> {
        let body = json!({ "commitId": self.commit });
        let made = self.post(&format!("/pipelines/{pipeline}/deployments"), &body).await?;
        Ok(made["id"].as_str().context("a deployment without an id")?.to_owned())
    }

    pub(crate) async fn end(mut self, keep: bool) -> anyhow::Result<()> {
        for runner in &mut self.runners {
            runner.end().await?;
        }
        self.parts.end(keep).await
    }
}

fn path(below: &str) -> String {
    format!("/organizations/{ORGANIZATION}{below}")
}

/// Each stage runs its script. With secrets, it has its share of them as variables and as files, and prints those too.
fn definition(secrets: Option<usize>) -> String {
    let mut stages = serde_json::Map::new();
    for stage in 0..STAGES {
        let own = (0..secrets.unwrap_or_default()).filter(|number| number % STAGES == stage);
        let (mut given, mut run) = (serde_json::Map::new(), "set -u\n".to_owned());
        for number in own {
            let name = format!("canary-{number}");
            given.insert(format!("VALUE_{number}"), json!(name));
            given.insert(format!("FILE_{number}"), json!({ "secret": name, "file": true }));
            run += &format!("printf '%s\\n' \"$VALUE_{number}\"; cat \"$FILE_{number}\"\n");
        }
        if secrets.is_some() && stage == 0 {
            run += &format!("yes \"$VALUE_0 and more\" | head -n {BULK_LINES}\n");
        }
        run += &format!("sh prints/{stage}.sh\n");
        let is_host = secrets.is_none() || stage < HOST_STAGES;
        let mut definition =
            json!({ "steps": [{ "image": IMAGE, "run": run, "secrets": given }], "timeout": "1h" });
        if is_host {
            definition["runner"] = json!({ "pool": HOST_POOL });
        }
        stages.insert(stage_key(stage), definition);
    }
    json!({ "stages": stages }).to_string()
}

/// Makes the repository with the scripts, and returns the id of its commit.
async fn make_repository(root: &Path, prints: &[Print]) -> anyhow::Result<String> {
    let work = root.join("prints");
    std::fs::create_dir_all(work.join("prints"))?;
    for stage in 0..STAGES {
        std::fs::write(work.join(format!("prints/{stage}.sh")), script(prints, stage))?;
    }
    let bare = root.join(REPOSITORY).to_string_lossy().into_owned();
    for arguments in [
        &["init", "--quiet", "--initial-branch=main"][..],
        &["add", "--all"],
        &["commit", "--quiet", "--message", "prints"],
        &["clone", "--quiet", "--bare", ".", &bare],
    ] {
        git(&work, arguments).await?;
    }
    git(&work, &["rev-parse", "HEAD"]).await
}

async fn git(work: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=Canary", "-c", "user.email=canary@example.test"]).args(arguments);
    command.current_dir(work).env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    let output = command.stdin(Stdio::null()).output().await.context("git is needed")?;
    if !output.status.success() {
        bail!("git {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
