//! The issuer of tokens: an address, under which its keys are published.

use std::fmt;

use url::{Host, Url};

const MAX_BYTES: usize = 255;
const DISCOVERY_PATH: &str = "/.well-known/openid-configuration";

/// An issuer, exactly as it is written in `iss`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Issuer(String);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidIssuer {
    #[error("must have 1 to {MAX_BYTES} printable ASCII characters")]
    Text,
    #[error(
        "must be an https address, exactly as in `iss` of the tokens, such as `https://gitlab.example.com`"
    )]
    Scheme,
    #[error("must not contain a user name, a password, a query or a fragment")]
    Parts,
}

impl Issuer {
    /// Plain http is accepted on this machine; the outbound client decides whether it is allowed.
    pub fn new(text: &str) -> Result<Self, InvalidIssuer> {
        if text.is_empty() || text.len() > MAX_BYTES || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(InvalidIssuer::Text);
        }
        let url = Url::parse(text).map_err(|_| InvalidIssuer::Scheme)?;
        let is_local = match url.host() {
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            Some(Host::Domain(name)) => name == "localhost",
            None => return Err(InvalidIssuer::Scheme),
        };
        // The parser accepts backslashes, missing slashes and other cases, which no issuer writes.
        let is_plain = text.starts_with(&format!("{}://", url.scheme())) && !text.contains('\\');
        if !is_plain || !(url.scheme() == "https" || url.scheme() == "http" && is_local) {
            return Err(InvalidIssuer::Scheme);
        }
        let has_userinfo = !url.username().is_empty() || url.password().is_some() || text.contains('@');
        if has_userinfo || text.contains(['?', '#']) {
            return Err(InvalidIssuer::Parts);
        }
        Ok(Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the address of the document that names the issuer's keys (OpenID Connect Discovery 1.0, section 4).
    pub fn discovery_url(&self) -> String {
        format!("{}{DISCOVERY_PATH}", self.0.trim_end_matches('/'))
    }

    /// Returns the host in small letters, and the path without a slash at its end.
    pub(super) fn host_and_path(&self) -> (String, String) {
        let url = Url::parse(&self.0).ok();
        let host = url.as_ref().and_then(|url| url.host_str()).unwrap_or_default().to_owned();
        let path = url.as_ref().map(|url| url.path().trim_end_matches('/').to_owned()).unwrap_or_default();
        (host, path)
    }
}

impl fmt::Display for Issuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issuer_is_an_https_address() {
        for (text, discovery) in [
            ("https://gitlab.com", "https://gitlab.com/.well-known/openid-configuration"),
            ("https://a.example/", "https://a.example/.well-known/openid-configuration"),
            (
                "https://a.example:8443/api/actions",
                "https://a.example:8443/api/actions/.well-known/openid-configuration",
            ),
            ("http://127.0.0.1:9", "http://127.0.0.1:9/.well-known/openid-configuration"),
            ("http://localhost:9", "http://localhost:9/.well-known/openid-configuration"),
            ("http://[::1]:9", "http://[::1]:9/.well-known/openid-configuration"),
        ] {
            assert_eq!(Issuer::new(text).map(|issuer| issuer.discovery_url()), Ok(discovery.to_owned()));
        }
        let long = format!("https://a.example/{}", "a".repeat(300));
        for (text, reason) in [
            ("", InvalidIssuer::Text),
            ("https://a.example/ä", InvalidIssuer::Text),
            ("https://a.example /", InvalidIssuer::Text),
            (long.as_str(), InvalidIssuer::Text),
            ("a.example", InvalidIssuer::Scheme),
            ("http://a.example", InvalidIssuer::Scheme),
            ("http://localhost.a.example", InvalidIssuer::Scheme),
            ("ftp://a.example", InvalidIssuer::Scheme),
            ("HTTPS://a.example", InvalidIssuer::Scheme),
            ("https:a.example", InvalidIssuer::Scheme),
            ("https:\\\\a.example", InvalidIssuer::Scheme),
            ("https://user@a.example", InvalidIssuer::Parts),
            ("https://a.example?b", InvalidIssuer::Parts),
            ("https://a.example#b", InvalidIssuer::Parts),
        ] {
            assert_eq!(Issuer::new(text), Err(reason), "{text}");
        }
    }
}
