//! The address of a forge's API.

use std::fmt;

use url::{Host, Url};

use super::repository::RepositoryPattern;
use super::{ForgeKind, InvalidPattern};

const MAX_ADDRESS_BYTES: usize = 255;

/// The address of a forge's API, without a slash at its end. Whether its host may be connected to is checked when it is
/// used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgeAddress {
    text: String,
    /// The host, and the port if it is not the scheme's.
    authority: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidForgeAddress {
    #[error("must have 1 to {MAX_ADDRESS_BYTES} printable ASCII characters")]
    Text,
    #[error("must be an https address, without a user name, a password, a query or a fragment")]
    Address,
    #[error(
        "must be the address of the API: `https://api.github.com`, or `https://HOST/api/v3` of GitHub Enterprise"
    )]
    Github,
    #[error("must be the address of the API: `https://HOST/api/v1`")]
    Forgejo,
}

impl ForgeAddress {
    /// Plain http is accepted on this machine; the outbound rules decide whether it is allowed.
    pub fn new(kind: ForgeKind, text: &str) -> Result<Self, InvalidForgeAddress> {
        if text.is_empty()
            || text.len() > MAX_ADDRESS_BYTES
            || !text.bytes().all(|byte| byte.is_ascii_graphic())
        {
            return Err(InvalidForgeAddress::Text);
        }
        let url = Url::parse(text).map_err(|_| InvalidForgeAddress::Address)?;
        let is_local = match url.host() {
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            Some(Host::Domain(name)) => name == "localhost",
            None => return Err(InvalidForgeAddress::Address),
        };
        // The parser accepts backslashes, missing slashes, dots and other cases: an address has one spelling.
        let is_plain = text.starts_with(&format!("{}://", url.scheme()))
            && !text.contains(['\\', '@', '?', '#', '%'])
            && url.as_str().trim_end_matches('/') == text.trim_end_matches('/');
        let has_scheme = url.scheme() == "https" || url.scheme() == "http" && is_local;
        if !is_plain || !has_scheme || url.port() == Some(0) {
            return Err(InvalidForgeAddress::Address);
        }
        let host = url.host_str().ok_or(InvalidForgeAddress::Address)?;
        let path = url.path().trim_end_matches('/');
        match kind {
            ForgeKind::Github if host == "github.com" || !(path.is_empty() || path.ends_with("/api/v3")) => {
                return Err(InvalidForgeAddress::Github);
            }
            ForgeKind::Forgejo if !path.ends_with("/api/v1") => return Err(InvalidForgeAddress::Forgejo),
            _ => {}
        }
        let authority = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        Ok(Self { text: text.trim_end_matches('/').to_owned(), authority })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the pattern of all repositories of the forge: those of its host. The API of github.com and of GitHub
    /// Enterprise Cloud has a host of its own, `api.` before that of the repositories.
    pub fn default_pattern(&self) -> Result<RepositoryPattern, InvalidPattern> {
        let is_api_host = !self.text.ends_with("/api/v3") && !self.text.ends_with("/api/v1");
        let host = if is_api_host { self.authority.strip_prefix("api.") } else { None };
        RepositoryPattern::new(host.unwrap_or(&self.authority))
    }
}

impl fmt::Display for ForgeAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
