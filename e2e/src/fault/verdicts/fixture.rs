//! The real parts of the campaign: PostgreSQL, Temporal, a server, two workers, runners that run steps as processes or in containers,
//! and six people.

use anyhow::Context;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::fault::verdicts::cause::Causes;
use crate::fault::verdicts::options::Verdicts;
use crate::fault::verdicts::plants::{Plants, Script};
use crate::parts::containers::Containers;
use crate::parts::daemon::Daemon;
use crate::parts::runner::{Backend, Runner, RunnerLaunch};
use crate::scenarios::parts::Parts;
use crate::scenarios::people::People;

const ORGANIZATION: &str = "verdicts";
pub(super) const POOL: &str = "default";
/// The pool of the runner that is killed.
pub(super) const LOST_POOL: &str = "lost";
/// The pool of the runner with containers.
pub(super) const CONTAINER_POOL: &str = "containers";
pub(super) const PEOPLE: usize = 6;
/// Soon enough for a lost runner, and late enough for a busy machine.
const LEASE_SECONDS: u64 = 8;
const CONCURRENCY: u32 = 6;
/// A runner that is killed has all of its jobs at the same time.
const LOST_CONCURRENCY: u32 = 64;

pub(super) struct VerdictFixture {
    pub(super) parts: Parts,
    pub(super) plants: Plants,
    pub(super) causes: Causes,
    owner: String,
    people: Vec<String>,
    /// Verdicts about failures in the same way are decided concurrently.
    second_worker: Daemon,
    runners: Vec<Runner>,
    pub(super) lost_runner: Mutex<Runner>,
}

/// What is on the parts.
struct Prepared {
    plants: Plants,
    owner: String,
    people: Vec<String>,
    second_worker: Daemon,
    runners: Vec<Runner>,
    lost_runner: Runner,
}

impl VerdictFixture {
    pub(super) async fn start(options: &Verdicts) -> anyhow::Result<Self> {
        let mut settings = options.stack.settings();
        settings.lease_seconds = LEASE_SECONDS;
        let parts = Parts::start(&settings, true).await?;
        match Self::prepare(&parts).await {
            Ok(Prepared { plants, owner, people, second_worker, runners, lost_runner }) => {
                let (lost_runner, causes) = (Mutex::new(lost_runner), Causes::default());
                Ok(Self { parts, plants, causes, owner, people, second_worker, runners, lost_runner })
            }
            Err(error) => {
                parts.end(options.stack.keep).await?;
                Err(error)
            }
        }
    }

    async fn prepare(parts: &Parts) -> anyhow::Result<Prepared> {
        let plants = Plants::make(parts.folder.join("plants"))?;
        let mut people = People::of(parts, ORGANIZATION).await?;
        let mut tokens = Vec::new();
        for number in 0..PEOPLE {
            tokens.push(people.add(parts, &format!("person-{number}"), "developer").await?);
        }
        let owner = people.owner().to_owned();
        let mut runners = Vec::new();
        for (pool, backend, concurrency) in [
            (POOL, Backend::Process, CONCURRENCY),
            (CONTAINER_POOL, Backend::Container, 1),
            (LOST_POOL, Backend::Process, LOST_CONCURRENCY),
        ] {
            let (name, body) = (pool, Runner::creation_body(pool, Some(pool)));
            let path = format!("/organizations/{ORGANIZATION}/runners");
            let made = parts.api.call_ok(Method::POST, &path, &owner, Some(&body)).await?;
            let mut runner = Runner::of(&made, name, parts.folder.join("runners").join(name))?;
            runner.start(&RunnerLaunch {
                programs: &parts.programs,
                url: parts.api.base(),
                docker_host: parts.containers.as_ref().map(Containers::host),
                backend,
                concurrency,
                log_level: "info",
            })?;
            runners.push(runner);
        }
        let lost_runner = runners.pop().context("there is no runner")?;
        let second_worker = parts.start_second_worker().await?;
        Ok(Prepared { plants, owner, people: tokens, second_worker, runners, lost_runner })
    }

    pub(super) async fn create_pipeline(
        &self,
        slug: &str,
        pool: &str,
        script: Script<'_>,
    ) -> anyhow::Result<()> {
        let definition = self.plants.definition(slug, pool, script);
        let body = json!({ "name": slug, "slug": slug, "definition": definition });
        self.call(None, Method::POST, "/pipelines", Some(body)).await.map(drop)
    }

    pub(super) async fn change_definition(&self, slug: &str, name: &str) -> anyhow::Result<()> {
        let body = json!({ "definition": self.plants.definition(slug, POOL, Script::Plain(name)) });
        self.call(None, Method::PUT, &format!("/pipelines/{slug}"), Some(body)).await.map(drop)
    }

    /// Sends a request of a person, or of the owner, that has to succeed.
    pub(super) async fn call(
        &self,
        person: Option<usize>,
        method: Method,
        below: &str,
        body: Option<Value>,
    ) -> anyhow::Result<Value> {
        let token = person.and_then(|person| self.people.get(person)).unwrap_or(&self.owner);
        let path = format!("/organizations/{ORGANIZATION}{below}");
        self.parts.api.call_ok(method, &path, token, body.as_ref()).await
    }

    pub(super) async fn get(&self, below: &str) -> anyhow::Result<Value> {
        self.call(None, Method::GET, below, None).await
    }

    pub(super) async fn end(mut self, keep: bool) -> anyhow::Result<()> {
        for runner in &mut self.runners {
            runner.end().await?;
        }
        self.lost_runner.into_inner().end().await?;
        self.second_worker.end().await?;
        self.parts.end(keep).await
    }
}
