//! Hand-made histories for the checker's tests: a deployment with one stage of two steps, which has every
//! property, and helpers to violate them. Times are in seconds.

use uuid::Uuid;

use crate::fault::clock::{Micros, SECOND};
use crate::fault::deployments::check::Evidence;
use crate::fault::deployments::history::{ForeignAction, Request};
use crate::fault::deployments::ledger::{
    DeploymentRow, EnvironmentRow, EventRow, JobRow, Ledger, SessionRow, StageRow, StepRow,
};
use crate::fault::deployments::settle::Waiting;
use crate::fault::deployments::target::{ReportKind, StepKey, TargetReport};
use crate::fault::finding::Finding;

pub(super) const STAGE: &str = "deploy";
pub(super) const STEPS: [&str; 2] = ["one", "two"];

#[derive(Default)]
pub(super) struct Sample {
    pub(super) requests: Vec<Request>,
    pub(super) foreign_actions: Vec<ForeignAction>,
    pub(super) reports: Vec<TargetReport>,
    pub(super) ledger: Ledger,
    pub(super) waiting: Waiting,
}

pub(super) fn id(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

pub(super) fn at(seconds: i64) -> Option<Micros> {
    Some(seconds * SECOND)
}

/// Returns the id of an attempt.
pub(super) fn job_id(deployment: u128, attempt: i32) -> Uuid {
    id(deployment * 100 + u128::try_from(attempt).unwrap())
}

impl Sample {
    /// Deployments 1 and 2 of the sessions 11 and 12, one after the other in `qa-1`, both succeeded.
    pub(super) fn good() -> Self {
        let mut sample = Self::default();
        sample.ledger.environments.push(EnvironmentRow { name: "qa-1".to_owned(), slot: None, held: false });
        for (number, begun) in [(1, 10), (2, 20)] {
            sample.deployment(number, begun);
        }
        sample
    }

    /// Adds a deployment in a session that begins with it and ends seven seconds later. Each step takes two
    /// seconds.
    pub(super) fn deployment(&mut self, number: u128, begun: i64) {
        let (deployment, session) = (id(number), id(10 + number));
        let commit = format!("{number:040x}");
        let request =
            Request { commit: commit.clone(), key: Some("key".to_owned()), responses: vec![deployment] };
        self.requests.push(request);
        self.ledger.deployments.push(DeploymentRow {
            id: deployment,
            pipeline: "shop".to_owned(),
            environment: Some("qa-1".to_owned()),
            session: Some(session),
            commit,
            purpose: "session".to_owned(),
            status: "succeeded".to_owned(),
            reason: None,
            created_at: begun * SECOND,
            started_at: at(begun),
            ended_at: at(begun + 6),
        });
        let (status, ended_at) = ("released".to_owned(), at(begun + 7));
        self.ledger.sessions.push(SessionRow { id: session, user: id(1_000 + number), status, ended_at });
        self.ledger.stages.push(StageRow {
            deployment,
            key: STAGE.to_owned(),
            status: "succeeded".to_owned(),
            attempt: 0,
            allowed: 1,
        });
        self.event("deployment.queued", number, None);
        self.event("deployment.started", number, None);
        self.attempt(number, begun, "succeeded");
        self.event("deployment.succeeded", number, None);
    }

    /// Adds another attempt of its stage, whose steps run and succeed. It ends five seconds later.
    pub(super) fn attempt(&mut self, number: u128, begun: i64, status: &str) {
        let deployment = id(number);
        let stage = self.ledger.stages.iter_mut().find(|stage| stage.deployment == deployment).unwrap();
        stage.attempt += 1;
        let attempt = stage.attempt;
        let job = job_id(number, attempt);
        self.ledger.jobs.push(JobRow {
            id: job,
            deployment,
            stage: STAGE.to_owned(),
            attempt,
            status: status.to_owned(),
            reason: None,
            runner: Some("runner-1".to_owned()),
            started_at: at(begun),
            ended_at: at(begun + 5),
        });
        for (position, name) in STEPS.into_iter().enumerate() {
            let from = begun + 2 * i64::try_from(position).unwrap();
            self.ledger.steps.push(StepRow {
                job,
                name: name.to_owned(),
                status: status.to_owned(),
                started_at: at(from),
            });
            self.report((number, attempt, name), ReportKind::Begin, from);
            self.report((number, attempt, name), ReportKind::Tick, from + 1);
            self.report((number, attempt, name), ReportKind::Apply, from + 2);
            self.report((number, attempt, name), ReportKind::End, from + 2);
        }
        self.event(&format!("deployment.stage.{status}"), number, Some(attempt));
    }

    /// Adds a report; its fence is the deployment's number.
    pub(super) fn report(&mut self, (number, attempt, name): (u128, i32, &str), kind: ReportKind, when: i64) {
        self.reports.push(TargetReport {
            at: when * SECOND,
            kind,
            environment: Some("qa-1".to_owned()),
            fence: i64::try_from(number).ok(),
            step: StepKey { deployment: id(number), stage: STAGE.to_owned(), attempt, step: name.to_owned() },
            job: job_id(number, attempt),
            code: (kind == ReportKind::End).then_some(0),
            accepted: true,
        });
        // In the order in which the target records them.
        self.reports.sort_by_key(|report| report.at);
    }

    pub(super) fn event(&mut self, kind: &str, number: u128, attempt: Option<i32>) {
        let sequence = i64::try_from(self.ledger.events.len()).unwrap() + 1;
        self.ledger.events.push(EventRow {
            sequence,
            kind: kind.to_owned(),
            deployment: Some(id(number)),
            stage: attempt.map(|_| STAGE.to_owned()),
            attempt,
            by_person: false,
        });
    }

    pub(super) fn forget_reports(&mut self, forgotten: impl Fn(&TargetReport) -> bool) {
        self.reports.retain(|report| !forgotten(report));
    }

    /// Returns the properties that a check finds violated.
    pub(super) fn found(&self, check: fn(&Evidence<'_>) -> Vec<Finding>) -> Vec<&'static str> {
        let requested = (&self.requests[..], &self.foreign_actions[..]);
        let evidence = Evidence::new(requested, &self.reports, &self.ledger, &self.waiting);
        check(&evidence).into_iter().map(|finding| finding.property).collect()
    }
}

/// A history that has every property leads to no finding.
#[test]
fn the_good_history_is_good() {
    assert_eq!(Sample::good().found(super::all), Vec::<&str>::new());
}
