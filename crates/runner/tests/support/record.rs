//! What the server was told about a job, and how it is to behave.

use std::collections::HashMap;
use std::time::Duration;

use greenroom_api_types::runner::{Cancel, CheckedOut, Complete, Job, StepEnd};

#[derive(Debug, Default)]
pub struct Record {
    pub job: Option<Job>,
    /// Calls that came while the server was away.
    pub turned_away: u32,
    /// Starts and ends, in the order in which they came: `start build`, `end build`, `complete`.
    pub calls: Vec<String>,
    pub ends: HashMap<String, StepEnd>,
    pub logs: HashMap<String, Vec<u8>>,
    /// How often a piece of log did not fit on to what was there.
    pub misfits: u32,
    pub artifact: Option<Vec<u8>>,
    pub caches: HashMap<String, Vec<u8>>,
    pub checkout: Option<CheckedOut>,
    /// The digests of the images that steps were started in.
    pub images: HashMap<String, String>,
    pub complete: Option<Complete>,
}

/// How the server is to behave.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// Gives a job only so long after it has made up its mind to.
    pub late: Duration,
    /// Answers every call about a job with 503.
    pub away: bool,
    /// Answers every call about a job with 410.
    pub gone: bool,
    /// The runner's token was revoked: answers every call with 410 and that code.
    pub revoked: bool,
    /// Answers heartbeats with 503, and nothing else.
    pub deaf: bool,
    pub cancel: Option<Cancel>,
    /// Answers the ends of steps that have outputs with this status.
    pub reject_outputs: Option<u16>,
    /// Answers the starts of steps with 503.
    pub unavailable_start: bool,
    /// The code with which a step's start is refused.
    pub refuse_start: Option<&'static str>,
    /// Takes no more log than this.
    pub log_limit: Option<usize>,
}

impl Record {
    pub fn end(&self, step: &str) -> &StepEnd {
        self.ends.get(step).unwrap_or_else(|| panic!("{step} has not ended: {:?}", self.calls))
    }

    pub fn log(&self, step: &str) -> &[u8] {
        self.logs.get(step).map_or(&[], Vec::as_slice)
    }

    pub fn log_text(&self, step: &str) -> String {
        String::from_utf8_lossy(self.log(step)).into_owned()
    }
}
