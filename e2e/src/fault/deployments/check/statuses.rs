//! D7: statuses match what ran. Every step that succeeded had its effect; a step that was never started has
//! reported nothing; an ended deployment or attempt has no part that has not ended.

use greenroom_domain::deployment::{JobStatus, StageStatus, StepStatus};

use crate::fault::deployments::check::{CLOCK_MARGIN, Evidence, name, short};
use crate::fault::deployments::ledger::{EventRow, JobRow, StageRow, StepRow};
use crate::fault::deployments::target::{ReportKind, TargetReport};
use crate::fault::finding::Finding;

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut wrong = unknown_steps(evidence);
    for step in &evidence.ledger.steps {
        let Some(job) = evidence.jobs.get(&step.job) else { continue };
        let text =
            |what| format!("{}/{}/{}/{}: {what}", short(job.deployment), job.stage, job.attempt, step.name);
        wrong.extend(step_is_wrong(job, step, evidence.step_reports(job, step)).map(text));
    }
    for stage in &evidence.ledger.stages {
        let newest = evidence.attempts(stage.deployment, &stage.key).find(|job| job.attempt == stage.attempt);
        let newest = newest.map_or("nothing", |job| job.status.as_str());
        let fits = match stage.status.as_str() {
            "succeeded" => newest == "succeeded",
            // Its next attempt has not begun.
            _ => newest != "succeeded" || is_reopened(evidence, stage),
        };
        if !fits {
            let stage_name = format!("{}/{}", short(stage.deployment), stage.key);
            wrong.push(format!("{stage_name} is {}, and its newest attempt {newest}", stage.status));
        }
    }
    for row in &evidence.ledger.deployments {
        let stages = || evidence.ledger.stages.iter().filter(|stage| stage.deployment == row.id);
        let fits = |status: &str| match row.status.as_str() {
            "succeeded" => matches!(status, "succeeded" | "skipped"),
            _ => status.parse().is_ok_and(StageStatus::is_final),
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

/// Returns whether a user has retried a stage of the deployment since the stage's newest attempt succeeded.
fn is_reopened(evidence: &Evidence<'_>, stage: &StageRow) -> bool {
    let events = || evidence.ledger.events.iter().filter(|event| event.deployment == Some(stage.deployment));
    let is_success = |event: &&EventRow| {
        event.kind == "deployment.stage.succeeded"
            && event.stage.as_ref() == Some(&stage.key)
            && event.attempt == Some(stage.attempt)
    };
    let Some(success) = events().find(is_success) else { return false };
    events().any(|event| event.kind == "deployment.stage.retried" && event.sequence > success.sequence)
}

/// Finds reports of steps that were never started.
fn unknown_steps(evidence: &Evidence<'_>) -> Vec<String> {
    let mut wrong = Vec::new();
    for (step, reports) in &evidence.reports_by_step {
        let is_known = evidence.jobs.get(&reports[0].job).is_some_and(|job| {
            let same = (job.deployment, job.stage.as_str(), job.attempt);
            same == (step.deployment, step.stage.as_str(), step.attempt)
        });
        if !is_known {
            wrong.push(format!("{} ran, but has no attempt", name(step)));
        }
    }
    wrong
}

fn step_is_wrong(job: &JobRow, step: &StepRow, reports: &[&TargetReport]) -> Option<&'static str> {
    let has_reported = |kind| reports.iter().any(|report| report.kind == kind && report.accepted);
    let ended_well = reports.iter().any(|report| report.kind == ReportKind::End && report.code == Some(0));
    match (reports.first(), step.started_at) {
        (Some(_), None) => return Some("it ran, but was never started"),
        (Some(first), Some(started)) if first.at + CLOCK_MARGIN < started => {
            return Some("it ran before it was started");
        }
        _ => {}
    }
    if step.status == "succeeded"
        && !(has_reported(ReportKind::Begin) && has_reported(ReportKind::Apply) && ended_well)
    {
        return Some("it has succeeded, but not all of it was applied");
    }
    if job.status == "succeeded" && step.status != "succeeded" {
        return Some("its attempt has succeeded without it");
    }
    let has_job_ended = job.status.parse().is_ok_and(JobStatus::is_final);
    let has_step_ended = step.status.parse().is_ok_and(StepStatus::is_final);
    (has_job_ended && !has_step_ended).then_some("its attempt has ended, and it has not")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::deployments::check::sample::{STEPS, Sample, at, id};

    #[test]
    fn a_succeeded_step_was_applied() {
        let mut sample = Sample::good();
        assert!(sample.found(check).is_empty());
        sample.forget_reports(|report| report.step.step == STEPS[0] && report.kind == ReportKind::Apply);
        assert_eq!(sample.found(check), ["D7", "D7"]);
    }

    #[test]
    fn a_failed_step_need_not_be_applied() {
        let mut sample = Sample::good();
        sample.forget_reports(|report| report.step.deployment == id(1) && report.kind != ReportKind::Begin);
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
    fn a_step_that_ran_was_started() {
        let mut sample = Sample::good();
        sample.ledger.steps[0].started_at = None;
        assert_eq!(sample.found(check), ["D7"]);
        sample.ledger.steps[0].started_at = at(11);
        assert_eq!(sample.found(check), ["D7"]);
        let mut sample = Sample::good();
        sample.reports[0].job = id(5);
        assert_eq!(sample.found(check), ["D7"]);
    }

    #[test]
    fn an_ended_deployment_has_no_live_stage() {
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
    fn a_stage_matches_its_newest_attempt() {
        let mut sample = Sample::good();
        sample.attempt(1, 30, "failed");
        assert_eq!(sample.found(check), ["D7"]);
    }

    #[test]
    fn a_stage_that_is_repeated_may_end_before_its_next_attempt() {
        let mut sample = Sample::good();
        sample.ledger.deployments[0].status = "canceled".to_owned();
        sample.ledger.stages[0].status = "canceled".to_owned();
        assert_eq!(sample.found(check), ["D7"]);
        sample.event("deployment.stage.retried", 1, Some(1));
        assert!(sample.found(check).is_empty());
    }
}
