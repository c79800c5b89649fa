//! Scheme, host and port of a repository's address: what a credential is bound to.

use greenroom_domain::secret::{Usage, UsageKind};
use url::{Host, Url};

use super::network::RemoteAddress;

/// Where a credential may be sent. Two origins are equal if they are the same server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    is_encrypted: bool,
    /// As in the `use` of a secret: with a port if that is not 443.
    host: String,
}

impl Origin {
    /// Returns the origin of an `http` or `https` address. `None` if a secret can't be for it: with any other
    /// protocol, with a user name, and with http to another machine, where everyone on the way could read the
    /// credential.
    pub(super) fn parse(address: &str) -> Option<Self> {
        let remote = RemoteAddress::parse(address).ok()??;
        let is_encrypted = match remote.scheme {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        if remote.has_userinfo {
            return None;
        }
        let name =
            if remote.host.contains(':') { format!("[{}]", remote.host) } else { remote.host.to_owned() };
        let host = Usage::new(UsageKind::Checkout, &format!("{name}:{}", remote.port)).ok()?.host;
        let origin = Origin { is_encrypted, host };
        (is_encrypted || origin.is_loopback()).then_some(origin)
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    pub(super) const fn is_encrypted(&self) -> bool {
        self.is_encrypted
    }

    pub(super) fn url(&self) -> String {
        let host = &self.host;
        match self.is_encrypted {
            true => format!("https://{host}"),
            false if has_port(host) => format!("http://{host}"),
            // Here 443 is not the default.
            false => format!("http://{host}:443"),
        }
    }

    fn is_loopback(&self) -> bool {
        let url = Url::parse(&format!("https://{}/", self.host));
        match url.as_ref().ok().and_then(Url::host) {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        }
    }
}

fn has_port(host: &str) -> bool {
    host.rsplit(']').next().is_some_and(|rest| rest.contains(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_is_bound_to_scheme_host_and_port() {
        for (address, host, url) in [
            ("https://git.test/team/shop", "git.test", "https://git.test"),
            ("https://Git.Test:443/x", "git.test", "https://git.test"),
            ("https://git.test:8443/x", "git.test:8443", "https://git.test:8443"),
            ("https://[2001:db8::1]/x", "[2001:db8::1]", "https://[2001:db8::1]"),
            ("http://127.0.0.1:3000/x", "127.0.0.1:3000", "http://127.0.0.1:3000"),
            ("http://localhost/x", "localhost:80", "http://localhost:80"),
            ("http://localhost:443/x", "localhost", "http://localhost:443"),
            ("http://[::1]:443/x", "[::1]", "http://[::1]:443"),
        ] {
            let origin = Origin::parse(address).unwrap();
            assert_eq!((origin.host(), origin.url().as_str()), (host, url), "{address}");
        }
        assert_ne!(Origin::parse("https://localhost/x"), Origin::parse("http://localhost:443/x"));
    }

    #[test]
    fn other_addresses_have_no_credential() {
        for address in [
            // Without encryption it would be readable on the way.
            "http://git.test/x",
            "http://10.0.0.1/x",
            "http://localhost.evil.test/x",
            "http://127.0.0.1.evil.test/x",
            "ssh://git@git.test/x",
            "git@git.test:x",
            "file:///srv/x",
            "/srv/x",
            "https://bot:hunter2@git.test/x",
            "https://git.test@evil.test/x",
            "https://2130706433/x",
            "https:///x",
        ] {
            assert_eq!(Origin::parse(address), None, "{address}");
        }
    }
}
