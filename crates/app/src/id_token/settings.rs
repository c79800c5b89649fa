//! What an operator configures about id tokens.

use std::time::Duration;

#[derive(Clone, Debug)]
pub struct IdTokenSettings {
    /// The issuer, if it is not this server's public address.
    pub issuer: Option<String>,
    /// How long a token is valid.
    pub lifetime: Duration,
}

impl Default for IdTokenSettings {
    fn default() -> Self {
        Self { issuer: None, lifetime: Duration::from_secs(600) }
    }
}
