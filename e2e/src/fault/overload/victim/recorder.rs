//! The victim's requests and their responses, with the time of each.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Operation {
    Read,
    Claim,
    Renew,
    SessionHeartbeat,
    Deploy,
    Release,
    /// The runner's heartbeat for a job.
    JobHeartbeat,
    /// Every other request of the runner: polls, starts and ends of steps, logs, completions.
    Runner,
}

/// One request and its response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    /// When it was sent.
    pub(crate) at: Instant,
    pub(crate) took: Duration,
    pub(crate) operation: Operation,
    /// `None` if there was no response.
    pub(crate) status: Option<u16>,
}

impl Call {
    pub(crate) fn is_good(&self) -> bool {
        self.status.is_some_and(|status| (200..300).contains(&status))
    }
}

/// A deployment that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Deployed {
    pub(crate) accepted_at: Instant,
    /// How it ended, unless it succeeded.
    pub(crate) lost: Option<String>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    pub(crate) calls: Vec<Call>,
    pub(crate) deployments: Vec<Deployed>,
    /// Sessions that ended although their holder renewed them.
    pub(crate) locks_lost: Vec<Instant>,
    /// Descriptions of the first failures.
    pub(crate) complaints: Vec<String>,
}

#[derive(Debug, Default)]
pub(crate) struct Recorder(Mutex<Record>);

const MAX_COMPLAINTS: usize = 20;

impl Recorder {
    pub(crate) fn call(&self, call: Call) {
        self.lock().calls.push(call);
    }

    pub(crate) fn deployed(&self, deployed: Deployed) {
        self.lock().deployments.push(deployed);
    }

    pub(crate) fn lock_lost(&self) {
        self.lock().locks_lost.push(Instant::now());
    }

    pub(crate) fn complain(&self, text: String) {
        let mut record = self.lock();
        if record.complaints.len() < MAX_COMPLAINTS {
            record.complaints.push(text);
        }
    }

    pub(crate) fn copy(&self) -> Record {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Record> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
