//! Credentials of the platform: with them the runner itself fetches a repository or pulls images. A credential
//! is for exactly one host, perhaps for some of its repositories, and no step gets it.

use std::future::Future;
use std::sync::Arc;

use greenroom_api_types::runner::{CredentialKind, PermanentFailure};
use zeroize::Zeroizing;

use crate::log::{SecretPatterns, mask};

/// The user name of a credential that is only a password or a token. Forges and registries ignore it then.
const DEFAULT_USERNAME: &str = "token";

/// A user name and a password. It can't be printed, and its memory is overwritten when it is dropped.
pub struct Credential {
    /// The name of the secret.
    name: String,
    username: Zeroizing<String>,
    password: Zeroizing<String>,
    patterns: Arc<SecretPatterns>,
}

impl Credential {
    /// Parses `user:password`, or a password alone. Characters that could add a line to a protocol are rejected.
    pub fn parse(name: &str, value: &[u8]) -> Result<Self, CredentialError> {
        let invalid = || {
            CredentialError::denied(format!(
                "the secret `{name}` is not a credential: it has to be one line, `user:password` or a password alone"
            ))
        };
        let text = std::str::from_utf8(value).map_err(|_| invalid())?;
        let text = text.trim_end_matches(['\r', '\n']);
        let (username, password) = text.split_once(':').unwrap_or((DEFAULT_USERNAME, text));
        if username.is_empty() || password.is_empty() || text.contains(char::is_control) {
            return Err(invalid());
        }
        let forms = [text.as_bytes(), password.as_bytes()];
        let patterns = SecretPatterns::new(forms.map(|form| (name, form)));
        let patterns = patterns.map_err(|message| CredentialError { failure: None, message })?;
        Ok(Credential {
            name: name.to_owned(),
            username: Zeroizing::new(username.to_owned()),
            password: Zeroizing::new(password.to_owned()),
            patterns: Arc::new(patterns),
        })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn username(&self) -> &str {
        &self.username
    }

    pub(crate) fn password(&self) -> &str {
        &self.password
    }

    /// Returns the values that must not be in any log: the password, and the text of which the header
    /// `Authorization` is made.
    pub(crate) fn masked_values(&self) -> [Zeroizing<Vec<u8>>; 2] {
        let pair = [self.username.as_bytes(), b":", self.password.as_bytes()].concat();
        [Zeroizing::new(pair), Zeroizing::new(self.password.as_bytes().to_vec())]
    }

    pub(crate) fn mask(&self, text: &str) -> String {
        mask(&self.patterns, text)
    }
}

/// Why a credential can't be used. The message is shown to users.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct CredentialError {
    /// `None` if a retry may help.
    pub failure: Option<PermanentFailure>,
    pub message: String,
}

impl CredentialError {
    pub(crate) fn denied(message: impl Into<String>) -> Self {
        CredentialError { failure: Some(PermanentFailure::SecretDenied), message: message.into() }
    }
}

/// Returns credentials by host and repository. Implemented by the job, which requests them from the server.
pub trait Credentials: Send + Sync {
    /// `host` has a port if that is not 443. `repository` is the address that is fetched, for a checkout. `None` if there is
    /// no credential for them.
    fn get(
        &self,
        kind: CredentialKind,
        host: &str,
        repository: Option<&str>,
    ) -> impl Future<Output = Result<Option<Arc<Credential>>, CredentialError>> + Send;
}

/// There are no credentials.
#[derive(Clone, Copy, Debug)]
pub struct NoCredentials;

impl Credentials for NoCredentials {
    async fn get(
        &self,
        _: CredentialKind,
        _: &str,
        _: Option<&str>,
    ) -> Result<Option<Arc<Credential>>, CredentialError> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_one_line_with_or_without_a_user_name() {
        for (value, expected) in [
            ("bot:hunter22", Some(("bot", "hunter22"))),
            ("bot:hunter:22\n", Some(("bot", "hunter:22"))),
            ("ghp_hunter22\r\n", Some((DEFAULT_USERNAME, "ghp_hunter22"))),
            ("bot:pässwort", Some(("bot", "pässwort"))),
            // The second line would be another field of git's protocol for credentials.
            ("bot:hunter22\nhost=evil.test", None),
            ("bot:hunter\r22", None),
            ("bot:hunter\0", None),
            (":hunter22", None),
            ("hunter22:", None),
            ("", None),
        ] {
            let parsed = Credential::parse("key", value.as_bytes());
            let found = parsed.as_ref().ok().map(|found| (found.username(), found.password()));
            assert_eq!(found, expected, "{value:?}");
            if let Err(error) = parsed {
                assert_eq!(error.failure, Some(PermanentFailure::SecretDenied));
                assert!(!error.to_string().contains("hunter"), "{error}");
            }
        }
        assert!(Credential::parse("key", &[0xff; 10]).is_err());
    }

    #[test]
    fn password_and_authorization_header_are_masked() {
        let credential = Credential::parse("key", b"bot:hunter22").ok().unwrap();
        // The base64 is that of `bot:hunter22`.
        let masked = credential.mask("hunter22, Basic Ym90Omh1bnRlcjIy");
        assert!(!masked.contains("hunter22") && !masked.contains("Ym90Omh1bnRlcjIy"), "{masked}");
    }
}
