//! The secrets and id tokens of a step: decodes them, and prepares what the entrypoint gets and what is masked.
//! No error contains a value.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use greenroom_api_types::runner::StepSecret;
use tokio::sync::watch;
use tokio::time::Instant;
use zeroize::Zeroizing;

use super::id_tokens::IdTokens;
use super::step_end::Interruption;
use crate::backend::StepValues;
use crate::credential::Credential;
use crate::log::SecretPatterns;

pub(super) struct Secrets {
    pub(super) values: StepValues,
    pub(super) masked: MaskedValues,
}

impl Secrets {
    /// The step gets the secrets and the tokens. The credentials, which it never gets, are masked as well.
    pub(super) async fn prepare(
        received: &[StepSecret],
        credentials: &[Arc<Credential>],
        tokens: &IdTokens,
    ) -> Result<Self, Interruption> {
        let (mut values, mut secrets) = decode(received)?;
        for credential in credentials {
            let masked = credential.masked_values().into_iter();
            secrets.extend(masked.map(|value| (credential.name().to_owned(), value)));
        }
        for (variable, token) in tokens.files() {
            values.add_file(variable, token.as_bytes());
        }
        let mut masked = MaskedValues::new(secrets);
        masked.add(tokens).await.map_err(Interruption::PlatformError)?;
        if masked.patterns().has_left_out_forms() {
            tracing::warn!(
                "the secrets of this step are so large that rare encodings of them are not masked"
            );
        }
        Ok(Secrets { values, masked })
    }
}

/// Names and values.
type NamedValues = Vec<(String, Zeroizing<Vec<u8>>)>;

fn decode(received: &[StepSecret]) -> Result<(StepValues, NamedValues), Interruption> {
    let mut values = StepValues::default();
    let mut named = Vec::with_capacity(received.len());
    for StepSecret { variable, name, value, file } in received {
        let Ok(value) = STANDARD.decode(value) else {
            return Err(Interruption::PlatformError(format!("the secret `{name}` is not valid base64")));
        };
        if *file {
            values.add_file(variable, &value);
        } else if value.contains(&0) {
            return Err(Interruption::InvalidSecret(format!(
                "the secret `{name}` contains a NUL byte, so no variable can contain it: use `file: true`"
            )));
        } else {
            values.add_variable(variable, &value);
        }
        named.push((name.clone(), Zeroizing::new(value)));
    }
    Ok((values, named))
}

/// The values that are masked in everything that is reported about a step.
pub(super) struct MaskedValues {
    secrets: Arc<NamedValues>,
    tokens: Vec<MaskedToken>,
    patterns: watch::Sender<Arc<SecretPatterns>>,
}

#[derive(Clone)]
struct MaskedToken {
    /// The name of its variable.
    name: String,
    token: String,
    /// When it is not masked any more.
    until: Instant,
}

impl MaskedValues {
    /// Nothing is masked before the first call of [`MaskedValues::add`].
    fn new(secrets: NamedValues) -> Self {
        MaskedValues {
            secrets: Arc::new(secrets),
            tokens: Vec::new(),
            patterns: watch::Sender::new(Arc::default()),
        }
    }

    /// Masks these tokens too, and no longer those that expired long ago: otherwise the automaton would grow as
    /// long as the step runs. The step may get the tokens when this has returned without an error.
    pub(super) async fn add(&mut self, tokens: &IdTokens) -> Result<(), String> {
        self.add_at(tokens, Instant::now()).await
    }

    async fn add_at(&mut self, tokens: &IdTokens, now: Instant) -> Result<(), String> {
        self.tokens.retain(|known| known.until > now);
        self.tokens.extend(tokens.files().map(|(variable, token)| MaskedToken {
            name: variable.to_owned(),
            token: token.to_owned(),
            until: tokens.masked_until(),
        }));
        if self.secrets.is_empty() && self.tokens.is_empty() {
            return Ok(());
        }
        let (secrets, tokens) = (Arc::clone(&self.secrets), self.tokens.clone());
        // Building the patterns of large secrets takes a while.
        let built = tokio::task::spawn_blocking(move || {
            let secrets = secrets.iter().map(|(name, value)| (name.as_str(), value.as_slice()));
            let tokens = tokens.iter().map(|known| (known.name.as_str(), known.token.as_bytes()));
            SecretPatterns::new(secrets.chain(tokens))
        });
        let patterns = built.await.map_err(|error| format!("the secrets can't be used: {error}"))??;
        self.patterns.send_replace(Arc::new(patterns));
        Ok(())
    }

    /// Returns the present patterns.
    pub(super) fn patterns(&self) -> Arc<SecretPatterns> {
        Arc::clone(&self.patterns.borrow())
    }

    /// Returns the present patterns and all later ones.
    pub(super) fn subscribe(&self) -> watch::Receiver<Arc<SecretPatterns>> {
        self.patterns.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn secret(value: &str, file: bool) -> StepSecret {
        StepSecret { variable: "KEY".to_owned(), name: "shop-key".to_owned(), value: value.to_owned(), file }
    }

    #[tokio::test]
    async fn a_value_with_a_nul_byte_can_only_be_a_file() {
        let value = STANDARD.encode(b"hunter\x0022");
        let none = IdTokens::default();
        let error = Secrets::prepare(&[secret(&value, false)], &[], &none).await.err().unwrap();
        assert!(matches!(&error, Interruption::InvalidSecret(reason) if reason.contains("`shop-key`")));
        let secrets = Secrets::prepare(&[secret(&value, true)], &[], &none).await.ok().unwrap();
        assert_eq!(secrets.masked.patterns().find(b"x hunter\x0022 y"), Some("shop-key"));
    }

    #[tokio::test]
    async fn an_error_does_not_contain_the_value() {
        let none = IdTokens::default();
        let error = Secrets::prepare(&[secret("hunter22!", false)], &[], &none).await.err().unwrap();
        assert_eq!(
            error,
            Interruption::PlatformError("the secret `shop-key` is not valid base64".to_owned())
        );
    }

    #[tokio::test]
    async fn an_id_token_is_masked_until_long_after_it_has_expired() {
        let value = STANDARD.encode(b"hunter22");
        let (start, lifetime) = (Instant::now(), Duration::from_secs(600));
        let first = IdTokens::of_text("first-token", lifetime, start);
        let mut secrets = Secrets::prepare(&[secret(&value, false)], &[], &first).await.ok().unwrap();
        for (minutes, text, is_first_masked) in [
            (5, "renewed-1", true),
            (10, "renewed-2", true),
            (20, "renewed-3", true),
            (26, "renewed-4", false),
        ] {
            let now = start + Duration::from_secs(60 * minutes);
            secrets.masked.add_at(&IdTokens::of_text(text, lifetime, now), now).await.unwrap();
            let is_masked = |text: &str| secrets.masked.patterns().find(text.as_bytes()).is_some();
            assert!(is_masked("hunter22") && is_masked(text), "{minutes}");
            assert_eq!(is_masked("first-token"), is_first_masked, "{minutes}");
        }
    }
}
