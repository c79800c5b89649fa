//! The id tokens of a step, and how long they are valid.
//!
//! Lifetimes are counted by the runner's monotonic clock from the moment before a request was sent. The server
//! can't have issued the tokens earlier, so a wrong clock of this machine does not matter.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use greenroom_api_types::runner::StepIdToken;
use serde_json::Value;
use tokio::time::Instant;

/// How long tokens are masked after they have expired: relying parties tolerate that clocks differ.
const MASKED_AFTER_EXPIRY: Duration = Duration::from_secs(15 * 60);

/// The id tokens that a step has at one time. Empty if it has none.
#[derive(Default)]
pub(super) struct IdTokens {
    tokens: Vec<StepIdToken>,
    /// The shortest lifetime, and when the tokens were requested.
    pub(super) validity: Option<(Duration, Instant)>,
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

    pub(super) fn has_same_variables(&self, other: &Self) -> bool {
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

#[cfg(test)]
impl IdTokens {
    /// A token that consists of this text only.
    pub(super) fn of_text(text: &str, lifetime: Duration, requested_at: Instant) -> Self {
        let token = StepIdToken {
            variable: "TOKEN".to_owned(),
            token: text.to_owned(),
            expires_at: jiff::Timestamp::UNIX_EPOCH,
        };
        IdTokens { tokens: vec![token], validity: Some((lifetime, requested_at)) }
    }
}

#[cfg(test)]
mod tests {
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
