//! What the campaign has done and seen, shared by its runners and by those who start deployments.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::fault::finding::Finding;
use crate::fault::provenance::attack::{Attack, Attempts};
use crate::fault::provenance::mark::Mark;
use crate::fault::provenance::pipelines::Pipeline;
use crate::parts::deadline::Deadline;

/// A deployment, as it was started.
#[derive(Clone)]
pub(super) struct Started {
    pub(super) pipeline: &'static Pipeline,
    /// How many deployments of the pipeline were started before.
    pub(super) number: usize,
    pub(super) is_session: bool,
    /// The branches that contain its commit.
    pub(super) contained_in: &'static [&'static str],
    /// The branch that it names.
    pub(super) branch: Option<&'static str>,
}

/// A mark that a job has found.
#[derive(Clone, Debug)]
pub(super) struct Arrival {
    pub(super) deployment: String,
    pub(super) stage: String,
    pub(super) mark: Mark,
}

#[derive(Default)]
pub(super) struct Record(Mutex<Recorded>);

#[derive(Default)]
pub(super) struct Recorded {
    pub(super) deployments: HashMap<String, Started>,
    /// The branch that a hostile runner has reported, by deployment and stage.
    pub(super) reported: HashMap<(String, String), Option<String>>,
    pub(super) arrivals: Vec<Arrival>,
    pub(super) attempts: Attempts,
    pub(super) findings: Vec<Finding>,
    /// How many jobs were read through the API.
    pub(super) read_jobs: usize,
    /// Why a runner of the campaign could not go on.
    pub(super) broken: Option<String>,
}

impl Record {
    pub(super) fn lock(&self) -> MutexGuard<'_, Recorded> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn into_inner(self) -> Recorded {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a deployment. A runner may get a job of it before the response to its start has arrived.
    pub(super) async fn deployment(&self, id: &str) -> anyhow::Result<Started> {
        let deadline = Deadline::in_seconds(20);
        loop {
            let found = self.lock().deployments.get(id).cloned();
            if let Some(found) = found {
                return Ok(found);
            }
            deadline.wait(|| format!("the campaign has not started {id}")).await?;
        }
    }

    /// Counts an attack that the server has to refuse. A response that accepts it is a violation.
    pub(super) fn count_refusable(&self, attack: Attack, status: u16, what: &str) {
        let mut recorded = self.lock();
        let is_accepted = (200..300).contains(&status);
        recorded.attempts.count(attack, !is_accepted);
        if is_accepted {
            recorded.attempts.count_got_through(attack);
            let text = format!("{what} was accepted: {status}");
            recorded.findings.push(Finding::new("P4", text));
        }
    }

    /// Counts an attack whose bytes the server may accept, but which must not reach others.
    pub(super) fn count_contained(&self, attack: Attack, status: u16) {
        self.lock().attempts.count(attack, !(200..300).contains(&status));
    }
}
