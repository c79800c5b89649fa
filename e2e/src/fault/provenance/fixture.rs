//! The real parts of the campaign: server, worker, PostgreSQL, Temporal, a git server, pools, pipelines, and the product's runner in
//! two of the pools.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::fault::provenance::options::Provenance;
use crate::fault::provenance::pipelines::{DELIVERY_ENVIRONMENTS, PIPELINES, POOLS, PRODUCTION, Pool, Role};
use crate::fault::provenance::record::Record;
use crate::fault::provenance::runner_api::RunnerApi;
use crate::fault::provenance::{hostile, reader};
use crate::parts::output::print_progress;
use crate::parts::runner::{Backend, Runner, RunnerLaunch};
use crate::scenarios::parts::Parts;
use crate::scenarios::people::People;

const ORGANIZATION: &str = "provenance";
/// How many jobs each runner has at the same time: as many as there are pipelines.
const CONCURRENCY: usize = PIPELINES.len();

const RETRY_INTERVAL: Duration = Duration::from_secs(1);

pub(super) struct ProvenanceFixture {
    pub(super) parts: Parts,
    owner: String,
    runners: Vec<Runner>,
    /// The runners of the campaign itself.
    own_runners: Vec<(&'static Pool, Arc<RunnerApi>)>,
    ledger: PathBuf,
}

impl ProvenanceFixture {
    pub(super) async fn start(options: &Provenance) -> anyhow::Result<Self> {
        let parts = Parts::start(&options.stack.settings(), false).await?;
        let people = People::of(&parts, ORGANIZATION).await?;
        let mut fixture = Self {
            owner: people.owner().to_owned(),
            runners: Vec::new(),
            own_runners: Vec::new(),
            ledger: parts.folder.join("marks"),
            parts,
        };
        if let Err(error) = fixture.prepare().await {
            fixture.end(options.stack.keep).await?;
            return Err(error);
        }
        Ok(fixture)
    }

    async fn prepare(&mut self) -> anyhow::Result<()> {
        std::fs::create_dir_all(&self.ledger)?;
        for pool in &POOLS {
            self.start_runner(pool).await?;
        }
        let mut ids = Vec::new();
        for pipeline in &PIPELINES {
            let definition = pipeline.definition(&self.ledger.display().to_string());
            let mut body = json!({ "name": pipeline.slug, "slug": pipeline.slug, "definition": definition });
            if pipeline.has_repository {
                body["repository"] = self.parts.repository_url(None).into();
            }
            let made = self.call(Method::POST, "/pipelines", Some(body)).await?;
            ids.push(made["id"].as_str().context("a pipeline has no id")?.to_owned());
        }
        for pool in &POOLS {
            let restriction = match pool.rank {
                0 => continue,
                1 => json!({ "pipelines": ids }),
                2 => json!({ "pipelines": ids, "environments": DELIVERY_ENVIRONMENTS }),
                _ => {
                    json!({ "pipelines": ids.iter().take(1).collect::<Vec<_>>(), "environments": [PRODUCTION] })
                }
            };
            let path = format!("/runner-pools/{}", pool.name);
            self.call(Method::PATCH, &path, Some(restriction)).await?;
        }
        print_progress(&format!("{} pipelines, {} pools", PIPELINES.len(), POOLS.len()));
        Ok(())
    }

    async fn start_runner(&mut self, pool: &'static Pool) -> anyhow::Result<()> {
        let body = Runner::creation_body(pool.name, Some(pool.name));
        let made = self.call(Method::POST, "/runners", Some(body)).await?;
        if pool.role != Role::Runner {
            let token = made["token"].as_str().context("a runner has no token")?.to_owned();
            let runner = RunnerApi::new(self.parts.api.clone(), token, CONCURRENCY);
            self.own_runners.push((pool, Arc::new(runner)));
            return Ok(());
        }
        let mut runner = Runner::of(&made, pool.name, self.parts.folder.join("runners").join(pool.name))?;
        runner.start(&RunnerLaunch {
            programs: &self.parts.programs,
            url: self.parts.api.base(),
            docker_host: None,
            backend: Backend::Process,
            concurrency: u32::try_from(CONCURRENCY)?,
            log_level: "info",
        })?;
        self.runners.push(runner);
        Ok(())
    }

    /// Starts the runners of the campaign itself. They run until the set is dropped.
    pub(super) fn start_own_runners(&self, record: &Arc<Record>, seed: usize) -> JoinSet<()> {
        let mut running = JoinSet::new();
        for (pool, runner) in &self.own_runners {
            for _ in 0..CONCURRENCY {
                let (runner, record, role) = (Arc::clone(runner), Arc::clone(record), pool.role);
                running.spawn(async move {
                    while let Err(error) = take_jobs(&runner, &record, (role, seed)).await {
                        record.lock().broken.get_or_insert(format!("{error:#}"));
                        tokio::time::sleep(RETRY_INTERVAL).await;
                    }
                });
            }
        }
        running
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

    /// Returns what the steps of the product's runner have found, by job: each begins with a line of deployment and stage.
    pub(super) fn searches(&self) -> anyhow::Result<Vec<String>> {
        let mut found = Vec::new();
        for file in std::fs::read_dir(&self.ledger)? {
            let path = file?.path();
            if path.extension().is_none() {
                found.push(std::fs::read_to_string(path)?);
            }
        }
        Ok(found)
    }

    pub(super) async fn end(mut self, keep: bool) -> anyhow::Result<()> {
        for runner in &mut self.runners {
            runner.end().await?;
        }
        self.parts.end(keep).await
    }
}

/// Runs jobs of a pool, one after the other.
async fn take_jobs(runner: &RunnerApi, record: &Record, (role, seed): (Role, usize)) -> anyhow::Result<()> {
    loop {
        let Some(job) = runner.acquire().await? else { continue };
        match role {
            Role::Hostile => hostile::run(&job, record, seed).await?,
            Role::Reader | Role::Runner => reader::run(&job, record).await?,
        }
    }
}
