//! Hand-made histories for the checker's tests: a deployment with one stage of two steps, which keeps every property, and the means
//! to break them. Times are in seconds.

use uuid::Uuid;

use crate::fault::clock::{Micros, SECOND};
use crate::fault::deployments::check::Evidence;
use crate::fault::deployments::history::{Meddling, Request};
use crate::fault::deployments::ledger::{
    DeploymentRow, EnvironmentRow, EventRow, JobRow, Ledger, SessionRow, StageRow, StepRow,
};
use crate::fault::deployments::settle::Waiting;
use crate::fault::deployments::target::{Saying, StepKey, Word};
use crate::fault::finding::Finding;

pub(super) const STAGE: &str = "deploy";
pub(super) const STEPS: [&str; 2] = ["one", "two"];

#[derive(Default)]
pub(super) struct Sample {
    pub(super) requests: Vec<Request>,
    pub(super) meddlings: Vec<Meddling>,
    pub(super) words: Vec<Word>,
    pub(super) ledger: Ledger,
    pub(super) waiting: Waiting,
}

pub(super) fn id(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

pub(super) fn at(seconds: i64) -> Option<Micros> {
    Some(seconds * SECOND)
}

/// The id of an attempt.
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

    /// In a session that begins with it and ends seven seconds later. Each step takes two seconds.
    pub(super) fn deployment(&mut self, number: u128, begun: i64) {
        let (deployment, session) = (id(number), id(10 + number));
        let commit = format!("{number:040x}");
        let request =
            Request { commit: commit.clone(), key: Some("key".to_owned()), answers: vec![deployment] };
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

    /// Another attempt of its stage, whose steps run and end well. It ends five seconds later.
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
            self.say((number, attempt, name), Saying::Begin, from);
            self.say((number, attempt, name), Saying::Tick, from + 1);
            self.say((number, attempt, name), Saying::Apply, from + 2);
            self.say((number, attempt, name), Saying::End, from + 2);
        }
        self.event(&format!("deployment.stage.{status}"), number, Some(attempt));
    }

    /// With the fence that its deployment's number is.
    pub(super) fn say(&mut self, (number, attempt, name): (u128, i32, &str), saying: Saying, when: i64) {
        self.words.push(Word {
            at: when * SECOND,
            saying,
            environment: Some("qa-1".to_owned()),
            fence: i64::try_from(number).ok(),
            step: StepKey { deployment: id(number), stage: STAGE.to_owned(), attempt, step: name.to_owned() },
            job: job_id(number, attempt),
            code: (saying == Saying::End).then_some(0),
            accepted: true,
        });
        // As the target writes them down.
        self.words.sort_by_key(|word| word.at);
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

    pub(super) fn forget_words(&mut self, forgotten: impl Fn(&Word) -> bool) {
        self.words.retain(|word| !forgotten(word));
    }

    /// The properties that a check finds violated.
    pub(super) fn found(&self, check: fn(&Evidence<'_>) -> Vec<Finding>) -> Vec<&'static str> {
        let asked = (&self.requests[..], &self.meddlings[..]);
        let evidence = Evidence::new(asked, &self.words, &self.ledger, &self.waiting);
        check(&evidence).into_iter().map(|finding| finding.property).collect()
    }
}

/// What keeps all of them is found guilty of none.
#[test]
fn the_good_history_is_good() {
    assert_eq!(Sample::good().found(super::all), Vec::<&str>::new());
}
