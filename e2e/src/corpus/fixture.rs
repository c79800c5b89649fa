//! The system that runs the cases: all real parts, one organization, one pipeline per case, and a runner whose steps run in
//! containers without a network.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use reqwest::Method;
use serde_json::{Value, json};

use crate::corpus::RunCorpus;
use crate::corpus::case::Case;
use crate::corpus::image::IMAGE;
use crate::corpus::repository::{self, REPOSITORY};
use crate::parts::containers::{Containers, Storage};
use crate::parts::deadline::Deadline;
use crate::parts::output::print_progress;
use crate::parts::runner::{Backend, Runner, RunnerLaunch, StepLimits};
use crate::scenarios::Scenarios;
use crate::scenarios::parts::Parts;
use crate::scenarios::people::People;

const ORGANIZATION: &str = "corpus";
/// Enough for compilers and databases; one of the cases exceeds the memory.
const STEP_LIMITS: StepLimits = StepLimits { memory_mib: 2_048, tmp_mib: 1_024, cpus: 2, pids: 2_048 };
pub(super) const STAGE: &str = "main";

pub(super) struct CorpusFixture {
    parts: Parts,
    containers: Containers,
    people: People,
    runner: Runner,
    /// The commits of `RUNS`.
    pub(super) commits: Vec<String>,
}

impl CorpusFixture {
    pub(super) async fn start(options: &RunCorpus, cases: &[Case], archive: &Path) -> anyhow::Result<Self> {
        let settings =
            Scenarios::alone(options.bin_dir.clone(), options.entry.clone(), options.keep, "info".to_owned());
        let parts = Parts::start(&settings, false).await?;
        match Self::prepare(&parts, options, cases, archive).await {
            Ok((containers, people, runner, commits)) => {
                Ok(Self { parts, containers, people, runner, commits })
            }
            Err(error) => {
                parts.end(options.keep).await?;
                Err(error)
            }
        }
    }

    async fn prepare(
        parts: &Parts,
        options: &RunCorpus,
        cases: &[Case],
        archive: &Path,
    ) -> anyhow::Result<(Containers, People, Runner, Vec<String>)> {
        print_progress("importing the image");
        let containers = Containers::start_on(Storage::Overlay, None).await?;
        let archive = archive.to_string_lossy();
        containers.run(&["import", "--change", "USER 1000:1000", &archive, IMAGE]).await?;
        let commits = repository::make(&parts.folder.join("repositories"), cases).await?;
        let people = People::of(parts, ORGANIZATION).await?;
        let token = people.owner();
        for case in cases {
            let body = json!({
                "name": case.name,
                "slug": case.name,
                "repository": parts.url_of_repository(REPOSITORY),
                "definition": definition(case),
            });
            parts.api.call_ok(Method::POST, &path("/pipelines"), token, Some(&body)).await?;
        }
        let body = Runner::creation_body("corpus", None);
        let made = parts.api.call_ok(Method::POST, &path("/runners"), token, Some(&body)).await?;
        let network = json!({ "network": "none" });
        parts.api.call_ok(Method::PATCH, &path("/runner-pools/default"), token, Some(&network)).await?;
        let mut runner = Runner::of(&made, "corpus", parts.folder.join("runners").join("corpus"))?;
        runner.set_step_limits(STEP_LIMITS);
        runner.start(&RunnerLaunch {
            programs: &parts.programs,
            url: parts.api.base(),
            docker_host: Some(containers.host()),
            backend: Backend::Container,
            concurrency: options.parallel,
            log_level: "info",
        })?;
        Ok((containers, people, runner, commits))
    }

    /// Starts a deployment of a case and returns its id.
    pub(super) async fn deploy(&self, case: &Case, commit: &str) -> anyhow::Result<String> {
        let (api, token) = (&self.parts.api, self.people.owner());
        let path = path(&format!("/pipelines/{}/deployments", case.name));
        let made = api.call_ok(Method::POST, &path, token, Some(&json!({ "commitId": commit }))).await?;
        Ok(made["id"].as_str().context("a deployment without an id")?.to_owned())
    }

    pub(super) async fn get(&self, below: &str) -> anyhow::Result<Value> {
        self.parts.api.get(&path(below), self.people.owner()).await
    }

    pub(super) async fn get_text(&self, below: &str) -> anyhow::Result<String> {
        let request = self.parts.api.request(Method::GET, &path(below), self.people.owner());
        let bytes = request.send().await?.error_for_status()?.bytes().await?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Stops everything when no case uses it any more: aborted ones need a moment.
pub(super) async fn end(mut fixture: Arc<CorpusFixture>, keep: bool) -> anyhow::Result<()> {
    let deadline = Deadline::in_seconds(10);
    let mut fixture = loop {
        match Arc::try_unwrap(fixture) {
            Ok(fixture) => break fixture,
            Err(used) => fixture = used,
        }
        deadline.wait(|| "a case still uses the stack".to_owned()).await?;
    };
    fixture.runner.end().await?;
    fixture.containers.end().await?;
    fixture.parts.end(keep).await
}

fn path(below: &str) -> String {
    format!("/organizations/{ORGANIZATION}{below}")
}

fn definition(case: &Case) -> String {
    let step = json!({ "image": IMAGE, "run": format!("exec bash harness.sh {}", case.name), "timeout": case.timeout });
    json!({ "stages": { STAGE: { "steps": [step], "timeout": "10m" } } }).to_string()
}
