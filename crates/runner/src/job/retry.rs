//! Retries requests to the server as long as the lease is valid and the server still accepts reports.

use std::future::Future;
use std::time::Duration;

use greenroom_client::Error;

use super::lease::Lease;

const INITIAL_DELAY: Duration = Duration::from_millis(200);
const MAX_DELAY: Duration = Duration::from_secs(5);
/// How often a request is sent that fails with an internal error of the server (`500`): the request itself
/// may be the cause. With the delays in between this takes about 15 seconds.
const MAX_INTERNAL_ERRORS: u32 = 8;

#[derive(Debug, thiserror::Error)]
pub enum RequestFailure {
    /// This runner must not do anything more for this job.
    #[error("this runner has lost the job")]
    LeaseEnded,
    #[error("{code}: {detail}")]
    Refused { code: String, detail: String },
    /// An error of this machine, [`Error::Local`].
    #[error(transparent)]
    Local(Error),
    /// The retries have ended without a usable response.
    #[error("gave up retrying: {0}")]
    GivenUp(String),
}

/// Exponentially growing delays with jitter, so that runners that lost the same server do not all retry at
/// the same moment.
#[derive(Debug)]
pub struct Backoff {
    next: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Backoff { next: INITIAL_DELAY }
    }
}

impl Backoff {
    /// Returns the next delay. It is at least the server's `Retry-After`, up to [`MAX_DELAY`].
    pub fn next_delay(&mut self, retry_after: Option<Duration>) -> Duration {
        let delay = self.next.mul_f64(rand::random_range(0.5..1.0));
        self.next = (self.next * 2).min(MAX_DELAY);
        delay.max(retry_after.unwrap_or_default().min(MAX_DELAY))
    }
}

/// Sends a request until it succeeds, is refused, or the retries end. `what` names it in the log.
pub async fn retry_while_leased<T, F>(
    lease: &Lease,
    what: &str,
    call: impl Fn() -> F,
) -> Result<T, RequestFailure>
where
    F: Future<Output = Result<T, Error>>,
{
    let mut backoff = Backoff::default();
    let mut internal_errors = 0;
    loop {
        let result = tokio::select! {
            biased;
            () = lease.ended() => return Err(RequestFailure::LeaseEnded),
            result = call() => result,
        };
        let (retry_after, reason) = match result {
            Ok(response) => return Ok(response),
            Err(Error::Gone { detail, .. }) => {
                tracing::warn!(what, detail, "the server has taken the job back");
                lease.revoke();
                return Err(RequestFailure::LeaseEnded);
            }
            Err(Error::Refused { code, detail, .. }) => return Err(RequestFailure::Refused { code, detail }),
            Err(error @ Error::Local { .. }) => return Err(RequestFailure::Local(error)),
            Err(Error::Unavailable { reason, retry_after, status }) => {
                internal_errors += u32::from(status == Some(500));
                if internal_errors >= MAX_INTERNAL_ERRORS {
                    tracing::error!(what, reason, "the server responds with an internal error each time");
                    return Err(RequestFailure::GivenUp(reason));
                }
                tracing::warn!(what, reason, "a request failed; retrying");
                (retry_after, reason)
            }
        };
        tokio::select! {
            () = lease.ended() => return Err(RequestFailure::LeaseEnded),
            // Checked only between two requests, so that everything is sent at least once.
            () = lease.reporting_ended() => return Err(RequestFailure::GivenUp(reason)),
            () = tokio::time::sleep(backoff.next_delay(retry_after)) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_up_to_the_maximum() {
        let mut backoff = Backoff::default();
        for _ in 0..20 {
            assert!(backoff.next_delay(None) < MAX_DELAY);
        }
        assert!(backoff.next_delay(None) >= MAX_DELAY / 2);
    }

    #[test]
    fn retry_after_is_respected_up_to_the_maximum() {
        assert!(Backoff::default().next_delay(Some(Duration::from_secs(3))) >= Duration::from_secs(3));
        assert!(Backoff::default().next_delay(Some(Duration::from_secs(3600))) <= MAX_DELAY);
    }
}
