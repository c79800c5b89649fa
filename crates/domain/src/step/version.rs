//! Versions of steps: the version itself, the tag that publishes it, and what a definition requires.

use std::fmt;
use std::str::FromStr;

use semver::{BuildMetadata, Version};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::definition::{StepReference, is_name};
use crate::digest::StepDigest;

/// Longer versions are rejected: they are shown in lists and stored in keys.
const MAX_VERSION_BYTES: usize = 64;

/// A semantic version such as `2.3.0` or `2.3.0-rc.1`, without build metadata, which would not take part in the
/// order.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StepVersion(Version);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be a version such as `2.3.0` or `2.3.0-rc.1`, of 64 characters at most")]
pub struct InvalidVersion;

impl StepVersion {
    /// Returns whether it has a pre-release part. Such a version is chosen only if it is named exactly.
    pub fn is_prerelease(&self) -> bool {
        !self.0.pre.is_empty()
    }
}

impl FromStr for StepVersion {
    type Err = InvalidVersion;

    fn from_str(text: &str) -> Result<Self, InvalidVersion> {
        let version = Some(text).filter(|text| text.len() <= MAX_VERSION_BYTES);
        let version = version.and_then(|text| Version::parse(text).ok()).ok_or(InvalidVersion)?;
        if version.build == BuildMetadata::EMPTY { Ok(Self(version)) } else { Err(InvalidVersion) }
    }
}

impl fmt::Display for StepVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for StepVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for StepVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A tag that publishes a step: `roll-out/v2.3.0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepTag {
    pub name: String,
    pub version: StepVersion,
}

impl StepTag {
    /// Parses the name of a tag, without `refs/tags/`. Returns `None` for a tag that publishes no step.
    pub fn parse(tag: &str) -> Option<Self> {
        let (name, version) = tag.split_once("/v")?;
        let version = version.parse().ok()?;
        is_name(name).then(|| Self { name: name.to_owned(), version })
    }
}

impl fmt::Display for StepTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/v{}", self.name, self.version)
    }
}

/// Which versions of a step fit a reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VersionRequirement {
    /// `v2`: all releases with this first number.
    Major(u64),
    /// `v2.3`: all releases with these two numbers.
    Minor(u64, u64),
    /// `v2.3.0`: this version.
    Exact(StepVersion),
    /// `sha256:…`: this content.
    Digest(StepDigest),
}

impl VersionRequirement {
    /// Parses the version of a reference. The `v` may be left out.
    pub fn parse(text: &str) -> Option<Self> {
        if let Ok(digest) = text.parse() {
            return Some(Self::Digest(digest));
        }
        let numbers = text.strip_prefix('v').unwrap_or(text);
        match numbers.split('.').collect::<Vec<_>>().as_slice() {
            [major] => Some(Self::Major(number(major)?)),
            [major, minor] => Some(Self::Minor(number(major)?, number(minor)?)),
            _ => numbers.parse().ok().map(Self::Exact),
        }
    }

    /// Returns whether it names one version or one content.
    pub const fn is_exact(&self) -> bool {
        matches!(self, Self::Exact(_) | Self::Digest(_))
    }

    pub fn matches(&self, version: &StepVersion, digest: &StepDigest) -> bool {
        let Version { major, minor, .. } = version.0;
        match self {
            Self::Major(wanted) => major == *wanted && !version.is_prerelease(),
            Self::Minor(wanted, and) => (major, minor) == (*wanted, *and) && !version.is_prerelease(),
            Self::Exact(wanted) => version == wanted,
            Self::Digest(wanted) => digest == wanted,
        }
    }
}

/// As in a semantic version, a number has no leading zeros.
fn number(text: &str) -> Option<u64> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| is_plain)
}

impl fmt::Display for VersionRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Major(major) => write!(f, "v{major}"),
            Self::Minor(major, minor) => write!(f, "v{major}.{minor}"),
            Self::Exact(version) => write!(f, "v{version}"),
            Self::Digest(digest) => digest.fmt(f),
        }
    }
}

impl StepReference {
    /// Returns which versions the reference allows. It is `None` only for definitions that were stored before this was
    /// checked, such as with `v2-rc.1` or `v02`.
    pub fn requirement(&self) -> Option<VersionRequirement> {
        VersionRequirement::parse(&self.version)
    }
}

#[cfg(test)]
#[path = "version_tests.rs"]
mod tests;
