//! One hostile registry: it is added, read by the worker, and looked at as a user would.

use std::fmt::Write;
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use greenroom_hostile_registries::git_server::GitServer;
use greenroom_hostile_registries::repository::Repository;
use greenroom_hostile_registries::{HostileRegistry, SeenIn, Served};
use reqwest::Method;
use serde_json::{Value, json};

use crate::hostile::fixture::HostileFixture;
use crate::hostile::memory::MemoryMeter;
use crate::hostile::report::AttemptResult;
use crate::parts::deadline::Deadline;
use crate::parts::stalls::StallDetector;

/// Longer than a registry may take.
const TIMEOUT_SECONDS: u64 = 120;
/// What hostile registries publish too, and which is good.
const GOOD_VERSIONS: [&str; 4] = ["1.0.0", "1.0.1", "1.1.0", "1.2.0"];
/// What users read instead of the reason: all registries are on this machine, which only the operator's list allows.
const ONLY_LISTED: &str = "only the setting --outbound-allow opens";
const LOGGED: &str = "a request to a destination in --outbound-allow failed";
const REGISTRIES: &str = "/step-registries";

pub(super) struct Attempt<'a> {
    pub(super) fixture: &'a HostileFixture,
    pub(super) registry: &'a HostileRegistry,
    /// The digest of the good step.
    pub(super) digest: &'a str,
    pub(super) stalls: &'a StallDetector,
}

/// Adds a registry without an attack, which has to be accepted. Returns the digest of its step.
pub(super) async fn control(fixture: &HostileFixture) -> anyhow::Result<String> {
    let repository = Repository::with_step();
    let server = GitServer::start(&repository).await;
    let body = json!({ "name": "control", "url": server.url });
    let created = fixture.call_ok(Method::POST, REGISTRIES, Some(&body)).await?;
    let id = created["id"].as_str().context("a registry has no id")?;
    let synced = wait_for_sync(fixture, id).await?;
    ensure!(synced["status"] == "active", "the control is refused: {synced:#}");
    let uses = json!({ "uses": "control/roll-out@v1" });
    let resolved = fixture.call_ok(Method::POST, &format!("{REGISTRIES}/resolve"), Some(&uses)).await?;
    resolved["digest"].as_str().map(str::to_owned).context("a resolved step has no digest")
}

/// Waits until the worker has read a registry. Returns its record.
async fn wait_for_sync(fixture: &HostileFixture, id: &str) -> anyhow::Result<Value> {
    let deadline = Deadline::in_seconds(TIMEOUT_SECONDS);
    loop {
        let found = fixture.get(&format!("{REGISTRIES}/{id}")).await?;
        if !found["syncedAt"].is_null() || !found["error"].is_null() {
            return Ok(found);
        }
        deadline.wait(|| format!("{found:#}")).await?;
    }
}

impl Attempt<'_> {
    pub(super) async fn run(&self) -> anyhow::Result<AttemptResult> {
        std::fs::write(self.fixture.hosts(), "127.0.0.1 localhost\n")?;
        let served = self.registry.serve(&self.fixture.hosts()).await;
        let memory = MemoryMeter::start(self.fixture.worker()?)?;
        let started = Instant::now();
        let tried = self.attack(&served).await;
        let seconds = self.stalls.running_since(started).as_secs_f64();
        let (worker_mib, programs_mib) = memory.growth_mib()?;
        let mut problem = String::new();
        let reason = tried.unwrap_or_else(|error| {
            let _ = write!(problem, "{error:#}");
            String::new()
        });
        if served.trapped_connections() > 0 {
            problem.push_str("a connection was made to an address that is not allowed");
        }
        let registry = self.registry;
        Ok(AttemptResult {
            name: registry.name,
            reason,
            problem,
            seconds,
            worker_mib,
            programs_mib,
            in_ci: registry.in_ci,
        })
    }

    /// Returns the reason with which the registry was refused.
    async fn attack(&self, served: &Served) -> anyhow::Result<String> {
        let mut body = json!({ "name": self.registry.name, "url": served.url });
        if let (Some(body), Some(settings)) = (body.as_object_mut(), served.settings.as_object()) {
            body.extend(settings.clone());
        }
        if self.registry.seen_in == SeenIn::Creation {
            let response = self.fixture.call(Method::POST, REGISTRIES, Some(&body)).await?;
            ensure!(response.status == 422, "it was created: {:#}", response.body);
            return self.expected(&response.body["errors"].to_string());
        }
        let logged = self.fixture.worker_log()?.len();
        let created = self.fixture.call_ok(Method::POST, REGISTRIES, Some(&body)).await?;
        let id = created["id"].as_str().context("a registry has no id")?;
        let record = wait_for_sync(self.fixture, id).await?;
        if let Some(change) = &served.change {
            ensure!(record["status"] == "active", "it is refused before its attack: {record:#}");
            change();
            self.fixture.call_ok(Method::POST, &format!("{REGISTRIES}/{id}/sync"), None).await?;
        }
        let reason = match self.registry.seen_in {
            SeenIn::Event(event_type) => self.reason_in_event(id, event_type).await?,
            SeenIn::Resolution => self.reason_in_resolution().await?,
            SeenIn::Status | SeenIn::Creation => {
                ensure!(record["status"] == "degraded", "it is not refused: {record:#}");
                let error = record["error"].as_str().unwrap_or_default();
                if error.contains(ONLY_LISTED) { self.reason_in_log(logged)? } else { error.to_owned() }
            }
        };
        let reason = self.expected(&reason)?;
        self.check_published(id).await?;
        self.fixture.call_ok(Method::DELETE, &format!("{REGISTRIES}/{id}"), None).await?;
        let left = self.fixture.temporary_files()?;
        ensure!(left == 0, "{left} temporary files were left behind");
        Ok(reason)
    }

    fn expected(&self, reason: &str) -> anyhow::Result<String> {
        ensure!(reason.contains(self.registry.reason), "refused for another reason: {reason:?}");
        ensure!(!reason.contains("hunter2"), "the reason contains text of the server: {reason:?}");
        Ok(reason.to_owned())
    }

    /// Returns the reason that the worker has logged since then.
    fn reason_in_log(&self, since: usize) -> anyhow::Result<String> {
        let log = self.fixture.worker_log()?;
        let new = log.get(since..).unwrap_or_default();
        let line = new.lines().find(|line| line.contains(LOGGED));
        line.map(str::to_owned).context("the worker has not logged a reason")
    }

    async fn reason_in_event(&self, id: &str, event_type: &str) -> anyhow::Result<String> {
        let deadline = Deadline::in_seconds(TIMEOUT_SECONDS);
        loop {
            let events = self.fixture.get(&format!("/events?type={event_type}")).await?;
            let events = events.as_array().context("the events are no list")?;
            let is_about = |event: &&Value| event["data"]["after"]["registryId"] == id;
            if let Some(event) = events.iter().find(is_about) {
                let reason = event["reason"].as_str().or_else(|| event["data"]["reason"].as_str());
                return reason.map(str::to_owned).with_context(|| format!("no reason in {event:#}"));
            }
            deadline.wait(|| format!("no event {event_type} of {id}")).await?;
        }
    }

    /// Neither a range nor the exact version is resolved.
    async fn reason_in_resolution(&self) -> anyhow::Result<String> {
        let mut reason = String::new();
        for version in ["v1", "v1.0.0"] {
            let uses = json!({ "uses": format!("{}/roll-out@{version}", self.registry.name) });
            let path = format!("{REGISTRIES}/resolve");
            let response = self.fixture.call(Method::POST, &path, Some(&uses)).await?;
            if response.status != 422 {
                bail!("it was resolved: {:#}", response.body);
            }
            reason = self.expected(&response.body["errors"].to_string())?;
        }
        Ok(reason)
    }

    /// Nothing but good content may have been published.
    async fn check_published(&self, id: &str) -> anyhow::Result<()> {
        let steps = self.fixture.get(&format!("{REGISTRIES}/{id}/steps")).await?;
        for step in steps.as_array().context("the steps are no list")? {
            let name = step["name"].as_str().context("a step has no name")?;
            let versions = self.fixture.get(&format!("{REGISTRIES}/{id}/steps/{name}/versions")).await?;
            for version in versions.as_array().context("the versions are no list")? {
                let is_good = GOOD_VERSIONS.iter().any(|good| version["version"] == *good);
                ensure!(is_good && version["digest"] == self.digest, "it was published: {version:#}");
            }
        }
        Ok(())
    }
}
