//! Errors of the engine, distinguished by what the caller can do about them.

use temporalio_client::errors::{ClientConnectError, WorkflowStartError};
use temporalio_client::tonic::{Code, Status};

/// An error of the engine. Its text is written to the log and never returned to a client.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("`{0}` is not a valid engine address: expected host:port")]
    Address(String),
    /// The installation's id could not be read from the database yet. The caller should retry later.
    #[error("the installation's id has not been read yet")]
    NotIdentified,
    /// The caller should retry later.
    #[error("the engine is unavailable")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The engine is reachable and can't do this one thing at the moment: a workflow is just closing, or a
    /// rate limit is reached.
    #[error("the engine is busy")]
    Busy(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The task has ended, timed out or was canceled; its result is no longer needed.
    #[error("the task no longer exists in the engine")]
    Gone,
    #[error("the engine refused the request")]
    Refused(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// This daemon is shutting down.
    #[error("shutting down")]
    Stopping,
}

impl EngineError {
    pub fn is_unavailable(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::NotIdentified)
    }
}

impl From<Status> for EngineError {
    fn from(status: Status) -> Self {
        match status.code() {
            Code::NotFound => Self::Gone,
            Code::ResourceExhausted => Self::Busy(Box::new(status)),
            // Errors that a retry can't fix.
            Code::InvalidArgument
            | Code::AlreadyExists
            | Code::FailedPrecondition
            | Code::OutOfRange
            | Code::Unimplemented => Self::Refused(Box::new(status)),
            // Includes a wrong key and a missing namespace: an operator can fix these, and retries lose
            // nothing until then.
            _ => Self::Unavailable(Box::new(status)),
        }
    }
}

impl From<ClientConnectError> for EngineError {
    fn from(error: ClientConnectError) -> Self {
        Self::Unavailable(Box::new(error))
    }
}

impl From<WorkflowStartError> for EngineError {
    fn from(error: WorkflowStartError) -> Self {
        match error {
            // The namespace does not exist (yet).
            WorkflowStartError::Rpc(status) if status.code() == Code::NotFound => {
                Self::Unavailable(Box::new(status))
            }
            WorkflowStartError::Rpc(status) => status.into(),
            other => Self::Refused(Box::new(other)),
        }
    }
}
