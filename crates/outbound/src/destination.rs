//! The address of a request. Pure.

use std::net::IpAddr;

use http::Uri;
use url::{Host, Url};

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidDestination {
    #[error("it can't be parsed")]
    Syntax,
    #[error("its scheme is not https")]
    Scheme,
    #[error("it contains a user name or a password")]
    Userinfo,
    #[error("it has no host")]
    Host,
    #[error("its port is 0")]
    Port,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    Https,
    /// Only to this machine, if the operator allows that.
    Http,
}

/// An address with a supported form. The addresses of its host have not been checked yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Destination {
    pub(crate) scheme: Scheme,
    /// The host, if it is an address. All spellings of an address (`127.1`, `0x7f000001`, `[::ffff:7f00:1]`) are
    /// addresses here, as the URL standard demands.
    pub(crate) address: Option<IpAddr>,
    pub(crate) port: u16,
}

impl Destination {
    /// Any port is possible but 0: what listens there has to complete a TLS handshake before it receives a byte that
    /// a user has chosen.
    pub(crate) fn parse(uri: &Uri) -> Result<Self, InvalidDestination> {
        let url = Url::parse(&uri.to_string()).map_err(|_| InvalidDestination::Syntax)?;
        let scheme = match url.scheme() {
            "https" => Scheme::Https,
            "http" => Scheme::Http,
            _ => return Err(InvalidDestination::Scheme),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(InvalidDestination::Userinfo);
        }
        let port = url.port_or_known_default().filter(|port| *port != 0).ok_or(InvalidDestination::Port)?;
        let address = match url.host() {
            Some(Host::Ipv4(address)) => Some(IpAddr::V4(address)),
            Some(Host::Ipv6(address)) => Some(IpAddr::V6(address)),
            Some(Host::Domain(name)) if !name.is_empty() => None,
            _ => return Err(InvalidDestination::Host),
        };
        Ok(Self { scheme, address, port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Destination, InvalidDestination> {
        Destination::parse(&text.parse().map_err(|_| InvalidDestination::Syntax)?)
    }

    #[test]
    fn every_spelling_of_an_address_is_an_address() {
        for (host, address) in [
            ("127.0.0.1", "127.0.0.1"),
            ("127.1", "127.0.0.1"),
            ("127.0.1", "127.0.0.1"),
            ("2130706433", "127.0.0.1"),
            ("0x7f000001", "127.0.0.1"),
            ("0x7f.1", "127.0.0.1"),
            ("0177.0.0.1", "127.0.0.1"),
            ("017700000001", "127.0.0.1"),
            ("127.0.0.1.", "127.0.0.1"),
            ("0", "0.0.0.0"),
            ("0xa9fea9fe", "169.254.169.254"),
            ("[::1]", "::1"),
            ("[0:0:0:0:0:0:0:1]", "::1"),
            ("[::ffff:127.0.0.1]", "::ffff:127.0.0.1"),
        ] {
            let parsed = parse(&format!("https://{host}:8443/x?y=z"));
            assert_eq!(
                parsed,
                Ok(Destination { scheme: Scheme::Https, address: address.parse().ok(), port: 8443 }),
                "{host}"
            );
        }
        for host in ["localhost", "a.example", "a.example:8443", "127.0.0.1.example", "xn--bcher-kva.example"]
        {
            let parsed = parse(&format!("https://{host}/"));
            let port = if host.ends_with(":8443") { 8443 } else { 443 };
            assert_eq!(parsed, Ok(Destination { scheme: Scheme::Https, address: None, port }), "{host}");
        }
    }

    #[test]
    fn other_forms_are_rejected() {
        use InvalidDestination::*;
        for (text, reason) in [
            ("ftp://a.example/", Scheme),
            ("gopher://a.example/", Scheme),
            ("ws://a.example/", Scheme),
            ("https://user@a.example/", Userinfo),
            ("https://user:password@a.example/", Userinfo),
            ("https://a.example@127.0.0.1/", Userinfo),
            ("https://a.example:0/", Port),
            ("https://a.example:65536/", Syntax),
            ("https://256.0.0.1/", Syntax),
            ("https://0x1ffffffff/", Syntax),
            ("https://[::1/", Syntax),
            ("https://a b/", Syntax),
            ("https:///x", Syntax),
            ("/x", Syntax),
            ("a.example", Syntax),
            ("", Syntax),
        ] {
            assert_eq!(parse(text), Err(reason), "{text}");
        }
    }
}
