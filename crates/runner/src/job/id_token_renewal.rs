//! Keeps the id tokens of a running step fresh: requests new ones at half of their lifetime, masks them, and only
//! then replaces the step's files.

use std::convert::Infallible;
use std::time::Duration;

use greenroom_client::{Error, JobClient};
use tokio::time::Instant;

use super::id_tokens::IdTokens;
use super::lease::Lease;
use super::retry::Backoff;
use super::secrets::MaskedValues;
use crate::backend::StepFiles;
use crate::error_chain::error_chain;

/// The times in a token are whole seconds, so it may expire this much earlier than its lifetime suggests.
const ROUNDING: Duration = Duration::from_secs(1);
/// Bounds of a request's timeout. After a longer wait a new request is more likely to succeed.
const MIN_TIMEOUT: Duration = Duration::from_secs(1);
const MAX_TIMEOUT: Duration = Duration::from_secs(15);

/// Renews the tokens of one step.
pub(super) struct Renewal<'a> {
    pub(super) client: &'a JobClient,
    pub(super) lease: &'a Lease,
    pub(super) step_run_id: &'a str,
    pub(super) masked: &'a mut MaskedValues,
    pub(super) files: &'a mut StepFiles,
}

impl Renewal<'_> {
    /// Runs until it is dropped, which has to happen when the step has ended or the lease is lost. If no new
    /// tokens arrive in time, the files are emptied: a client that finds no token fails with a clear error, and
    /// retries. A step that has blocked the way to its files keeps what it has.
    pub(super) async fn run(mut self, mut current: IdTokens) -> Infallible {
        while let Some((lifetime, requested_at)) = current.validity {
            tokio::time::sleep_until(requested_at + lifetime / 2).await;
            let empty_at = requested_at + (lifetime - lifetime / 20).saturating_sub(ROUNDING);
            let renewed = match tokio::time::timeout_at(empty_at, self.renew(&current, lifetime)).await {
                Ok(renewed) => renewed,
                Err(_) => {
                    tracing::error!("the id tokens of a step expire before new ones were received");
                    if !self.replace(current.files().map(|(variable, _)| (variable, ""))).await {
                        break;
                    }
                    self.renew(&current, lifetime).await
                }
            };
            if !self.replace(renewed.files()).await {
                break;
            }
            current = renewed;
        }
        std::future::pending().await
    }

    /// Requests new tokens until the server has returned them and they are masked.
    async fn renew(&mut self, current: &IdTokens, lifetime: Duration) -> IdTokens {
        let mut backoff = Backoff::default();
        loop {
            let retry_after = match self.request(current, lifetime).await {
                Ok(renewed) => return renewed,
                Err(retry_after) => retry_after,
            };
            // Several attempts have to fit into a short lifetime.
            tokio::time::sleep(backoff.next_delay(retry_after).min(lifetime / 16)).await;
        }
    }

    /// The error has the delay that the server demands.
    async fn request(
        &mut self,
        current: &IdTokens,
        lifetime: Duration,
    ) -> Result<IdTokens, Option<Duration>> {
        let requested_at = Instant::now();
        let timeout = (lifetime / 8).clamp(MIN_TIMEOUT, MAX_TIMEOUT);
        let response = match self.client.refresh_id_tokens(self.step_run_id, timeout).await {
            Ok(response) => response,
            Err(error) => {
                if let Error::Gone { detail, .. } = &error {
                    tracing::warn!(detail, "the server has taken the job back");
                    self.lease.revoke();
                    std::future::pending::<()>().await;
                }
                tracing::warn!(error = error_chain(&error), "the id tokens were not renewed; retrying");
                let Error::Unavailable { retry_after, .. } = error else { return Err(None) };
                return Err(retry_after);
            }
        };
        let renewed = IdTokens::received(response.id_tokens, requested_at).and_then(|renewed| match renewed
            .has_same_variables(current)
        {
            true => Ok(renewed),
            false => Err("the response has other id tokens than the step".to_owned()),
        });
        let masked = match renewed {
            Ok(renewed) => self.masked.add(&renewed).await.map(|()| renewed),
            Err(reason) => Err(reason),
        };
        masked.map_err(|reason| {
            tracing::warn!(reason, "the id tokens can't be used; retrying");
            None
        })
    }

    /// Returns whether the files can be replaced again.
    async fn replace<'t>(&mut self, files: impl Iterator<Item = (&'t str, &'t str)>) -> bool {
        for (variable, token) in files {
            if let Err(error) = self.files.replace(variable, token.as_bytes()).await {
                tracing::warn!(error = error_chain(&error), "a step's id token can't be replaced any more");
                return false;
            }
        }
        true
    }
}
