//! Starts the deployments of a pipeline, one after the other: sessions and deployments of the pipeline, of different commits, with
//! and without a named branch.

use anyhow::Context;
use reqwest::Method;
use serde_json::{Value, json};

use crate::fault::provenance::fixture::ProvenanceFixture;
use crate::fault::provenance::pipelines::{EPHEMERAL, Pipeline, Role, find_pool};
use crate::fault::provenance::record::{Record, Started};
use crate::parts::deadline::Deadline;

const END_TIMEOUT_SECONDS: u64 = 180;

/// Which branch a deployment names.
#[derive(Clone, Copy)]
enum Named {
    None,
    Branch(&'static str),
    /// One that its environments allow and its commit is not on; `other`, which it is on, if they allow every branch.
    Claimed,
}

impl Named {
    fn of(self, pipeline: &Pipeline) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Branch(branch) => Some(branch),
            Self::Claimed => Some(pipeline.branches.first().copied().unwrap_or("other")),
        }
    }
}

struct Start {
    is_session: bool,
    /// The name of the commit, and the branches that contain it.
    commit: (&'static str, &'static [&'static str]),
    branch: Named,
    /// Whether the caches are deleted before, so that this deployment can be the first to leave some.
    clears_caches: bool,
}

const MAIN: (&str, &[&str]) = ("main", &["main"]);
const OTHER: (&str, &[&str]) = ("other", &["other", "third"]);

const fn session(commit: (&'static str, &'static [&'static str]), clears_caches: bool) -> Start {
    Start { is_session: true, commit, branch: Named::None, clears_caches }
}

const fn whole(commit: (&'static str, &'static [&'static str]), branch: Named, clears_caches: bool) -> Start {
    Start { is_session: false, commit, branch, clears_caches }
}

/// Hostile runners leave something in those with an even number.
static STARTS: [Start; 8] = [
    session(OTHER, true),
    whole(MAIN, Named::Branch("main"), false),
    whole(MAIN, Named::Branch("main"), true),
    whole(MAIN, Named::None, false),
    whole(OTHER, Named::Claimed, true),
    whole(MAIN, Named::None, false),
    session(MAIN, false),
    whole(OTHER, Named::Branch("other"), false),
];

/// Starts this many deployments and waits for the end of each.
pub(super) async fn run(
    fixture: &ProvenanceFixture,
    record: &Record,
    pipeline: &'static Pipeline,
    count: usize,
) -> anyhow::Result<()> {
    for number in 0..count {
        let start = &STARTS[number % STARTS.len()];
        let context = || format!("deployment {number} of {}", pipeline.slug);
        deploy(fixture, record, pipeline, (number, start)).await.with_context(context)?;
    }
    Ok(())
}

async fn deploy(
    fixture: &ProvenanceFixture,
    record: &Record,
    pipeline: &'static Pipeline,
    (number, start): (usize, &Start),
) -> anyhow::Result<()> {
    let own = format!("/pipelines/{}", pipeline.slug);
    if start.clears_caches {
        fixture.call(Method::DELETE, &format!("{own}/caches?all=true"), None).await?;
    }
    let (commit, contained_in) = start.commit;
    let mut body = json!({ "commitId": fixture.parts.repository.commit(commit)? });
    let branch = start.branch.of(pipeline);
    if let Some(branch) = branch {
        body["branch"] = branch.into();
    }
    let environment = format!("{own}/ephemeral-environments/{EPHEMERAL}");
    let path = match start.is_session {
        true => format!("{environment}/sessions"),
        false => format!("{own}/deployments"),
    };
    let made = fixture.call(Method::POST, &path, Some(body)).await?;
    let id = if start.is_session { &made["deployments"][0]["id"] } else { &made["id"] };
    let id = id.as_str().context("a deployment has no id")?.to_owned();
    let is_session = start.is_session;
    let started = Started { pipeline, number, is_session, contained_in, branch };
    record.lock().deployments.insert(id.clone(), started);
    wait_for_end(fixture, record, &id).await?;
    if let Some(session) = made["sessionId"].as_str() {
        fixture.call(Method::DELETE, &format!("{environment}/sessions/{session}"), None).await?;
    }
    Ok(())
}

async fn wait_for_end(fixture: &ProvenanceFixture, record: &Record, id: &str) -> anyhow::Result<()> {
    let deadline = Deadline::in_seconds(END_TIMEOUT_SECONDS);
    let mut is_canceled = false;
    loop {
        let broken = record.lock().broken.clone();
        if let Some(broken) = broken {
            anyhow::bail!("a runner of the campaign could not go on: {broken}");
        }
        let found = fixture.call(Method::GET, &format!("/deployments/{id}"), None).await?;
        if !found["endedAt"].is_null() {
            return Ok(());
        }
        if !is_canceled && is_refused_by_runner(&found) {
            is_canceled = true;
            fixture.call(Method::POST, &format!("/deployments/{id}/cancel"), Some(json!({}))).await?;
        }
        deadline.wait(|| format!("the deployment has not ended: {found:#}")).await?;
    }
}

/// Returns whether the product's runner has refused what a stage gets, which the platform would attempt twice more.
fn is_refused_by_runner(deployment: &Value) -> bool {
    let stages = deployment["stages"].as_array().map(Vec::as_slice).unwrap_or_default();
    stages.iter().any(|stage| {
        let pool = stage["pool"].as_str().and_then(find_pool);
        !stage["retryAt"].is_null() && pool.is_some_and(|pool| pool.role == Role::Runner)
    })
}
