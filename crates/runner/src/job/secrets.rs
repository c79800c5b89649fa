//! The secrets of a step: decodes them, and prepares what the entrypoint gets and what is masked. No error
//! contains a value.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use greenroom_api_types::runner::StepSecret;

use super::step_end::Interruption;
use crate::backend::StepValues;
use crate::credential::Credential;
use crate::log::SecretPatterns;

#[derive(Default)]
pub(super) struct Secrets {
    pub(super) values: StepValues,
    pub(super) patterns: Arc<SecretPatterns>,
}

impl Secrets {
    /// The step gets the secrets. The credentials, which it never gets, are masked as well.
    pub(super) async fn prepare(
        received: Vec<StepSecret>,
        credentials: Vec<Arc<Credential>>,
    ) -> Result<Self, Interruption> {
        if received.is_empty() && credentials.is_empty() {
            return Ok(Secrets::default());
        }
        // Building the patterns of large secrets takes a while.
        let prepared = tokio::task::spawn_blocking(move || prepare(&received, &credentials)).await;
        prepared
            .map_err(|error| Interruption::PlatformError(format!("the secrets can't be used: {error}")))?
    }
}

fn prepare(received: &[StepSecret], credentials: &[Arc<Credential>]) -> Result<Secrets, Interruption> {
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
        named.push((name.as_str(), value));
    }
    let platform: Vec<_> = credentials.iter().map(|known| (known.name(), known.masked_values())).collect();
    let platform =
        platform.iter().flat_map(|(name, values)| values.iter().map(|value| (*name, value.as_slice())));
    let named = named.iter().map(|(name, value)| (*name, value.as_slice()));
    let patterns = SecretPatterns::new(named.chain(platform)).map_err(Interruption::PlatformError)?;
    if patterns.has_left_out_forms() {
        tracing::warn!("the secrets of this step are so large that rare encodings of them are not masked");
    }
    Ok(Secrets { values, patterns: Arc::new(patterns) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(value: &str, file: bool) -> StepSecret {
        StepSecret { variable: "KEY".to_owned(), name: "shop-key".to_owned(), value: value.to_owned(), file }
    }

    #[tokio::test]
    async fn a_value_with_a_nul_byte_can_only_be_a_file() {
        let value = STANDARD.encode(b"hunter\x0022");
        let error = Secrets::prepare(vec![secret(&value, false)], Vec::new()).await.err().unwrap();
        assert!(matches!(&error, Interruption::InvalidSecret(reason) if reason.contains("`shop-key`")));
        let secrets = Secrets::prepare(vec![secret(&value, true)], Vec::new()).await.ok().unwrap();
        assert_eq!(secrets.patterns.find(b"x hunter\x0022 y"), Some("shop-key"));
    }

    #[tokio::test]
    async fn an_error_does_not_contain_the_value() {
        let error = Secrets::prepare(vec![secret("hunter22!", false)], Vec::new()).await.err().unwrap();
        assert_eq!(
            error,
            Interruption::PlatformError("the secret `shop-key` is not valid base64".to_owned())
        );
    }
}
