//! Runs the campaign, and judges what happened.

use std::collections::{BTreeMap, BTreeSet};

use reqwest::Method;
use serde_json::{Value, json};

use crate::fault::finding::Finding;
use crate::fault::steps::fixture::{FRESH_POOL, StepFixture};
use crate::parts::output::print_progress;

pub(super) struct Checked {
    pub(super) succeeded: usize,
    /// The digests of what ran.
    pub(super) digests: BTreeSet<String>,
    pub(super) moved_tags: usize,
    /// Deployments whose stored files had another digest.
    pub(super) mismatches: usize,
    pub(super) findings: Vec<Finding>,
}

pub(super) async fn run(fixture: &mut StepFixture, deployments: usize) -> anyhow::Result<Checked> {
    let mut findings = Vec::new();
    let locked = fixture.versions().await?;
    print_progress("the registry publishes a newer version and moves the tag of the locked one");
    fixture.registry.publish("1.1.0", "newer!").await?;
    fixture.registry.publish("1.0.0", "moved!").await?;
    fixture.wait_for_versions(2).await?;
    let moved_tags = fixture.wait_for_event("step.tag_moved").await?;
    if moved_tags == 0 {
        findings.push(Finding::new("S2", "the tag was moved, and there is no event step.tag_moved"));
    }
    let known = fixture.versions().await?;
    if known.get("1.0.0") != locked.get("1.0.0") {
        let text = format!("the moved tag has changed version 1.0.0: {locked:?} is now {known:?}");
        findings.push(Finding::new("S2", text));
    }

    let ids = deploy(fixture, deployments).await?;
    let digest = locked.get("1.0.0").cloned().unwrap_or_default();
    let (mut succeeded, mut digests) = (0, BTreeSet::new());
    for id in &ids {
        let (deployment, attempt) = fixture.end_of(id).await?;
        let ran = attempt["steps"][0]["stepDigest"].as_str().unwrap_or_default();
        digests.insert(ran.to_owned());
        match deployment["status"].as_str() {
            Some("succeeded") => succeeded += 1,
            _ => findings.push(Finding::new("S1", format!("{id} did not succeed: {}", why(&deployment)))),
        }
        if ran != digest {
            findings.push(Finding::new("S1", format!("{id} ran {ran} instead of {digest}")));
        }
    }
    findings.extend(compare_ledger(fixture, &ids, "locked"));
    print_progress(&format!("{succeeded} of {deployments} deployments succeeded"));

    findings.extend(check_update(fixture).await?);
    let mismatches = check_digest(fixture, &mut findings).await?;
    Ok(Checked { succeeded, digests, moved_tags, mismatches, findings })
}

/// Starts the deployments. The registry dies when a third of them has started.
async fn deploy(fixture: &mut StepFixture, deployments: usize) -> anyhow::Result<Vec<String>> {
    let mut ids = Vec::with_capacity(deployments);
    for number in 0..deployments {
        if number == deployments / 3 {
            print_progress("the registry dies");
            fixture.registry.kill();
            let sync = format!("/step-registries/{}/sync", fixture.registry_id);
            fixture.call(Method::POST, &sync, None).await?;
        }
        let pipeline = fixture.pipelines[number % fixture.pipelines.len()].clone();
        ids.push(fixture.deploy(&pipeline).await?);
    }
    Ok(ids)
}

/// Each of the deployments has written the content once.
fn compare_ledger(fixture: &StepFixture, ids: &[String], content: &str) -> Vec<Finding> {
    let mut lines: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (deployment, content) in fixture.ledger() {
        lines.entry(deployment).or_default().push(content);
    }
    let wrong = ids.iter().filter_map(|id| {
        let found = lines.get(id).map(Vec::as_slice).unwrap_or_default();
        (found != [content]).then(|| Finding::new("S1", format!("{id} ran {found:?}, not `{content}` once")))
    });
    wrong.collect()
}

/// After an update, the newer version runs, although its registry is dead.
async fn check_update(fixture: &StepFixture) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let pipeline = &fixture.pipelines[0];
    let path = format!("/pipelines/{pipeline}/update-steps");
    let updated = fixture.call(Method::POST, &path, None).await?;
    if updated["stepChanges"][0]["after"]["version"] != json!("1.1.0") {
        let text = format!("an update of the steps has changed {}", updated["stepChanges"]);
        findings.push(Finding::new("S4", text));
    }
    let id = fixture.deploy(pipeline).await?;
    let (deployment, _) = fixture.end_of(&id).await?;
    if deployment["status"] != "succeeded" {
        findings.push(Finding::new("S4", format!("the updated step did not run: {}", why(&deployment))));
    }
    findings.extend(compare_ledger(fixture, &[id], "newer!"));
    Ok(findings)
}

/// The stored files are changed. A runner that has not kept them must not run them. Returns how many deployments were refused.
async fn check_digest(fixture: &StepFixture, findings: &mut Vec<Finding>) -> anyhow::Result<usize> {
    let pipeline = "tampered";
    fixture.make_pipeline(pipeline, FRESH_POOL).await?;
    fixture.tamper("newer!\n", "other!\n").await?;
    let id = fixture.deploy(pipeline).await?;
    let (deployment, _) = fixture.end_of(&id).await?;
    if fixture.ledger().iter().any(|(deployment, _)| *deployment == id) {
        findings.push(Finding::new("S3", "a runner ran files whose digest is not the locked one"));
    }
    let is_refused = deployment["reason"] == "step_digest_mismatch";
    if !is_refused {
        let text = format!("files with another digest were not refused as such: {}", why(&deployment));
        findings.push(Finding::new("S3", text));
    }
    Ok(usize::from(is_refused))
}

fn why(deployment: &Value) -> String {
    let stage = &deployment["stages"][0];
    format!("{}: {} {}", deployment["status"], deployment["reason"], stage["detail"])
}
