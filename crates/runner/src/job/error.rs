//! Why a job can't be run.

use greenroom_api_types::runner::PermanentFailure;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct JobError {
    /// Set if a retry can't help.
    pub(super) failure: Option<PermanentFailure>,
    pub(super) message: String,
}

impl From<String> for JobError {
    fn from(message: String) -> Self {
        JobError { failure: None, message }
    }
}
