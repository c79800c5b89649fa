//! Step registries: git repositories that publish steps by tags. Definitions refer to a registry by its name, which is
//! unique in the organization; locks refer to it by its id.

mod signer;

use std::fmt;

use url::{Host, Url};

use crate::id::RegistryId;
use crate::step::StepVersion;
use crate::text_enum::text_enum;

pub use self::signer::{AllowedSigner, InvalidSigner};

/// The maximum number of registries in an organization.
pub const MAX_REGISTRIES: i64 = 200;

/// The maximum number of signers of a registry.
pub const MAX_SIGNERS: usize = 50;

/// The longest time for which a version can be held back after it was first seen: 90 days.
pub const MAX_MINIMUM_AGE_SECONDS: i64 = 90 * 24 * 60 * 60;

const MAX_URL_BYTES: usize = 255;

/// Whether a registry is synchronized, and how that went.
///
/// | Status | synchronized | with problems | disabled | enabled |
/// |---|---|---|---|---|
/// | `active` | `active` | `degraded` | `disabled` | `active` |
/// | `degraded` | `active` | `degraded` | `disabled` | `degraded` |
/// | `disabled` | `disabled` | `disabled` | `disabled` | `active` |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RegistryStatus {
    Active,
    /// The last synchronization failed, or refused some content. Versions that are known stay available.
    Degraded,
    /// An admin has disabled it: it is not synchronized, and nothing new is resolved from it.
    Disabled,
}

text_enum!(RegistryStatus { Active = "active", Degraded = "degraded", Disabled = "disabled" });

impl RegistryStatus {
    /// Returns the status after a synchronization.
    #[must_use]
    pub const fn after_sync(self, has_problems: bool) -> Self {
        match (self, has_problems) {
            (Self::Disabled, _) => Self::Disabled,
            (_, true) => Self::Degraded,
            (_, false) => Self::Active,
        }
    }

    /// Returns the status after an admin has disabled or enabled the registry.
    #[must_use]
    pub const fn with_disabled(self, is_disabled: bool) -> Self {
        match (self, is_disabled) {
            (_, true) => Self::Disabled,
            (Self::Disabled, false) => Self::Active,
            (other, false) => other,
        }
    }
}

/// Why a tag of a registry was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefusalKind {
    /// The tag of a known version refers to another object than before.
    TagMoved,
    /// The registry requires signatures, and that of the tag is missing or not valid.
    SignatureRefused,
    /// Its content is not that of a step.
    Invalid,
}

text_enum!(RefusalKind {
    TagMoved = "tag_moved",
    SignatureRefused = "signature_refused",
    Invalid = "invalid",
});

/// The address of a registry's repository. Whether its host may be connected to is checked when it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryUrl(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRegistryUrl {
    #[error("must have 1 to {MAX_URL_BYTES} printable ASCII characters")]
    Text,
    #[error(
        "must be the https address of a git repository, such as `https://git.example.com/acme/steps.git`"
    )]
    Address,
    #[error("must not contain a user name, a password, a query or a fragment")]
    Parts,
}

impl RegistryUrl {
    /// Plain http is accepted on this machine; the outbound rules decide whether it is allowed.
    pub fn new(text: &str) -> Result<Self, InvalidRegistryUrl> {
        if text.is_empty() || text.len() > MAX_URL_BYTES || !text.bytes().all(|byte| byte.is_ascii_graphic())
        {
            return Err(InvalidRegistryUrl::Text);
        }
        let url = Url::parse(text).map_err(|_| InvalidRegistryUrl::Address)?;
        let is_local = match url.host() {
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            Some(Host::Domain(name)) => name == "localhost",
            None => return Err(InvalidRegistryUrl::Address),
        };
        let has_userinfo = !url.username().is_empty() || url.password().is_some() || text.contains('@');
        if has_userinfo || text.contains(['?', '#']) {
            return Err(InvalidRegistryUrl::Parts);
        }
        // The parser accepts backslashes, missing slashes and other cases, which git reads differently.
        let is_plain = text.starts_with(&format!("{}://", url.scheme())) && !text.contains('\\');
        let has_scheme = url.scheme() == "https" || url.scheme() == "http" && is_local;
        let has_path = !url.path().trim_matches('/').is_empty();
        if is_plain && has_scheme && has_path && url.port() != Some(0) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidRegistryUrl::Address)
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RegistryUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns the subject of a registry's events.
pub fn subject(id: RegistryId) -> String {
    format!("step-registries/{id}")
}

/// Returns the subject of the events of a step.
pub fn step_subject(id: RegistryId, step: &str) -> String {
    format!("step-registries/{id}/steps/{step}")
}

/// Returns a key for sorting in the database: compared byte by byte, keys have the order of semantic versions.
///
/// - Each number is preceded by its length in digits, so that 10 comes after 9.
/// - A release ends with `~`, and a pre-release continues with `-`, which is a smaller byte, so that it comes before its release.
/// - In a pre-release, identifiers that are numbers begin with `0` and others with `1`, because numbers come first.
/// - Identifiers are separated by `!`, which is smaller than any byte in them, so that the shorter list comes first.
pub fn version_sort_key(version: &StepVersion) -> String {
    let text = version.to_string();
    let (numbers, parts) = match text.split_once('-') {
        Some((numbers, parts)) => (numbers, Some(parts)),
        None => (text.as_str(), None),
    };
    let number = |digits: &str| format!("{:02}{digits}", digits.len());
    let part = |part: &str| {
        let is_number = part.bytes().all(|byte| byte.is_ascii_digit());
        if is_number { format!("0{}", number(part)) } else { format!("1{part}") }
    };
    let numbers = numbers.split('.').map(number).collect::<Vec<_>>().join(".");
    match parts {
        Some(parts) => format!("{numbers}-{}", parts.split('.').map(part).collect::<Vec<_>>().join("!")),
        None => format!("{numbers}~"),
    }
}

#[cfg(test)]
mod tests;
