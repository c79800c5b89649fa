//! Addresses of services that admins name: https, in one spelling.

use url::{Host, Url};

pub const MAX_ADDRESS_BYTES: usize = 255;

/// An address without user name, password, query and fragment. Whether its host may be connected to is checked when it is
/// used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceAddress {
    url: Url,
    host: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidServiceAddress {
    #[error("must have 1 to {MAX_ADDRESS_BYTES} printable ASCII characters")]
    Text,
    #[error("must be an https address, without a user name, a password, a query or a fragment")]
    Address,
}

impl ServiceAddress {
    /// Plain http is accepted on this machine; the outbound rules decide whether it is allowed.
    pub fn new(text: &str) -> Result<Self, InvalidServiceAddress> {
        if text.is_empty()
            || text.len() > MAX_ADDRESS_BYTES
            || !text.bytes().all(|byte| byte.is_ascii_graphic())
        {
            return Err(InvalidServiceAddress::Text);
        }
        let url = Url::parse(text).map_err(|_| InvalidServiceAddress::Address)?;
        let is_local = match url.host() {
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            Some(Host::Domain(name)) => name == "localhost",
            None => return Err(InvalidServiceAddress::Address),
        };
        // The parser accepts backslashes, missing slashes, dots and other cases: an address has one spelling.
        let is_plain = text.starts_with(&format!("{}://", url.scheme()))
            && !text.contains(['\\', '@', '?', '#', '%'])
            && url.as_str().trim_end_matches('/') == text.trim_end_matches('/');
        let has_scheme = url.scheme() == "https" || url.scheme() == "http" && is_local;
        if !is_plain || !has_scheme || url.port() == Some(0) {
            return Err(InvalidServiceAddress::Address);
        }
        let host = url.host_str().ok_or(InvalidServiceAddress::Address)?.to_owned();
        Ok(Self { url, host })
    }

    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the host, and the port if it is not the scheme's.
    pub fn authority(&self) -> String {
        self.url.port().map_or_else(|| self.host.clone(), |port| format!("{}:{port}", self.host))
    }

    /// Returns the path, without slashes at its end.
    pub fn path(&self) -> &str {
        self.url.path().trim_end_matches('/')
    }

    /// Returns the address, without slashes at its end.
    pub fn text(&self) -> &str {
        self.url.as_str().trim_end_matches('/')
    }
}
