//! The checker: pure judgement of what clients were told, what the target heard and what the database says. Each file is a property;
//! their numbers are those of docs/reliability.md.

mod accepted;
mod alone;
mod attempts;
mod concurrency;
mod ended;
mod events;
mod meddlings;
mod once;
mod over;
mod overdue;
#[cfg(test)]
mod sample;
mod stale;
mod statuses;

use std::collections::HashMap;

use uuid::Uuid;

use crate::fault::clock::{Micros, SECOND};
use crate::fault::deployments::history::{Meddling, Request};
use crate::fault::deployments::ledger::{DeploymentRow, JobRow, Ledger, StepRow};
use crate::fault::deployments::settle::Waiting;
use crate::fault::deployments::target::{StepKey, Word};
use crate::fault::finding::Finding;

/// The clocks of the harness and of PostgreSQL are one, but read at different moments.
const MARGIN: Micros = SECOND / 20;

/// All that is known of a campaign.
pub(crate) struct Evidence<'a> {
    requests: &'a [Request],
    meddlings: &'a [Meddling],
    words: &'a [Word],
    ledger: &'a Ledger,
    waiting: &'a Waiting,
    deployments: HashMap<Uuid, &'a DeploymentRow>,
    jobs: HashMap<Uuid, &'a JobRow>,
    words_of: HashMap<StepKey, Vec<&'a Word>>,
}

impl<'a> Evidence<'a> {
    pub(crate) fn new(
        (requests, meddlings): (&'a [Request], &'a [Meddling]),
        words: &'a [Word],
        ledger: &'a Ledger,
        waiting: &'a Waiting,
    ) -> Self {
        let mut words_of: HashMap<StepKey, Vec<&Word>> = HashMap::new();
        for word in words {
            words_of.entry(word.step.clone()).or_default().push(word);
        }
        let deployments = ledger.deployments.iter().map(|row| (row.id, row)).collect();
        let jobs = ledger.jobs.iter().map(|row| (row.id, row)).collect();
        Self { requests, meddlings, words, ledger, waiting, deployments, jobs, words_of }
    }

    /// The attempts of a stage, by number.
    fn attempts(&self, deployment: Uuid, stage: &str) -> impl Iterator<Item = &'a JobRow> {
        self.ledger.jobs.iter().filter(move |job| job.deployment == deployment && job.stage == stage)
    }

    /// What a step of an attempt has said, in order.
    fn said(&self, job: &JobRow, step: &StepRow) -> &[&'a Word] {
        let key = StepKey {
            deployment: job.deployment,
            stage: job.stage.clone(),
            attempt: job.attempt,
            step: step.name.clone(),
        };
        self.words_of.get(&key).map_or(&[], Vec::as_slice)
    }
}

pub(crate) fn all(evidence: &Evidence<'_>) -> Vec<Finding> {
    let checks = [
        accepted::check,
        ended::check,
        stale::check,
        once::check,
        alone::check,
        over::check,
        statuses::check,
        events::check,
        attempts::check,
        meddlings::check,
        overdue::check,
        concurrency::check,
    ];
    checks.iter().flat_map(|check| check(evidence)).collect()
}

/// The end of an id, which is where ids differ.
fn short(id: Uuid) -> String {
    let text = id.as_simple().to_string();
    format!("…{}", &text[text.len() - 8..])
}

fn name(step: &StepKey) -> String {
    format!("{}/{}/{}/{}", short(step.deployment), step.stage, step.attempt, step.step)
}
