//! The credentials of a job, owned: for an upload, which goes on in a task of its own.

use greenroom_domain::id::JobId;
use greenroom_domain::token::TokenHash;
use greenroom_store::job::{JobWord, RunnerPrincipal};

#[derive(Clone)]
pub struct JobCredentials {
    runner: RunnerPrincipal,
    job: JobId,
    secret: TokenHash,
}

impl JobCredentials {
    pub fn word(&self) -> JobWord<'_> {
        JobWord { runner: &self.runner, job: self.job, secret: &self.secret }
    }
}

impl From<JobWord<'_>> for JobCredentials {
    fn from(word: JobWord<'_>) -> Self {
        Self { runner: word.runner.clone(), job: word.job, secret: *word.secret }
    }
}
