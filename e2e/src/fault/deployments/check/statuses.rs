//! D7: statuses say what ran. What succeeded has had its effect, step by step; what was never started has said nothing; what has
//! ended has no part that has not.

use crate::fault::deployments::check::{Evidence, MARGIN, name, short};
use crate::fault::deployments::ledger::{JobRow, StepRow};
use crate::fault::deployments::target::{Saying, Word};
use crate::fault::finding::Finding;

const ENDS: [&str; 6] = ["succeeded", "failed", "errored", "canceled", "superseded", "skipped"];

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut wrong = strangers(evidence);
    for step in &evidence.ledger.steps {
        let Some(job) = evidence.jobs.get(&step.job) else { continue };
        let text =
            |what| format!("{}/{}/{}/{}: {what}", short(job.deployment), job.stage, job.attempt, step.name);
        wrong.extend(step_is_wrong(job, step, evidence.said(job, step)).map(text));
    }
    for stage in &evidence.ledger.stages {
        let newest = evidence.attempts(stage.deployment, &stage.key).find(|job| job.attempt == stage.attempt);
        let newest = newest.map_or("nothing", |job| job.status.as_str());
        if (stage.status == "succeeded") != (newest == "succeeded") {
            let stage_name = format!("{}/{}", short(stage.deployment), stage.key);
            wrong.push(format!("{stage_name} is {}, and its newest attempt {newest}", stage.status));
        }
    }
    for row in &evidence.ledger.deployments {
        let stages = || evidence.ledger.stages.iter().filter(|stage| stage.deployment == row.id);
        let fits = |status: &str| match row.status.as_str() {
            "succeeded" => matches!(status, "succeeded" | "skipped"),
            _ => ENDS.contains(&status),
        };
        let unfit = stages().find(|stage| row.ended_at.is_some() && !fits(&stage.status));
        if let Some(stage) = unfit {
            let reason = row.reason.as_deref().unwrap_or("no reason");
            let (id, status) = (short(row.id), &row.status);
            wrong.push(format!("{id} is {status} ({reason}), and {} is {}", stage.key, stage.status));
        }
        if row.status == "succeeded" && stages().next().is_none() {
            wrong.push(format!("{} has succeeded without any stage", short(row.id)));
        }
    }
    wrong.into_iter().map(|text| Finding::new("D7", text)).collect()
}

/// Words of steps that nobody has started.
fn strangers(evidence: &Evidence<'_>) -> Vec<String> {
    let mut wrong = Vec::new();
    for (step, words) in &evidence.words_of {
        let known = evidence.jobs.get(&words[0].job).is_some_and(|job| {
            let same = (job.deployment, job.stage.as_str(), job.attempt);
            same == (step.deployment, step.stage.as_str(), step.attempt)
        });
        if !known {
            wrong.push(format!("{} ran, and no attempt is known of it", name(step)));
        }
    }
    wrong
}

fn step_is_wrong(job: &JobRow, step: &StepRow, words: &[&Word]) -> Option<&'static str> {
    let said = |saying| words.iter().any(|word| word.saying == saying && word.accepted);
    let ended_well = words.iter().any(|word| word.saying == Saying::End && word.code == Some(0));
    match (words.first(), step.started_at) {
        (Some(_), None) => return Some("it ran, and was never started"),
        (Some(first), Some(started)) if first.at + MARGIN < started => {
            return Some("it ran before it was started");
        }
        _ => {}
    }
    if step.status == "succeeded" && !(said(Saying::Begin) && said(Saying::Apply) && ended_well) {
        return Some("it has succeeded, and not all of it was applied");
    }
    if job.status == "succeeded" && step.status != "succeeded" {
        return Some("its attempt has succeeded without it");
    }
    let over = ENDS.contains(&job.status.as_str());
    (over && !ENDS.contains(&step.status.as_str())).then_some("its attempt has ended, and it has not")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::deployments::check::sample::{STEPS, Sample, at, id};

    #[test]
    fn what_succeeded_was_applied() {
        let mut sample = Sample::good();
        assert!(sample.found(check).is_empty());
        sample.forget_words(|word| word.step.step == STEPS[0] && word.saying == Saying::Apply);
        assert_eq!(sample.found(check), ["D7", "D7"]);
    }

    #[test]
    fn what_failed_need_not_be() {
        let mut sample = Sample::good();
        sample.forget_words(|word| word.step.deployment == id(1) && word.saying != Saying::Begin);
        sample.ledger.steps[0].status = "failed".to_owned();
        sample.ledger.steps[1].status = "errored".to_owned();
        sample.ledger.jobs[0].status = "failed".to_owned();
        sample.ledger.stages[0].status = "failed".to_owned();
        sample.ledger.deployments[0].status = "failed".to_owned();
        assert!(sample.found(check).is_empty());
        sample.ledger.deployments[0].status = "succeeded".to_owned();
        assert_eq!(sample.found(check), ["D7"]);
    }

    #[test]
    fn what_ran_was_started() {
        let mut sample = Sample::good();
        sample.ledger.steps[0].started_at = None;
        assert_eq!(sample.found(check), ["D7"]);
        sample.ledger.steps[0].started_at = at(11);
        assert_eq!(sample.found(check), ["D7"]);
        let mut sample = Sample::good();
        sample.words[0].job = id(5);
        assert_eq!(sample.found(check), ["D7"]);
    }

    #[test]
    fn what_has_ended_has_no_part_that_has_not() {
        let mut sample = Sample::good();
        sample.ledger.deployments[0].status = "canceled".to_owned();
        sample.ledger.stages[0].status = "running".to_owned();
        sample.ledger.jobs[0].status = "running".to_owned();
        sample.ledger.steps[1].status = "running".to_owned();
        assert_eq!(sample.found(check), ["D7"]);
        sample.ledger.jobs[0].status = "canceled".to_owned();
        assert_eq!(sample.found(check), ["D7", "D7"]);
    }

    #[test]
    fn a_stage_is_what_its_newest_attempt_is() {
        let mut sample = Sample::good();
        sample.attempt(1, 30, "failed");
        assert_eq!(sample.found(check), ["D7"]);
    }
}
