//! Decides whether a request is repeated, and when. Pure.

use std::time::Duration;

use super::error::ModelError;
use super::limits::Limits;

pub(super) struct Retries {
    of_invalid: u32,
    of_unavailable: u32,
    backoff: Duration,
    max_retry_after: Duration,
}

impl Retries {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            of_invalid: limits.retries_of_invalid,
            of_unavailable: limits.retries_of_unavailable,
            backoff: limits.backoff,
            max_retry_after: limits.max_retry_after,
        }
    }

    /// Returns how long to wait before the next attempt, or `None` if the error is final.
    pub(super) fn delay(&mut self, error: ModelError, retry_after: Option<Duration>) -> Option<Duration> {
        match error {
            ModelError::RateLimited(_) | ModelError::Unavailable(_) => {
                self.of_unavailable = self.of_unavailable.checked_sub(1)?;
                let backoff = self.backoff;
                self.backoff = backoff.saturating_mul(2);
                match retry_after {
                    Some(wait) if wait > self.max_retry_after => None,
                    wait => Some(wait.unwrap_or_default().max(backoff)),
                }
            }
            ModelError::InvalidResponse | ModelError::InvalidExplanation | ModelError::Connection => {
                self.of_invalid = self.of_invalid.checked_sub(1)?;
                Some(Duration::ZERO)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    #[test]
    fn the_kinds_of_errors_are_counted_separately() {
        let busy = ModelError::RateLimited(StatusCode::TOO_MANY_REQUESTS);
        let mut retries = Retries::new(&Limits::default());
        assert_eq!(retries.delay(busy, None), Some(seconds(1)));
        assert_eq!(retries.delay(ModelError::InvalidExplanation, None), Some(seconds(0)));
        assert_eq!(retries.delay(ModelError::Unavailable(StatusCode::BAD_GATEWAY), None), Some(seconds(2)));
        assert_eq!(retries.delay(busy, None), None);
        assert_eq!(retries.delay(ModelError::InvalidResponse, None), None);
    }

    #[test]
    fn retry_after_is_honoured_up_to_its_bound() {
        let busy = ModelError::RateLimited(StatusCode::TOO_MANY_REQUESTS);
        for (wait, expected) in [(0, Some(1)), (7, Some(7)), (20, Some(20)), (21, None), (u64::MAX, None)] {
            let delay = Retries::new(&Limits::default()).delay(busy, Some(seconds(wait)));
            assert_eq!(delay, expected.map(seconds), "{wait}");
        }
    }

    #[test]
    fn other_errors_are_final() {
        for error in [
            ModelError::ForbiddenAddress,
            ModelError::InvalidKey,
            ModelError::Timeout,
            ModelError::Deadline,
            ModelError::Redirect,
            ModelError::TooLarge,
            ModelError::Rejected(StatusCode::BAD_REQUEST),
            ModelError::Refused,
        ] {
            assert_eq!(Retries::new(&Limits::default()).delay(error, None), None, "{error:?}");
        }
    }
}
