//! What the test server has recorded about a job, and how it behaves.

use std::collections::HashMap;
use std::time::Duration;

use greenroom_api_types::runner::{
    Cancel, CheckedOut, Complete, CredentialRequest, CredentialResponse, Job, StepEnd, StepSecret,
};

#[derive(Debug, Default)]
pub struct Record {
    pub job: Option<Job>,
    /// The number of calls that the server rejected.
    pub rejected_calls: u32,
    /// Starts and ends in order of arrival: `start build`, `end build`, `complete`.
    pub calls: Vec<String>,
    pub ends: HashMap<String, StepEnd>,
    pub logs: HashMap<String, Vec<u8>>,
    /// How often a piece of log had an unexpected offset.
    pub offset_mismatches: u32,
    pub artifact: Option<Vec<u8>>,
    pub caches: HashMap<String, Vec<u8>>,
    pub checkout: Option<CheckedOut>,
    pub credential_requests: Vec<CredentialRequest>,
    /// All id tokens that were returned.
    pub id_tokens: Vec<String>,
    /// The number of requests for new id tokens.
    pub id_token_requests: usize,
    /// The digests of steps of registries that were requested.
    pub step_requests: Vec<String>,
    /// The image digests of started steps.
    pub images: HashMap<String, String>,
    pub complete: Option<Complete>,
    /// The runner has waited for the response to the end of the job.
    pub is_complete_answered: bool,
}

/// How the server behaves.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// The delay of the response with a job, after the job was recorded.
    pub acquire_delay: Duration,
    /// The delay of the response to the end of a job, after the end was recorded.
    pub complete_delay: Duration,
    /// Responds to every call about a job with 503.
    pub is_unavailable: bool,
    /// Responds to every call about a job with 410.
    pub is_job_gone: bool,
    /// Responds to every call with 410 and `runner_revoked`.
    pub is_revoked: bool,
    /// Responds to heartbeats with 503.
    pub rejects_heartbeats: bool,
    pub cancel: Option<Cancel>,
    /// Responds with this status to the end of a step that has outputs.
    pub reject_outputs: Option<u16>,
    /// Responds to the start of a step with 503.
    pub rejects_starts: bool,
    /// Responds to the start of a step with 409 and this code.
    pub refuse_start: Option<&'static str>,
    /// The secrets of every step.
    pub secrets: Vec<StepSecret>,
    /// The responses to requests for credentials; to all others the response is that there is none.
    pub credentials: Vec<(CredentialRequest, CredentialResponse)>,
    /// Responds to requests for credentials with 503.
    pub rejects_credentials: bool,
    /// The variables of every step's id tokens.
    pub id_tokens: Vec<&'static str>,
    pub id_token_seconds: i64,
    /// How requests for new id tokens are answered, one after the other and then again from the first; empty for
    /// success.
    pub id_token_responses: Vec<IdTokenResponse>,
    /// The maximum length of a log.
    pub log_limit: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
pub enum IdTokenResponse {
    Success,
    Problem(u16),
    /// No response.
    Silence,
    /// Tokens for a variable that the step does not have.
    OtherVariable,
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
