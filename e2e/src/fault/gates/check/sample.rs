//! Hand-made histories for the checker's tests: two deployments that work in one environment one after the other.
//! Times are in seconds.

use std::collections::HashMap;

use uuid::Uuid;

use crate::fault::clock::SECOND;
use crate::fault::deployments::ledger::{DeploymentRow, JobRow, Ledger, StageRow, StepRow};
use crate::fault::deployments::target::StepKey;
use crate::fault::finding::Finding;
use crate::fault::gates::check::Evidence;
use crate::fault::gates::definition::STAGING;
use crate::fault::gates::history::{History, Place, Start};
use crate::fault::gates::journal::{Line, LineKind};
use crate::fault::gates::ledger::{EnvironmentRow, GateLedger, TenureRow};

pub(super) const PLACE: Place = Place { pipeline: "shop", environment: STAGING };
/// A user who has started none of the deployments.
pub(super) const HOLDER: Uuid = Uuid::from_u128(1_000);
const STAGES: [&str; 2] = ["deploy", "verify"];

#[derive(Default)]
pub(super) struct Sample {
    pub(super) history: History,
    lines: Vec<Line>,
    pub(super) ledger: Ledger,
    pub(super) gates: GateLedger,
}

pub(super) fn id(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

impl Sample {
    /// Deployments 1 and 2 of the users 101 and 102, accepted in the seconds 1 and 2, work from 10 to 18 and from 20 to
    /// 28. Their stages begin 0 and 4 seconds after that, and take 2 seconds.
    pub(super) fn good() -> Self {
        let mut sample = Self::default();
        for number in [1, 2] {
            sample.deployment(number, i64::try_from(number).unwrap() * 10);
        }
        sample.gates.environments.push(EnvironmentRow { place: PLACE, slot: None, live: Some(id(2)) });
        sample
    }

    fn deployment(&mut self, number: u128, begun: i64) {
        let accepted_at = i64::try_from(number).unwrap() * SECOND;
        let commit = format!("{number:040x}");
        let start = Start {
            user: id(100 + number),
            allows_older: false,
            sent_at: accepted_at - SECOND,
            acknowledged_at: Some(accepted_at + SECOND),
        };
        self.history.starts.insert(commit.clone(), start);
        self.ledger.deployments.push(DeploymentRow {
            id: id(number),
            pipeline: PLACE.pipeline.to_owned(),
            environment: None,
            session: None,
            commit,
            purpose: "pipeline".to_owned(),
            status: "succeeded".to_owned(),
            reason: None,
            created_at: accepted_at,
            started_at: Some(accepted_at),
            ended_at: Some((begun + 8) * SECOND),
        });
        self.gates.accepted_at.insert(id(number), accepted_at);
        self.gates.tenures.push(TenureRow {
            place: PLACE,
            fence: i64::try_from(number).unwrap(),
            deployment: id(number),
            began_at: begun * SECOND,
            ended_at: Some((begun + 8) * SECOND),
            outcome: Some("succeeded".to_owned()),
        });
        for (position, stage) in STAGES.into_iter().enumerate() {
            let from = begun + 4 * i64::try_from(position).unwrap();
            self.gates.stage_environments.insert((id(number), stage.to_owned()), PLACE.environment);
            self.ledger.stages.push(StageRow {
                deployment: id(number),
                key: stage.to_owned(),
                status: "succeeded".to_owned(),
                attempt: 1,
                allowed: 1,
            });
            self.step(number, stage, from, from + 2);
        }
    }

    /// Adds an attempt of a stage with one step.
    pub(super) fn step(&mut self, number: u128, stage: &str, from: i64, to: i64) {
        let job = id(1_000 * number + self.ledger.jobs.len() as u128);
        let attempts =
            self.ledger.jobs.iter().filter(|job| job.deployment == id(number) && job.stage == stage);
        let attempt = i32::try_from(attempts.count()).unwrap() + 1;
        self.ledger.jobs.push(JobRow {
            id: job,
            deployment: id(number),
            stage: stage.to_owned(),
            attempt,
            status: "succeeded".to_owned(),
            reason: None,
            runner: None,
            started_at: Some(from * SECOND),
            ended_at: Some(to * SECOND),
        });
        let (name, status) = ("step-1".to_owned(), "succeeded".to_owned());
        self.ledger.steps.push(StepRow { job, name, status, started_at: Some(from * SECOND) });
        for (kind, at) in [(LineKind::Began, from), (LineKind::Ended, to)] {
            let step = "step-1".to_owned();
            self.lines.push(Line {
                kind,
                pipeline: PLACE.pipeline.to_owned(),
                environment: Some(PLACE.environment.to_owned()),
                step: StepKey { deployment: id(number), stage: stage.to_owned(), attempt, step },
                job,
                code: 0,
                at: at * SECOND,
            });
        }
        self.lines.sort_by_key(|line| line.at);
    }

    /// Changes when a deployment was accepted.
    pub(super) fn accepted(&mut self, number: u128, at: i64) {
        let row = self.ledger.deployments.iter_mut().find(|row| row.id == id(number)).unwrap();
        row.created_at = at * SECOND;
        let start: &mut HashMap<String, Start> = &mut self.history.starts;
        let start = start.get_mut(&row.commit).unwrap();
        (start.sent_at, start.acknowledged_at) = (at * SECOND, Some(at * SECOND));
        self.gates.accepted_at.insert(id(number), at * SECOND);
    }

    /// Returns the properties that a check finds violated.
    pub(super) fn found(&self, check: fn(&Evidence<'_>) -> Vec<Finding>) -> Vec<&'static str> {
        let evidence = Evidence::new(&self.history, &self.lines, &self.ledger, &self.gates);
        check(&evidence).into_iter().map(|finding| finding.property).collect()
    }
}

/// A history that has every property leads to no finding.
#[test]
fn the_good_history_is_good() {
    assert_eq!(Sample::good().found(super::all), Vec::<&str>::new());
}
