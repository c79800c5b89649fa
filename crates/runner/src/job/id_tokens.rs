//! Keeps the id tokens of a running step fresh: requests new ones at half of their lifetime, masks them, and only
//! then replaces the step's files.
//!
//! Lifetimes are counted by the runner's monotonic clock from the moment before a request was sent. The server
//! can't have issued the tokens earlier, so a wrong clock of this machine does not matter.

use std::convert::Infallible;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use greenroom_api_types::runner::StepIdToken;
use greenroom_client::{Error, JobClient};
use serde_json::Value;
use tokio::time::Instant;

use super::lease::Lease;
use super::retry::Backoff;
use super::secrets::MaskedValues;
use crate::backend::StepFiles;
use crate::error_chain::error_chain;

/// How long tokens are masked after they have expired: relying parties tolerate that clocks differ.
const MASKED_AFTER_EXPIRY: Duration = Duration::from_secs(15 * 60);
/// The times in a token are whole seconds, so it may expire this much earlier than its lifetime suggests.
const ROUNDING: Duration = Duration::from_secs(1);
/// Bounds of a request's timeout. After a longer wait a new request is more likely to succeed.
const MIN_TIMEOUT: Duration = Duration::from_secs(1);
const MAX_TIMEOUT: Duration = Duration::from_secs(15);

/// The id tokens that a step has at one time. Empty if it has none.
#[derive(Default)]
pub(super) struct IdTokens {
    tokens: Vec<StepIdToken>,
    /// The shortest lifetime, and when the tokens were requested.
    validity: Option<(Duration, Instant)>,
}

impl IdTokens {
    /// Takes the tokens of a response to a request that was sent at this time. The error is shown to users.
    pub(super) fn received(tokens: Vec<StepIdToken>, requested_at: Instant) -> Result<Self, String> {
        let mut shortest = None;
        for token in &tokens {
            let Some(lifetime) = lifetime(token) else {
                return Err(format!("the id token for `{}` has no valid lifetime", token.variable));
            };
            shortest = Some(shortest.map_or(lifetime, |shortest: Duration| shortest.min(lifetime)));
        }
        Ok(IdTokens { tokens, validity: shortest.map(|lifetime| (lifetime, requested_at)) })
    }

    /// Returns variable and token of each file.
    pub(super) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.tokens.iter().map(|token| (token.variable.as_str(), token.token.as_str()))
    }

    pub(super) fn masked_until(&self) -> Instant {
        let (lifetime, requested_at) = self.validity.unwrap_or((Duration::ZERO, Instant::now()));
        requested_at + lifetime + MASKED_AFTER_EXPIRY
    }

    fn has_same_variables(&self, other: &Self) -> bool {
        let mut variables = self.files().map(|(variable, _)| variable);
        self.tokens.len() == other.tokens.len()
            && variables.all(|variable| other.files().any(|(other, _)| other == variable))
    }
}

/// Reads how long a token is valid from when it was issued. Its signature is for relying parties.
fn lifetime(token: &StepIdToken) -> Option<Duration> {
    let payload = URL_SAFE_NO_PAD.decode(token.token.split('.').nth(1)?).ok()?;
    let claims: Value = serde_json::from_slice(&payload).ok()?;
    let seconds = token.expires_at.as_second().checked_sub(claims.get("iat")?.as_i64()?)?;
    u64::try_from(seconds).ok().filter(|&seconds| seconds > 0).map(Duration::from_secs)
}

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

#[cfg(test)]
pub(super) mod tests {
    use jiff::Timestamp;

    use super::*;

    fn token(text: &str, lifetime: i64) -> StepIdToken {
        let (issued, expires) = (1_700_000_000, 1_700_000_000 + lifetime);
        let payload = URL_SAFE_NO_PAD.encode(format!(r#"{{"iat":{issued},"exp":{expires}}}"#));
        StepIdToken {
            variable: "TOKEN".to_owned(),
            token: format!("e30.{payload}.{text}"),
            expires_at: Timestamp::from_second(expires).unwrap(),
        }
    }

    /// Returns a token that consists of this text only.
    pub(crate) fn tokens(text: &str, lifetime: Duration, requested_at: Instant) -> IdTokens {
        let token = StepIdToken { token: text.to_owned(), ..token(text, 600) };
        IdTokens { tokens: vec![token], validity: Some((lifetime, requested_at)) }
    }

    #[test]
    fn the_lifetime_counts_from_the_issue_and_not_from_the_local_time() {
        assert_eq!(lifetime(&token("s", 600)), Some(Duration::from_secs(600)));
        let requested_at = Instant::now();
        let tokens = IdTokens::received(vec![token("a", 600), token("b", 20)], requested_at).unwrap();
        assert_eq!(tokens.validity, Some((Duration::from_secs(20), requested_at)));
        assert_eq!(IdTokens::received(Vec::new(), requested_at).unwrap().validity, None);
    }

    #[test]
    fn a_token_without_a_valid_lifetime_is_rejected_and_not_quoted() {
        let with = |text: &str| StepIdToken { token: text.to_owned(), ..token("s", 600) };
        for invalid in
            [token("s", 0), token("s", -5), with("hunter22"), with("a.e30.c"), with("a.!.c"), with("..")]
        {
            let error = IdTokens::received(vec![invalid], Instant::now()).err().unwrap();
            assert_eq!(error, "the id token for `TOKEN` has no valid lifetime");
        }
    }

    #[test]
    fn tokens_for_other_variables_are_not_accepted() {
        let received = |variables: &[&str]| {
            let with = |variable: &&str| StepIdToken { variable: (*variable).to_owned(), ..token("s", 600) };
            IdTokens::received(variables.iter().map(with).collect(), Instant::now()).unwrap()
        };
        let current = received(&["A", "B"]);
        assert!(received(&["B", "A"]).has_same_variables(&current));
        for other in [&["A"][..], &["A", "C"], &["A", "A"], &["A", "B", "C"], &[]] {
            assert!(!current.has_same_variables(&received(other)), "{other:?}");
        }
    }
}
