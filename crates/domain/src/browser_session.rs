//! Browser sessions: a person who is signed in with a browser, and the secrets of signing in.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use crate::id::{BrowserSessionId, UserId};
use crate::principal::Principal;
use crate::text_enum::text_enum;
use crate::token::TokenHash;

const SECRET_BYTES: usize = 32;
/// The longest description of a browser that is stored.
const MAX_USER_AGENT: usize = 200;

/// How a person has signed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SignInMethod {
    Password,
    Link,
    Oidc,
}

text_enum!(SignInMethod { Password = "password", Link = "link", Oidc = "oidc" });

/// 256 random bits as 64 hexadecimal digits: the value of the session cookie, or the code of a sign-in link.
/// The database stores its hash. It has neither `Display` nor `Serialize`.
#[derive(Clone, PartialEq, Eq)]
pub struct SignInSecret(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a secret of 64 hexadecimal digits")]
pub struct NotASignInSecret;

impl SignInSecret {
    pub fn new(random: [u8; SECRET_BYTES]) -> Self {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digit = |number: u8| char::from(DIGITS[usize::from(number & 0xf)]);
        Self(random.into_iter().flat_map(|byte| [digit(byte >> 4), digit(byte)]).collect())
    }

    pub fn parse(text: &str) -> Result<Self, NotASignInSecret> {
        let is_hexadecimal = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if text.len() == 2 * SECRET_BYTES && is_hexadecimal {
            Ok(Self(text.to_owned()))
        } else {
            Err(NotASignInSecret)
        }
    }

    pub fn hash(&self) -> TokenHash {
        Sha256::digest(self.0.as_bytes()).into()
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SignInSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SignInSecret(…)")
    }
}

/// A valid browser session, and what its user is in each organization.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrowserPrincipal {
    pub session_id: BrowserSessionId,
    pub user_id: UserId,
    pub email: String,
    /// Sorted by the organization's slug. Empty if the person is not a member of any organization any more.
    pub memberships: Vec<Arc<Principal>>,
}

impl BrowserPrincipal {
    /// Returns the user as a member of the organization in a path, an id or a slug.
    pub fn member_of(&self, organization: &str) -> Option<&Arc<Principal>> {
        self.memberships.iter().find(|member| member.is_of(organization))
    }
}

/// The record of a browser session, without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrowserSession {
    pub id: BrowserSessionId,
    pub method: SignInMethod,
    pub user_agent: String,
    pub created_at: Timestamp,
    pub last_used_at: Timestamp,
    pub expires_at: Timestamp,
}

/// Returns the description of a browser as it is stored: a line of visible ASCII characters.
pub fn stored_user_agent(text: &str) -> String {
    text.chars().filter(|character| matches!(character, ' '..='~')).take(MAX_USER_AGENT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_round_trips_and_hides_itself() {
        let secret = SignInSecret::new(std::array::from_fn(|i| (i * 37 % 256) as u8));
        assert_eq!(secret.reveal().len(), 64);
        assert_eq!(SignInSecret::parse(secret.reveal()), Ok(secret.clone()));
        assert_eq!(format!("{secret:?}"), "SignInSecret(…)");
    }

    #[test]
    fn other_texts_are_not_secrets() {
        for text in ["", "0", &"A".repeat(64), &"0".repeat(63), &"0".repeat(65), &"ä".repeat(32)] {
            assert_eq!(SignInSecret::parse(text), Err(NotASignInSecret), "{text}");
        }
    }

    #[test]
    fn a_user_agent_is_one_short_line() {
        assert_eq!(stored_user_agent("Browser/1\n\u{202e}x"), "Browser/1x");
        assert_eq!(stored_user_agent(&"x".repeat(1_000)).len(), MAX_USER_AGENT);
    }
}
