//! Retries requests to the server, as long as the job is this runner's and its reports are still awaited.

use std::future::Future;
use std::time::Duration;

use greenroom_client::Error;

use super::lease::Lease;

const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// How often a request is sent that the server answers with an error of its own (`500`): the request itself may be what
/// causes it. With the pauses in between this takes about a quarter of a minute.
const MAX_INTERNAL_ERRORS: u32 = 8;

#[derive(Debug, thiserror::Error)]
pub enum Unanswered {
    /// There is nothing more to be done about this job.
    #[error("the job is no longer this runner's")]
    Over,
    #[error("{code}: {detail}")]
    Refused { code: String, detail: String },
    #[error("{0}")]
    Local(String),
    /// The retries have ended without a usable response.
    #[error("given up: {0}")]
    GivenUp(String),
}

/// Pauses that grow, each with some chance in it, so that runners that lost the same server do not come back as one.
#[derive(Debug)]
pub struct Pauses {
    next: Duration,
}

impl Default for Pauses {
    fn default() -> Self {
        Pauses { next: FIRST_PAUSE }
    }
}

impl Pauses {
    /// The next one; at least as long as the server has asked for, within reason.
    pub fn next(&mut self, asked_for: Option<Duration>) -> Duration {
        let pause = self.next.mul_f64(rand::random_range(0.5..1.0));
        self.next = (self.next * 2).min(LONGEST_PAUSE);
        pause.max(asked_for.unwrap_or_default().min(LONGEST_PAUSE))
    }
}

/// `what` is for the log.
pub async fn insist<T, F>(lease: &Lease, what: &str, call: impl Fn() -> F) -> Result<T, Unanswered>
where
    F: Future<Output = Result<T, Error>>,
{
    let mut pauses = Pauses::default();
    let mut internal_errors = 0;
    loop {
        let answer = tokio::select! {
            biased;
            () = lease.over() => return Err(Unanswered::Over),
            answer = call() => answer,
        };
        let (retry_after, reason) = match answer {
            Ok(answer) => return Ok(answer),
            Err(Error::Gone { detail, .. }) => {
                tracing::warn!(what, detail, "the server has taken the job back");
                lease.revoke();
                return Err(Unanswered::Over);
            }
            Err(Error::Refused { code, detail, .. }) => return Err(Unanswered::Refused { code, detail }),
            Err(Error::Local(reason)) => return Err(Unanswered::Local(reason)),
            Err(Error::Unavailable { reason, retry_after, status }) => {
                internal_errors += u32::from(status == Some(500));
                if internal_errors >= MAX_INTERNAL_ERRORS {
                    tracing::error!(what, reason, "the server answers with an internal error each time");
                    return Err(Unanswered::GivenUp(reason));
                }
                tracing::warn!(what, reason, "not answered; trying again");
                (retry_after, reason)
            }
        };
        tokio::select! {
            () = lease.over() => return Err(Unanswered::Over),
            // Checked only between two requests, so that everything is sent at least once.
            () = lease.report_time_over() => return Err(Unanswered::GivenUp(reason)),
            () = tokio::time::sleep(pauses.next(retry_after)) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_bound() {
        let mut pauses = Pauses::default();
        for _ in 0..20 {
            assert!(pauses.next(None) < LONGEST_PAUSE);
        }
        assert!(pauses.next(None) >= LONGEST_PAUSE / 2);
    }

    #[test]
    fn the_server_may_ask_for_a_longer_one_within_reason() {
        assert!(Pauses::default().next(Some(Duration::from_secs(3))) >= Duration::from_secs(3));
        assert!(Pauses::default().next(Some(Duration::from_secs(3600))) <= LONGEST_PAUSE);
    }
}
