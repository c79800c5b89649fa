//! The address at which browsers reach this server.

use std::net::SocketAddr;
use std::str::FromStr;

/// An origin, `https://greenroom.example.com`, without a path and without a slash at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be an address such as https://greenroom.example.com, in small letters and without a path")]
pub struct InvalidPublicUrl;

impl PublicUrl {
    /// Returns the text that browsers send as `Origin`.
    pub fn origin(&self) -> &str {
        &self.0
    }

    pub fn is_https(&self) -> bool {
        self.0.starts_with("https://")
    }

    /// Returns the address of a page. The path begins with a slash.
    pub fn join(&self, path: &str) -> String {
        format!("{}{path}", self.0)
    }

    /// Returns its host, without the port; an IPv6 address without its brackets.
    pub fn host(&self) -> &str {
        let authority = authority_of(&self.0);
        match authority.strip_prefix('[') {
            Some(address) => address.split_once(']').map_or(address, |(address, _)| address),
            None => authority.split_once(':').map_or(authority, |(host, _)| host),
        }
    }
}

impl FromStr for PublicUrl {
    type Err = InvalidPublicUrl;

    fn from_str(text: &str) -> Result<Self, InvalidPublicUrl> {
        let text = text.strip_suffix('/').unwrap_or(text);
        let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        let is_part = |character: char| {
            character.is_ascii_lowercase()
                || character.is_ascii_digit()
                || matches!(character, '.' | '-' | ':' | '[' | ']')
        };
        // Browsers leave out the port that is the scheme's default.
        let is_default = (text.starts_with("https://") && text.ends_with(":443"))
            || (text.starts_with("http://") && text.ends_with(":80"));
        match host {
            Some(host) if !host.is_empty() && host.chars().all(is_part) && !is_default => {
                Ok(Self(text.to_owned()))
            }
            _ => Err(InvalidPublicUrl),
        }
    }
}

/// The origins of the dashboard's own pages: the address at which browsers reach this server, and the one on which it listens.
/// No other one is its own, whatever `Host` a request has: with a name of their own that leads here (DNS rebinding), the pages of
/// another site would send both alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnOrigins {
    public: String,
    listen: Vec<String>,
    /// Whether the server itself terminates TLS, so that `Host` is what its clients have sent.
    is_encrypted: bool,
}

impl OwnOrigins {
    /// A server that listens on all addresses of its machine, or on one of loopback, has `localhost` as a name.
    pub fn new(public: &PublicUrl, listen: &PublicUrl) -> Self {
        let is_encrypted = listen.is_https();
        let (scheme, default_port) = if is_encrypted { ("https", 443) } else { ("http", 80) };
        let authority = authority_of(&listen.0);
        // The default port is left out.
        let address: Option<SocketAddr> =
            authority.parse().or_else(|_| format!("{authority}:{default_port}").parse()).ok();
        let hosts: &[&str] = match address.map(|address| address.ip()) {
            Some(ip) if ip.is_unspecified() => &["127.0.0.1", "[::1]", "localhost"],
            Some(ip) if ip.is_loopback() => &["localhost"],
            _ => &[],
        };
        let port = address.map(|address| address.port()).filter(|port| *port != default_port);
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        let others = hosts.iter().map(|host| format!("{scheme}://{host}{port}"));
        let listen = others.chain([listen.0.clone()]).collect();
        Self { public: public.0.clone(), listen, is_encrypted }
    }

    /// Returns the origin at which people open the dashboard.
    pub fn public(&self) -> &str {
        &self.public
    }

    pub fn contains(&self, origin: &str) -> bool {
        self.public == origin || self.listen.iter().any(|listen| listen == origin)
    }

    /// Returns whether a browser has connected for another host: one whose name leads here too, or whose certificate is this
    /// server's as well, such as that of a wildcard. Behind a proxy it is the proxy that decides.
    pub fn is_wrong_host(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let host = host.strip_suffix(":443").unwrap_or(&host);
        let mut own = self.listen.iter().chain([&self.public]).map(|origin| authority_of(origin));
        self.is_encrypted && !own.any(|own| own == host)
    }
}

/// Returns host and port of an origin.
fn authority_of(origin: &str) -> &str {
    origin.split_once("://").map_or(origin, |(_, authority)| authority)
}
