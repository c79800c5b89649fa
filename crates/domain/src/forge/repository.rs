//! Repositories as forges name them, and the patterns that select them.

use std::fmt;

use crate::repository;

const MAX_PART_BYTES: usize = 100;
const MAX_HOST_BYTES: usize = 253;

/// A repository of a forge: `https://HOST/OWNER/NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgeRepository {
    /// In small letters. With the port, if the URL is one of http or https and names another than the scheme's.
    host: String,
    owner: String,
    name: String,
}

impl ForgeRepository {
    /// Reads the URL of a repository, in any form that a runner can fetch from. `None` if it is not one of a forge: its
    /// path must be an owner and a name, spelled without `.`, `..`, escapes and doubled slashes, which programs read
    /// differently.
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
        let (owner, name) = path.split_once('/')?;
        let is_repository = is_host(&host) && is_part(owner) && is_part(name);
        is_repository.then(|| Self { host, owner: owner.to_owned(), name: name.to_owned() })
    }

    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn owner(&self) -> &str {
        &self.owner
    }

    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for ForgeRepository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.host, self.owner, self.name)
    }
}

/// Which repositories a forge serves: those of a host, of an owner, or one. Forges compare names without case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryPattern {
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be `HOST`, `HOST/OWNER` or `HOST/OWNER/NAME`, without `https://`, such as `github.com/acme`")]
pub struct InvalidPattern;

impl RepositoryPattern {
    pub fn new(text: &str) -> Result<Self, InvalidPattern> {
        let mut parts = text.split('/');
        let is_valid = parts.next().is_some_and(is_host)
            && parts.clone().count() <= 2
            && parts.all(is_part)
            && !text.to_ascii_lowercase().ends_with(".git");
        if is_valid { Ok(Self { text: text.to_ascii_lowercase() }) } else { Err(InvalidPattern) }
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns how specific it is: 1 for a host, 2 for an owner, 3 for a repository.
    pub fn parts(&self) -> usize {
        self.text.split('/').count()
    }

    pub fn matches(&self, repository: &ForgeRepository) -> bool {
        let named = [&repository.host, &repository.owner, &repository.name];
        self.text.split('/').zip(named).all(|(part, named)| part.eq_ignore_ascii_case(named))
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

/// Returns whether a text can be the name of an owner or of a repository.
fn is_part(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=MAX_PART_BYTES).contains(&text.len()) && text.bytes().all(is_letter) && text != "." && text != ".."
}
