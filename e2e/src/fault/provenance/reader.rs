//! An honest runner of the campaign. It does what the product's runner does, through the same API, and reads all that its jobs get.

use serde_json::json;

use crate::fault::provenance::leaving::ArtifactKind;
use crate::fault::provenance::mark::Place;
use crate::fault::provenance::pipelines::CACHES;
use crate::fault::provenance::reading;
use crate::fault::provenance::record::{Record, Started};
use crate::fault::provenance::runner_api::Job;

pub(super) async fn run(job: &Job<'_>, record: &Record) -> anyhow::Result<()> {
    let started = record.deployment(&job.deployment).await?;
    if let Some(commit) = job.commit() {
        let Some(branch) = proven(job, &started) else {
            let body =
                json!({ "failure": "commit_not_on_branch", "error": "the commit is on another branch" });
            return job.complete(body).await.map(drop);
        };
        job.check_out(commit, branch).await?;
    }
    let found = reading::read(job, record).await?;
    for step in &job.steps {
        if job.start(step).await? != 200 {
            return job.complete(json!({ "error": "a step was refused" })).await.map(drop);
        }
        job.succeed(step, job.outputs()).await?;
    }
    if !job.given["artifacts"].as_array().is_none_or(Vec::is_empty) {
        job.put("/artifact", job.artifact(ArtifactKind::Declared)).await?;
    }
    for key in CACHES.into_iter().filter(|key| !found.contains(*key)) {
        // Refused if the deployment may keep none.
        job.put(&format!("/caches/{key}"), job.cache(key, Place::Declared)).await?;
    }
    job.complete(json!({})).await.map(drop)
}

/// Returns the branch that a checkout proves, if one is required; `None` if the commit is on no branch that is.
fn proven(job: &Job<'_>, started: &Started) -> Option<Option<&'static str>> {
    let required = &job.given["source"]["mustBeOn"];
    if required.is_null() {
        return Some(None);
    }
    let is_on = |branch: &str| started.contained_in.contains(&branch);
    let named = required["branch"].as_str();
    if named.is_some_and(|named| !is_on(named)) {
        return None;
    }
    let allowed = required["anyOf"].as_array().filter(|branches| !branches.is_empty());
    let is_allowed = |branch: &str| match allowed {
        Some(allowed) => allowed.iter().any(|one| one == branch),
        None => named.is_none_or(|named| named == branch),
    };
    started.contained_in.iter().copied().find(|branch| is_allowed(branch)).map(Some)
}
