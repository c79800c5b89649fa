//! What the attacker and the campaign exchange: the plan of an attack, and samples of how large it is.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::fault::overload::attack::Attack;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// Host and port of the server.
    pub(crate) address: String,
    pub(crate) sizes: BTreeMap<Attack, usize>,
    /// The connections of each attack are opened within this time.
    pub(crate) ramp_up_millis: u64,
    pub(crate) hostile: Hostile,
    pub(crate) member: Member,
    /// A file with the gzip bomb.
    pub(crate) gzip_bomb: PathBuf,
    /// The file that samples are appended to, one JSON object per line.
    pub(crate) samples: PathBuf,
}

/// The hostile organization's resources: real tokens, and a running step with a large log.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Hostile {
    /// The organization's slug.
    pub(crate) organization: String,
    /// API tokens of viewers.
    pub(crate) viewers: Vec<String>,
    /// Tokens of runners in a pool that has no jobs.
    pub(crate) pollers: Vec<String>,
    /// The token of the runner that has the job.
    pub(crate) runner: String,
    pub(crate) deployment: String,
    pub(crate) job: String,
    pub(crate) step: String,
    pub(crate) log_bytes: usize,
}

/// A viewer of the victim's organization who attacks the others with as many tokens as one person gets.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Member {
    /// The organization's slug.
    pub(crate) organization: String,
    pub(crate) tokens: Vec<String>,
}

/// The state of all attacks of one attacker at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Sample {
    /// Since the attacker started.
    pub(crate) at_millis: u64,
    pub(crate) attacks: BTreeMap<Attack, Tally>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Tally {
    /// Connections that are being opened: the server has not accepted them yet.
    pub(crate) connecting: usize,
    /// Connections that are open now.
    pub(crate) open: usize,
    /// Connections that the server refused, by a response or by closing them, and that will be opened again
    /// after a pause.
    pub(crate) refused: usize,
    /// Requests started so far.
    pub(crate) attempts: u64,
    /// Responses so far, by status.
    pub(crate) answers: BTreeMap<u16, u64>,
    /// Connections that the server closed without a response, so far.
    pub(crate) closed: u64,
    /// Connections that could not be opened, and requests without a response in time, so far.
    pub(crate) failed: u64,
}

impl Tally {
    /// Returns the connections that the server has to handle now or in a moment.
    pub(crate) const fn at_work(&self) -> usize {
        self.connecting + self.open + self.refused
    }

    /// Adds the responses of another attacker.
    pub(crate) fn add_responses(&mut self, other: &Self) {
        for (status, count) in &other.answers {
            *self.answers.entry(*status).or_default() += count;
        }
        self.closed += other.closed;
        self.failed += other.failed;
    }
}
