//! Tokens: a prefix by kind (`grn_` for the API, `grr_` for a runner, `grj_` for a job), 30 random base62
//! characters, and a 6-character CRC32, with which a mistyped or made-up token is rejected without a database
//! query.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use crate::id::{TokenId, UserId};
use crate::owner::Owner;
use crate::pipeline_limit::PipelineLimit;
use crate::scope::{Scope, Scopes};
use crate::text_enum::text_enum;

/// The prefixes of all kinds have the same length.
const PREFIX_LENGTH: usize = "grn_".len();
const RANDOM_LENGTH: usize = 30;
const CHECKSUM_LENGTH: usize = 6;
const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The secret of a token. Only the use case that creates it may show it, once: it has neither `Display` nor
/// `Serialize`.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenSecret(String);

/// What the database stores instead of a secret. The secret is long and random, so a fast hash without salt
/// is enough.
pub type TokenHash = [u8; 32];

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a token")]
pub struct NotAToken;

/// What a secret gives access to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretKind {
    /// The API, with the rights of a user.
    Api,
    /// The jobs of one pool.
    Runner,
    /// One job.
    Job,
}

impl SecretKind {
    const fn prefix(self) -> &'static str {
        match self {
            Self::Api => "grn_",
            Self::Runner => "grr_",
            Self::Job => "grj_",
        }
    }
}

impl TokenSecret {
    /// Creates the secret of an API token from 30 random numbers below 62.
    pub fn new(random: [u8; RANDOM_LENGTH]) -> Self {
        Self::of(SecretKind::Api, random)
    }

    /// Creates a secret of a kind from 30 random numbers below 62.
    pub fn of(kind: SecretKind, random: [u8; RANDOM_LENGTH]) -> Self {
        let mut text = String::from(kind.prefix());
        text.extend(random.into_iter().map(|number| char::from(BASE62[usize::from(number) % BASE62.len()])));
        let checksum = checksum(&text);
        Self(text + &checksum)
    }

    /// Parses the secret of a kind.
    pub fn read(kind: SecretKind, text: &str) -> Result<Self, NotAToken> {
        let shaped = text.len() == PREFIX_LENGTH + RANDOM_LENGTH + CHECKSUM_LENGTH
            && text
                .strip_prefix(kind.prefix())
                .is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_alphanumeric()));
        if !shaped {
            return Err(NotAToken);
        }
        let (body, given) = text.split_at(PREFIX_LENGTH + RANDOM_LENGTH);
        if checksum(body) == given { Ok(Self(text.to_owned())) } else { Err(NotAToken) }
    }

    pub fn hash(&self) -> TokenHash {
        Sha256::digest(self.0.as_bytes()).into()
    }

    /// Returns the first characters, by which a user can distinguish tokens.
    pub fn hint(&self) -> &str {
        &self.0[..PREFIX_LENGTH + 4]
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl FromStr for TokenSecret {
    type Err = NotAToken;

    fn from_str(text: &str) -> Result<Self, NotAToken> {
        Self::read(SecretKind::Api, text)
    }
}

impl fmt::Debug for TokenSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenSecret(…)")
    }
}

fn checksum(text: &str) -> String {
    let mut rest = u64::from(crc32fast::hash(text.as_bytes()));
    let mut digits = [b'0'; CHECKSUM_LENGTH];
    for digit in digits.iter_mut().rev() {
        *digit = BASE62[(rest % 62) as usize];
        rest /= 62;
    }
    digits.into_iter().map(char::from).collect()
}

/// Who uses a token; also shown as the kind of a lock's holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenKind {
    User,
    Ci,
    Agent,
}

text_enum!(TokenKind { User = "user", Ci = "ci", Agent = "agent" });

/// The lifetime of a token in days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetime {
    pub default_days: i64,
    /// `None`: a token can be valid for ever.
    pub max_days: Option<i64>,
}

impl TokenKind {
    /// Returns the scopes of a token that was created without scopes. A person's token has all permissions of
    /// its user.
    pub const fn default_scopes(self) -> Scopes {
        match self {
            Self::User => Scopes::ALL,
            Self::Ci => Scopes::of(&[Scope::Read, Scope::Hold, Scope::Deploy, Scope::Start]),
            Self::Agent => Scopes::of(&[Scope::Read, Scope::Hold, Scope::Deploy]),
        }
    }

    /// Returns the scopes that a token of this kind can have at all. Programs can't administer.
    pub const fn permitted_scopes(self) -> Scopes {
        match self {
            Self::User => Scopes::ALL,
            Self::Ci | Self::Agent => Scopes::ALL.difference(Scopes::of(&[Scope::Admin])),
        }
    }

    /// Returns the default and the maximum lifetime.
    pub const fn lifetime(self) -> Lifetime {
        let max_days = match self {
            Self::User => None,
            Self::Ci | Self::Agent => Some(366),
        };
        Lifetime { default_days: 90, max_days }
    }

    /// By default, people may take over an environment by force, and programs may not.
    pub const fn allows_force_by_default(self) -> bool {
        matches!(self, Self::User)
    }
}

/// The record of a token, without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub id: TokenId,
    pub user_id: UserId,
    pub user_name: String,
    pub name: String,
    pub kind: TokenKind,
    pub allow_force: bool,
    pub scopes: Scopes,
    pub pipelines: PipelineLimit,
    /// How many sessions the token, and those made by it, may hold at a time; `None`: any number.
    pub max_sessions: Option<u16>,
    /// Of a service account's token: the tokens from which it descends, the first one first, and itself. Empty for a
    /// person's.
    pub lineage: Vec<TokenId>,
    pub hint: String,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub last_used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

impl Token {
    /// Returns whether the token is the caller's own: a person's, or of a service account the token itself and those that
    /// descend from it.
    pub fn is_own_of(&self, caller: Owner) -> bool {
        self.user_id == caller.user && caller.token.is_none_or(|token| self.lineage.contains(&token))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret() -> TokenSecret {
        TokenSecret::new(std::array::from_fn(|i| (i * 7 % 62) as u8))
    }

    #[test]
    fn a_new_secret_can_be_parsed() {
        let secret = secret();
        assert_eq!(secret.reveal().len(), 40);
        assert_eq!(secret.reveal().parse(), Ok(secret));
    }

    #[test]
    fn one_wrong_character_is_rejected() {
        let text = secret().reveal().to_owned();
        for at in 0..text.len() {
            let mut wrong: Vec<u8> = text.bytes().collect();
            wrong[at] = if wrong[at] == b'x' { b'y' } else { b'x' };
            let wrong = String::from_utf8(wrong).unwrap();
            assert_eq!(wrong.parse::<TokenSecret>(), Err(NotAToken), "{wrong}");
        }
    }

    #[test]
    fn invalid_texts_are_rejected() {
        for text in ["", "grn_", "grn_not-a-token", &"ä".repeat(20), &format!("{}\n", secret().reveal())] {
            assert_eq!(text.parse::<TokenSecret>(), Err(NotAToken), "{text}");
        }
    }

    #[test]
    fn debug_hides_the_secret() {
        assert_eq!(format!("{:?}", secret()), "TokenSecret(…)");
    }
}
