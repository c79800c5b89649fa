//! A client-side timeout for database calls: PostgreSQL's own timeouts do not help when the server stops
//! responding.

use std::future::Future;
use std::io;
use std::time::Duration;

use crate::StoreError;

/// A little longer than the database's own timeouts, so that its more specific errors come first where
/// possible.
const DB_TIMEOUT: Duration = Duration::from_secs(8);

/// Returns the result of `work`, or [`StoreError::Unavailable`] after the timeout. Requests have their own
/// deadline; this one is for background tasks.
pub async fn with_db_timeout<T>(work: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    match tokio::time::timeout(DB_TIMEOUT, work).await {
        Ok(outcome) => outcome,
        Err(_) => {
            let text = format!("no result within {} s", DB_TIMEOUT.as_secs());
            Err(StoreError::Unavailable(sqlx::Error::Io(io::Error::new(io::ErrorKind::TimedOut, text))))
        }
    }
}
