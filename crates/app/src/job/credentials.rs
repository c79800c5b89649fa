//! Job credentials that own their parts, for uploads, which continue in a detached task.

use greenroom_domain::id::JobId;
use greenroom_domain::token::TokenHash;
use greenroom_store::job::{JobCredentials, RunnerPrincipal};

#[derive(Clone)]
pub struct OwnedJobCredentials {
    runner: RunnerPrincipal,
    job: JobId,
    secret: TokenHash,
}

impl OwnedJobCredentials {
    pub fn credentials(&self) -> JobCredentials<'_> {
        JobCredentials { runner: &self.runner, job: self.job, secret: &self.secret }
    }
}

impl From<JobCredentials<'_>> for OwnedJobCredentials {
    fn from(credentials: JobCredentials<'_>) -> Self {
        Self { runner: credentials.runner.clone(), job: credentials.job, secret: *credentials.secret }
    }
}
