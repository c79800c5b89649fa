//! The checker: pure functions that judge the responses to the clients, the reports at the target and the
//! contents of the database. Each file checks one property; their ids are those of docs/reliability.md.

mod accepted;
mod after_end;
mod attempts;
mod concurrency;
mod ended;
mod events;
mod exclusive;
mod foreign_actions;
mod once;
mod overdue;
#[cfg(test)]
mod sample;
mod stale;
mod statuses;

use std::collections::HashMap;

use uuid::Uuid;

use crate::fault::clock::{Micros, SECOND};
use crate::fault::deployments::history::{ForeignAction, Request};
use crate::fault::deployments::ledger::{DeploymentRow, JobRow, Ledger, StepRow};
use crate::fault::deployments::settle::Waiting;
use crate::fault::deployments::target::{StepKey, TargetReport};
use crate::fault::finding::Finding;

/// The harness and PostgreSQL use the same clock, but read it at different moments.
pub(crate) const CLOCK_MARGIN: Micros = SECOND / 20;

/// Everything observed in a campaign.
pub(crate) struct Evidence<'a> {
    requests: &'a [Request],
    foreign_actions: &'a [ForeignAction],
    reports: &'a [TargetReport],
    ledger: &'a Ledger,
    waiting: &'a Waiting,
    deployments: HashMap<Uuid, &'a DeploymentRow>,
    jobs: HashMap<Uuid, &'a JobRow>,
    reports_by_step: HashMap<StepKey, Vec<&'a TargetReport>>,
}

impl<'a> Evidence<'a> {
    pub(crate) fn new(
        (requests, foreign_actions): (&'a [Request], &'a [ForeignAction]),
        reports: &'a [TargetReport],
        ledger: &'a Ledger,
        waiting: &'a Waiting,
    ) -> Self {
        let mut reports_by_step: HashMap<StepKey, Vec<&TargetReport>> = HashMap::new();
        for report in reports {
            reports_by_step.entry(report.step.clone()).or_default().push(report);
        }
        let deployments = ledger.deployments.iter().map(|row| (row.id, row)).collect();
        let jobs = ledger.jobs.iter().map(|row| (row.id, row)).collect();
        Self { requests, foreign_actions, reports, ledger, waiting, deployments, jobs, reports_by_step }
    }

    /// Returns the attempts of a stage, by number.
    fn attempts(&self, deployment: Uuid, stage: &str) -> impl Iterator<Item = &'a JobRow> {
        self.ledger.jobs.iter().filter(move |job| job.deployment == deployment && job.stage == stage)
    }

    /// Returns the reports of a step of an attempt, in order.
    fn step_reports(&self, job: &JobRow, step: &StepRow) -> &[&'a TargetReport] {
        let key = StepKey {
            deployment: job.deployment,
            stage: job.stage.clone(),
            attempt: job.attempt,
            step: step.name.clone(),
        };
        self.reports_by_step.get(&key).map_or(&[], Vec::as_slice)
    }
}

pub(crate) fn all(evidence: &Evidence<'_>) -> Vec<Finding> {
    let checks = [
        stale::check,
        once::check,
        attempts::check,
        foreign_actions::check,
        overdue::check,
        concurrency::check,
    ];
    let mut findings = of_any_deployments(evidence);
    findings.extend(checks.iter().flat_map(|check| check(evidence)));
    findings
}

/// The properties of all deployments, also of those in which users repeat stages that have succeeded.
pub(crate) fn of_any_deployments(evidence: &Evidence<'_>) -> Vec<Finding> {
    let checks =
        [accepted::check, ended::check, exclusive::check, after_end::check, statuses::check, events::check];
    checks.iter().flat_map(|check| check(evidence)).collect()
}

/// Returns the end of an id, because ids differ there.
pub(crate) fn short(id: Uuid) -> String {
    let text = id.as_simple().to_string();
    format!("…{}", &text[text.len() - 8..])
}

fn name(step: &StepKey) -> String {
    format!("{}/{}/{}/{}", short(step.deployment), step.stage, step.attempt, step.step)
}
