//! What can go wrong with the engine, told apart by what the caller can do about it.

use temporalio_client::errors::{ClientConnectError, WorkflowStartError};
use temporalio_client::tonic::{Code, Status};

/// An error of the engine. Its text is for the log, never for a client.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("`{0}` is no address of an engine: expected host:port")]
    Address(String),
    /// The database has not said yet which installation this is: trying again later is right.
    #[error("the installation's id is not known yet")]
    NotIdentified,
    /// Trying again later is right.
    #[error("the engine is unavailable")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// It is there and can't do this one thing at the moment: a workflow that is just closing, or a limit that is reached.
    #[error("the engine is busy")]
    Busy(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The task has ended, timed out or was canceled: nobody waits for word of it any more.
    #[error("the engine has no such task any more")]
    Gone,
    #[error("the engine refused")]
    Refused(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// This daemon is going down.
    #[error("stopping")]
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
            // What repeating can't mend.
            Code::InvalidArgument
            | Code::AlreadyExists
            | Code::FailedPrecondition
            | Code::OutOfRange
            | Code::Unimplemented => Self::Refused(Box::new(status)),
            // A wrong key or a missing namespace too: an operator mends it, and until then nothing is lost.
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
            // A namespace that is not there (yet).
            WorkflowStartError::Rpc(status) if status.code() == Code::NotFound => {
                Self::Unavailable(Box::new(status))
            }
            WorkflowStartError::Rpc(status) => status.into(),
            other => Self::Refused(Box::new(other)),
        }
    }
}
