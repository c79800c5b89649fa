//! The limits of one explanation.

use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Of one request, from the look-up of the name to the last byte of the response.
    pub request_timeout: Duration,
    /// Of all attempts together, with the time between them.
    pub deadline: Duration,
    pub max_response_bytes: usize,
    pub max_output_tokens: u32,
    /// Further attempts after a response that can't be used.
    pub retries_of_invalid: u32,
    /// Further attempts after status 429 or 5xx.
    pub retries_of_unavailable: u32,
    /// The time before the first of these attempts; it doubles with each.
    pub backoff: Duration,
    /// A longer `Retry-After` ends the call.
    pub max_retry_after: Duration,
}

impl Limits {
    /// Returns how many requests are sent at most that may be charged. One more is possible if the first was rejected.
    pub const fn max_attempts(&self) -> u32 {
        1 + self.retries_of_invalid + self.retries_of_unavailable
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            request_timeout: Duration::from_secs(60),
            deadline: Duration::from_secs(150),
            max_response_bytes: 256 << 10,
            max_output_tokens: 4_096,
            retries_of_invalid: 1,
            retries_of_unavailable: 2,
            backoff: Duration::from_secs(1),
            max_retry_after: Duration::from_secs(20),
        }
    }
}
