//! A bound on waiting for the database, on our side of the network: a server that went silent answers no time-out.

use std::future::Future;
use std::io;
use std::time::Duration;

use crate::StoreError;

/// A little more than the database's own limits, so that its word comes first where it can.
const PATIENCE: Duration = Duration::from_secs(8);

/// The outcome, or [`StoreError::Unavailable`] if it does not come in time. Requests have a deadline of their own; this
/// is for what runs beside them.
pub async fn within_patience<T>(work: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    match tokio::time::timeout(PATIENCE, work).await {
        Ok(outcome) => outcome,
        Err(_) => {
            let text = format!("no result within {} s", PATIENCE.as_secs());
            Err(StoreError::Unavailable(sqlx::Error::Io(io::Error::new(io::ErrorKind::TimedOut, text))))
        }
    }
}
