//! Patterns of repositories: those of a host, of everything below a path, or one. Forges and credentials for checkouts
//! have them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::repository;

const MAX_PART_BYTES: usize = 100;
const MAX_HOST_BYTES: usize = 253;
/// A host and the names of a path. Groups of repositories can be within each other.
const MAX_PARTS: usize = 20;

/// The host and the path of a repository, as one list of names: `HOST/NAME/…/NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryPath {
    /// In small letters. With the port, if the URL is one of http or https and names another than the scheme's.
    host: String,
    names: Vec<String>,
}

impl RepositoryPath {
    /// Reads the URL of a repository, in any form that a runner can fetch from. `None` if its path is spelled with `.`,
    /// `..`, escapes or doubled slashes, which programs read differently.
    pub fn parse(address: &str) -> Option<Self> {
        if address.contains(['%', '\\', '?', '#']) || address.contains(|c: char| !c.is_ascii_graphic()) {
            return None;
        }
        let url = repository::parse(address)?;
        let host = url.host_str().filter(|host| !host.is_empty())?.to_lowercase();
        let host = match (url.scheme(), url.port()) {
            ("http" | "https", Some(port)) => format!("{host}:{port}"),
            ("http" | "https" | "ssh", _) => host,
            _ => return None,
        };
        if url.password().is_some() || (url.scheme() != "ssh" && !url.username().is_empty()) {
            return None;
        }
        // As it is written: the parser resolves `..`.
        let (_, path) = match address.split_once("://") {
            Some((_, rest)) => rest.split_once('/')?,
            None => address.split_once(":/").or_else(|| address.split_once(':'))?,
        };
        let path = path.strip_suffix('/').unwrap_or(path);
        let path = path.strip_suffix(".git").unwrap_or(path);
        let names: Vec<String> = path.split('/').map(str::to_owned).collect();
        let is_repository =
            is_host(&host) && names.len() < MAX_PARTS && names.iter().all(|name| is_part(name));
        is_repository.then_some(Self { host, names })
    }

    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn names(&self) -> &[String] {
        &self.names
    }
}

impl fmt::Display for RepositoryPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.host, self.names.join("/"))
    }
}

/// Selects repositories by the beginning of their path. Names are compared without case, as forges do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RepositoryPattern {
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPattern {
    #[error(
        "must be `HOST`, `HOST/OWNER` or `HOST/OWNER/NAME`, without `https://`, such as `github.com/acme`"
    )]
    Form,
    #[error("must be `HOST`, `HOST/OWNER` or `HOST/OWNER/NAME`: repositories of a forge have one owner")]
    TooDeep,
}

impl RepositoryPattern {
    pub fn new(text: &str) -> Result<Self, InvalidPattern> {
        let mut parts = text.split('/');
        let is_valid = parts.next().is_some_and(is_host)
            && parts.clone().count() < MAX_PARTS
            && parts.all(is_part)
            && !text.to_ascii_lowercase().ends_with(".git");
        if is_valid { Ok(Self { text: text.to_ascii_lowercase() }) } else { Err(InvalidPattern::Form) }
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn host(&self) -> &str {
        self.text.split('/').next().unwrap_or_default()
    }

    /// Returns how specific it is: 1 for a host, 2 for an owner, 3 for a repository of an owner.
    pub fn parts(&self) -> usize {
        self.text.split('/').count()
    }

    pub fn matches(&self, repository: &RepositoryPath) -> bool {
        let mut named = std::iter::once(&repository.host).chain(&repository.names);
        self.text.split('/').all(|part| named.next().is_some_and(|named| part.eq_ignore_ascii_case(named)))
    }

    /// Returns how specific the most specific of the patterns is that the repository matches. `None` if it matches none.
    pub fn most_specific(patterns: &[Self], repository: &RepositoryPath) -> Option<usize> {
        patterns.iter().filter(|pattern| pattern.matches(repository)).map(Self::parts).max()
    }
}

impl TryFrom<String> for RepositoryPattern {
    type Error = InvalidPattern;

    fn try_from(text: String) -> Result<Self, InvalidPattern> {
        Self::new(&text)
    }
}

impl From<RepositoryPattern> for String {
    fn from(pattern: RepositoryPattern) -> Self {
        pattern.text
    }
}

/// Returns whether a text is a host, with or without a port.
fn is_host(text: &str) -> bool {
    let (host, port) = match text.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (text, None),
    };
    let is_label = |label: &str| {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        !label.is_empty() && label.bytes().all(is_letter) && !label.starts_with('-') && !label.ends_with('-')
    };
    let is_port = |port: &str| {
        let is_number = !port.starts_with('0') && port.bytes().all(|byte| byte.is_ascii_digit());
        is_number && port.parse::<u16>().is_ok()
    };
    host.len() <= MAX_HOST_BYTES && host.split('.').all(is_label) && port.is_none_or(is_port)
}

/// Returns whether a text can be the name of an owner, of a group or of a repository.
fn is_part(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    (1..=MAX_PART_BYTES).contains(&text.len()) && text.bytes().all(is_letter) && text != "." && text != ".."
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(address: &str) -> RepositoryPath {
        RepositoryPath::parse(address).unwrap()
    }

    #[test]
    fn a_path_has_any_depth() {
        for (address, expected) in [
            ("https://git.test/shop.git", "git.test/shop"),
            ("https://git.test:8443/Group/Sub/shop/", "git.test:8443/Group/Sub/shop"),
            ("git@git.test:group/sub/shop.git", "git.test/group/sub/shop"),
            ("https://git.test/~ada/shop", "git.test/~ada/shop"),
        ] {
            assert_eq!(path(address).to_string(), expected, "{address}");
        }
        for address in [
            "https://git.test",
            "https://git.test/",
            "https://git.test/a/../b",
            "https://git.test//a",
            "https://git.test/a%2fb",
            "https://ada:secret@git.test/a",
            "https://git.test/.git",
            "/srv/git/a",
        ] {
            assert_eq!(RepositoryPath::parse(address), None, "{address}");
        }
    }

    #[test]
    fn a_pattern_is_compared_name_by_name() {
        let group = RepositoryPattern::new("git.test/Group/sub").unwrap();
        for (address, expected) in [
            ("https://git.test/group/SUB", true),
            ("https://git.test/group/sub/shop.git", true),
            ("https://git.test/group/sub/deep/shop", true),
            ("https://git.test/group/subway/shop", false),
            ("https://git.test/group", false),
            ("https://git.test:8443/group/sub/shop", false),
            ("https://evil.test/git.test/group/sub", false),
        ] {
            assert_eq!(group.matches(&path(address)), expected, "{address}");
        }
        let patterns = ["git.test", "git.test/group"].map(|text| RepositoryPattern::new(text).unwrap());
        let most = |address| RepositoryPattern::most_specific(&patterns, &path(address));
        assert_eq!(most("https://git.test/group/shop"), Some(2));
        assert_eq!(most("https://git.test/other/shop"), Some(1));
        assert_eq!(most("https://evil.test/group/shop"), None);
    }
}
