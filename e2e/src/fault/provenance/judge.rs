//! Judges what happened: the marks that jobs have found, by the oracle, and the steps of each attempt.

use std::collections::BTreeMap;

use jiff::Timestamp;
use reqwest::Method;
use serde_json::Value;

use crate::fault::finding::Finding;
use crate::fault::provenance::attack::{Attack, Tried};
use crate::fault::provenance::fixture::ProvenanceFixture;
use crate::fault::provenance::mark::{self, Mark, Medium};
use crate::fault::provenance::oracle::{Consumer, Forbidden, Origin, judge};
use crate::fault::provenance::pipelines::{POOLS, Role, find_pool};
use crate::fault::provenance::record::{Arrival, Recorded, Started};

/// Begins the error of a job whose input was not unpacked.
const REFUSED_ARTIFACT: &str = "could not unpack the artifact";

pub(super) struct Judged {
    pub(super) attempts: BTreeMap<Attack, Tried>,
    pub(super) never_tried: Vec<Attack>,
    /// Marks that were found where they may be.
    pub(super) legitimate: BTreeMap<Medium, usize>,
    /// The same by the pool of the job that has found them.
    pub(super) legitimate_by_pool: BTreeMap<&'static str, usize>,
    /// Marks that were found where they must not be, by the reason.
    pub(super) forbidden: BTreeMap<String, usize>,
    /// Marks of a pool of a lower rank that were found in a job which does not accept them.
    pub(super) lower_origin: usize,
    pub(super) read_jobs: usize,
    pub(super) searched_jobs: usize,
    /// Attempts that the product's runner has ended because of what an artifact contains.
    pub(super) refused_by_runner: usize,
    /// How many stages have ended with each status and reason.
    pub(super) stages: BTreeMap<String, usize>,
    pub(super) findings: Vec<Finding>,
}

pub(super) async fn run(fixture: &ProvenanceFixture, mut recorded: Recorded) -> anyhow::Result<Judged> {
    let searches = fixture.searches()?;
    for search in &searches {
        recorded.arrivals.extend(arrivals(search));
    }
    let mut judged = Judged {
        attempts: BTreeMap::new(),
        never_tried: Vec::new(),
        legitimate: Medium::ALL.into_iter().map(|medium| (medium, 0)).collect(),
        legitimate_by_pool: POOLS.iter().map(|pool| (pool.name, 0)).collect(),
        forbidden: BTreeMap::new(),
        lower_origin: 0,
        read_jobs: recorded.read_jobs,
        searched_jobs: searches.len(),
        refused_by_runner: 0,
        stages: BTreeMap::new(),
        findings: std::mem::take(&mut recorded.findings),
    };
    for arrival in std::mem::take(&mut recorded.arrivals) {
        judged.judge_arrival(&mut recorded, &arrival)?;
    }
    let mut ids: Vec<&String> = recorded.deployments.keys().collect();
    ids.sort_unstable();
    for id in ids {
        judged.judge_steps(fixture, id).await?;
    }
    judged.never_tried = recorded.attempts.missing();
    judged.attempts = recorded.attempts.finish();
    Ok(judged)
}

/// Returns the marks that a step of the product's runner has found.
fn arrivals(search: &str) -> Vec<Arrival> {
    let (head, marks) = search.split_once('\n').unwrap_or((search, ""));
    let (deployment, stage) = head.split_once(' ').unwrap_or_default();
    let marks = mark::find(marks.as_bytes()).into_iter();
    marks.map(|mark| Arrival { deployment: deployment.to_owned(), stage: stage.to_owned(), mark }).collect()
}

impl Judged {
    fn judge_arrival(&mut self, recorded: &mut Recorded, arrival: &Arrival) -> anyhow::Result<()> {
        let Arrival { deployment, stage, mark } = arrival;
        let started = |id: &str| {
            let found = recorded.deployments.get(id);
            found.ok_or_else(|| anyhow::anyhow!("the campaign has not started {id}"))
        };
        let (consuming, of_origin) = (started(deployment)?, started(&mark.deployment)?);
        let consuming_stage = consuming.pipeline.stage(stage);
        let consumer = Consumer {
            pipeline: consuming.pipeline,
            stage: consuming_stage.ok_or_else(|| anyhow::anyhow!("there is no stage {stage}"))?,
            deployment,
            is_session: consuming.is_session,
        };
        let branch = branch_of(recorded, of_origin, mark);
        let origin = Origin { pipeline: of_origin.pipeline, branch };
        let Err(why) = judge(mark, origin, consumer) else {
            *self.legitimate.entry(mark.medium).or_default() += 1;
            *self.legitimate_by_pool.entry(consumer.stage.pool).or_default() += 1;
            return Ok(());
        };
        let text = format!(
            "{why:?}: stage {stage} of {deployment} ({}, pool {}) got {}",
            consumer.pipeline.slug,
            consumer.stage.pool,
            mark.text()
        );
        self.findings.push(Finding::new("P1", text));
        self.lower_origin += usize::from(why == Forbidden::LowerPool);
        *self.forbidden.entry(format!("{why:?}")).or_default() += 1;
        recorded.attempts.count_got_through(Attack::of(mark));
        Ok(())
    }

    /// A stage succeeds only if each of its steps has started, after the success of the one before.
    async fn judge_steps(&mut self, fixture: &ProvenanceFixture, id: &str) -> anyhow::Result<()> {
        let deployment = fixture.call(Method::GET, &format!("/deployments/{id}"), None).await?;
        for stage in list(&deployment["stages"]) {
            let text = |key: &str| stage[key].as_str().unwrap_or_default();
            let (status, reason) = (text("status"), text("reason"));
            *self.stages.entry(format!("{status} {reason}").trim_end().to_owned()).or_default() += 1;
            if stage["attempt"] == 0 {
                continue;
            }
            let path = format!("/deployments/{id}/stages/{}/attempts", text("key"));
            for attempt in list(&fixture.call(Method::GET, &path, None).await?) {
                let detail = attempt["detail"].as_str().unwrap_or_default();
                self.refused_by_runner += usize::from(detail.contains(REFUSED_ARTIFACT));
                let found = check_attempt(attempt);
                let what = format!("attempt {} of stage {} of {id}", attempt["attempt"], text("key"));
                self.findings
                    .extend(found.map(|(property, why)| Finding::new(property, format!("{what}: {why}"))));
            }
        }
        Ok(())
    }
}

/// Returns the branch that the runner of a mark's job has reported. Of an honest one: a branch that contains the commit.
fn branch_of<'a>(recorded: &'a Recorded, started: &'a Started, mark: &Mark) -> Option<&'a str> {
    let is_hostile = find_pool(&mark.pool).is_none_or(|pool| pool.role == Role::Hostile);
    match is_hostile {
        true => recorded.reported.get(&(mark.deployment.clone(), mark.stage.clone()))?.as_deref(),
        false => started.contained_in.first().copied(),
    }
}

/// Returns the property that an attempt violates, and why.
fn check_attempt(attempt: &Value) -> Option<(&'static str, String)> {
    let steps = list(&attempt["steps"]);
    let time = |step: &Value, key: &str| step[key].as_str().and_then(|text| text.parse::<Timestamp>().ok());
    let has_succeeded = |step: &Value| step["status"] == "succeeded" && time(step, "startedAt").is_some();
    if attempt["status"] == "succeeded" && !steps.iter().all(has_succeeded) {
        return Some(("P2", format!("it has succeeded with a step that did not run: {}", attempt["steps"])));
    }
    let is_in_order = |pair: &[Value]| {
        let [before, after] = pair else { return true };
        let Some(started) = time(after, "startedAt") else { return true };
        has_succeeded(before) && time(before, "endedAt").is_some_and(|ended| ended <= started)
    };
    let in_order = steps.windows(2).all(is_in_order);
    (!in_order).then(|| ("P3", format!("its steps started out of order: {}", attempt["steps"])))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn step(status: &str, started: Option<u32>, ended: Option<u32>) -> Value {
        let time = |second: u32| format!("2026-01-01T00:00:{second:02}Z");
        json!({ "status": status, "startedAt": started.map(time), "endedAt": ended.map(time) })
    }

    #[test]
    fn an_attempt_succeeds_only_by_steps_that_ran_in_order() {
        let right = step("succeeded", Some(1), Some(2));
        for (status, steps, expected) in [
            ("succeeded", [right.clone(), step("succeeded", Some(2), Some(3))], None),
            ("succeeded", [right.clone(), step("succeeded", None, Some(3))], Some("P2")),
            ("succeeded", [right.clone(), step("skipped", None, Some(3))], Some("P2")),
            ("succeeded", [right.clone(), step("succeeded", Some(1), Some(3))], Some("P3")),
            ("failed", [step("failed", Some(1), Some(2)), step("skipped", None, Some(3))], None),
            ("failed", [step("failed", Some(1), Some(2)), step("failed", Some(3), Some(4))], Some("P3")),
            ("errored", [step("skipped", None, Some(3)), step("errored", Some(3), Some(4))], Some("P3")),
            ("errored", [step("skipped", None, Some(3)), step("skipped", None, Some(3))], None),
        ] {
            let found = check_attempt(&json!({ "status": status, "steps": steps }));
            assert_eq!(found.map(|(property, _)| property), expected, "{status} {steps:?}");
        }
    }

    #[test]
    fn what_a_step_has_found_is_an_arrival_at_its_job() {
        let mark = "gr-mark/open/build/pipeline/none/dep_1/artifact/git";
        let found = arrivals(&format!("dep_2 ship\n{mark}\nother\n"));
        assert_eq!((found[0].deployment.as_str(), found[0].stage.as_str()), ("dep_2", "ship"));
        assert_eq!((found.len(), found[0].mark.text().as_str()), (1, mark));
        assert!(arrivals("dep_2 ship\n").is_empty());
    }
}
