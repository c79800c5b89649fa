//! The address of a registry, and the credential for it. Pure.

use std::fmt;
use std::net::IpAddr;

use greenroom_domain::secret::Secret;
use url::{Host, Url};
use zeroize::Zeroizing;

const MAX_URL_BYTES: usize = 2048;
const MAX_CREDENTIAL_BYTES: usize = 4096;
/// The user name with a token of a forge.
const TOKEN_USERNAME: &str = "x-access-token";

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSource {
    #[error("the address of the registry is not a URL such as https://git.example.com/team/steps.git")]
    Syntax,
    #[error("the address of the registry must begin with https://")]
    Scheme,
    #[error(
        "the address of the registry must not contain a user name or a password: set the credential instead"
    )]
    Userinfo,
    #[error("the address of the registry must not contain `?` or `#`")]
    Query,
    #[error("the host in the address of the registry is not a name or an address")]
    Host,
    #[error(
        "a credential is one line: a user name without `:` and a password, or a token, of at most {MAX_CREDENTIAL_BYTES} bytes"
    )]
    Credential,
}

/// A user name and a password. It can't be printed, and its memory is overwritten when it is dropped.
#[derive(Clone)]
pub struct Credential {
    username: Zeroizing<String>,
    password: Zeroizing<String>,
}

impl Credential {
    /// A token of a forge, which is the password of the user `x-access-token`.
    pub fn token(token: Zeroizing<String>) -> Result<Self, InvalidSource> {
        Self::new(TOKEN_USERNAME.to_owned().into(), token)
    }

    pub fn new(username: Zeroizing<String>, password: Zeroizing<String>) -> Result<Self, InvalidSource> {
        let is_line = |text: &str| {
            !text.is_empty() && text.len() <= MAX_CREDENTIAL_BYTES && !text.contains(char::is_control)
        };
        if is_line(&username) && !username.contains(':') && is_line(&password) {
            Ok(Self { username, password })
        } else {
            Err(InvalidSource::Credential)
        }
    }

    /// Returns the form in which it is sealed: user name and password, separated by the first `:`.
    pub fn to_secret(&self) -> Secret {
        let mut bytes = Zeroizing::new(Vec::with_capacity(self.username.len() + 1 + self.password.len()));
        bytes.extend_from_slice(self.username.as_bytes());
        bytes.push(b':');
        bytes.extend_from_slice(self.password.as_bytes());
        Secret::from_opened(bytes)
    }

    /// Reads the form of [`Credential::to_secret`].
    pub fn from_secret(secret: &Secret) -> Result<Self, InvalidSource> {
        let text = std::str::from_utf8(secret.reveal()).map_err(|_| InvalidSource::Credential)?;
        let (username, password) = text.split_once(':').ok_or(InvalidSource::Credential)?;
        Self::new(username.to_owned().into(), password.to_owned().into())
    }

    pub(crate) fn username(&self) -> &str {
        &self.username
    }

    pub(crate) fn password(&self) -> &str {
        &self.password
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credential(…)")
    }
}

/// A registry. Its address has a supported form; the addresses of its host are checked for each call.
#[derive(Clone, Debug)]
pub struct Source {
    url: Url,
    credential: Option<Credential>,
}

impl Source {
    pub fn new(url: &str, credential: Option<Credential>) -> Result<Self, InvalidSource> {
        // The parser would remove some of these silently, and take a backslash for a slash.
        let is_odd = |letter: char| letter.is_control() || letter.is_whitespace() || letter == '\\';
        if url.len() > MAX_URL_BYTES || url.contains(is_odd) {
            return Err(InvalidSource::Syntax);
        }
        let url = Url::parse(url).map_err(|_| InvalidSource::Syntax)?;
        if !matches!(url.scheme(), "https" | "http") {
            return Err(InvalidSource::Scheme);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(InvalidSource::Userinfo);
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(InvalidSource::Query);
        }
        match url.host() {
            Some(Host::Domain(name)) if is_name(name) => {}
            Some(Host::Ipv4(_) | Host::Ipv6(_)) => {}
            _ => return Err(InvalidSource::Host),
        }
        Ok(Self { url, credential })
    }

    /// Returns the address in its normal form, in which git gets it.
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    pub(crate) fn credential(&self) -> Option<&Credential> {
        self.credential.as_ref()
    }

    pub(crate) fn scheme(&self) -> &str {
        self.url.scheme()
    }

    /// Returns scheme, host and port: where the credential may be sent.
    pub(crate) fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    /// Returns the value of `http.curloptResolve` that makes git connect to these addresses. `None` for a host that is
    /// an address, which git does not resolve.
    pub(crate) fn pin(&self, addresses: &[IpAddr]) -> Option<String> {
        let Some(Host::Domain(name)) = self.url.host() else { return None };
        let port = self.url.port_or_known_default()?;
        let addresses: Vec<String> = addresses
            .iter()
            .map(|address| if address.is_ipv6() { format!("[{address}]") } else { address.to_string() })
            .collect();
        Some(format!("{name}:{port}:{}", addresses.join(",")))
    }
}

/// Accepts only names for which git's HTTP library finds the pinned addresses: it would resolve any other name itself.
/// It removes a dot at the end.
fn is_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    !name.is_empty() && !name.starts_with(['-', '.']) && !name.ends_with('.') && name.bytes().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_git_would_take_for_something_else_are_rejected() {
        use InvalidSource::*;
        for (url, reason) in [
            ("ext::sh -c id", Syntax),
            ("ext::sh", Scheme),
            ("file:///srv/x", Scheme),
            ("/srv/x", Syntax),
            ("--upload-pack=id", Syntax),
            ("-x", Syntax),
            ("ssh://git@git.example/x", Scheme),
            ("git@git.example:x", Syntax),
            ("git://git.example/x", Scheme),
            ("http::https://git.example/x", Syntax),
            ("https::git.example/x", Syntax),
            ("https://bot:hunter2@git.example/x", Userinfo),
            ("https://git.example@127.0.0.1/x", Userinfo),
            ("https://git.example/x?token=a", Query),
            ("https://git.example/x#a", Query),
            ("https://git.example./x", Host),
            ("https://git.example\\@127.0.0.1/x", Syntax),
            ("https://git.exa\tmple/x", Syntax),
            (" https://git.example/x", Syntax),
            ("https://*/x", Host),
            ("https:///", Syntax),
            ("", Syntax),
        ] {
            assert!(Source::new(url, None).is_err_and(|error| error == reason), "{url}");
        }
        assert_eq!(Source::new("HTTPS://Git.Example:443/x", None).unwrap().url(), "https://git.example/x");
        assert_eq!(Source::new("https://0x7f.1/x", None).unwrap().url(), "https://127.0.0.1/x");
    }

    #[test]
    fn names_are_pinned() {
        let pin = |url: &str, addresses: &[&str]| {
            let addresses: Vec<IpAddr> = addresses.iter().map(|text| text.parse().unwrap()).collect();
            Source::new(url, None).unwrap().pin(&addresses)
        };
        let expected = "git.example:443:93.184.216.34,[2606:2800::1]";
        assert_eq!(pin("https://git.example/x", &["93.184.216.34", "2606:2800::1"]).unwrap(), expected);
        assert_eq!(pin("http://localhost:81/x", &["127.0.0.1"]).unwrap(), "localhost:81:127.0.0.1");
        assert_eq!(pin("https://[::1]/x", &["::1"]), None);
    }

    #[test]
    fn a_credential_is_one_line_and_is_not_printed() {
        let secret = |text: &str| Zeroizing::new(text.to_owned());
        for text in ["", "a\nhost=evil.example", "a\0b"] {
            assert!(Credential::token(secret(text)).is_err());
        }
        assert!(Credential::token(secret(&"a".repeat(MAX_CREDENTIAL_BYTES + 1))).is_err());
        assert!(Credential::new(secret("a:b"), secret("hunter2")).is_err());
        let credential = Credential::token(secret("hunter2")).unwrap();
        let source = Source::new("https://git.example/x", Some(credential)).unwrap();
        assert!(!format!("{source:?}").contains("hunter2"));
    }

    #[test]
    fn a_credential_is_the_same_after_it_was_sealed() {
        let secret = |text: &str| Zeroizing::new(text.to_owned());
        for (username, password) in [("bot", "a:b::"), ("x-access-token", "pässwort"), ("a", ":")] {
            let credential = Credential::new(secret(username), secret(password)).unwrap();
            let read = Credential::from_secret(&credential.to_secret()).unwrap();
            assert_eq!((read.username(), read.password()), (username, password));
        }
        for damaged in [&b"no separator"[..], b":password", b"user:", b"user:a\nb", b"user:\xff", b""] {
            let damaged = Secret::from_opened(damaged.to_vec().into());
            assert!(Credential::from_secret(&damaged).is_err());
        }
    }
}
