//! Restricts the addresses that a checkout may connect to. It runs in the runner's network and not in that of
//! a step, so a pipeline must not be able to reach what only this machine can reach: itself, its link, and
//! the cloud's metadata service.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use super::cidr::Cidr;
use super::error::CheckoutError;
use super::ssh::{self, SshHost};

const RESOLVE_TIMEOUT: Duration = Duration::from_secs(15);
/// Any port is possible: nothing is sent to it.
const DISCARD_PORT: u16 = 9;
/// With a proxy, a name that this machine can't resolve may still exist, because the proxy resolves names
/// itself.
const PROXY_VARIABLES: [&str; 5] = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];

/// The protocols that a checkout may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocols {
    /// `http`, `https` and `ssh`.
    Remote,
    /// Additionally repositories on this machine's disk. For tests only: a pipeline could name any path.
    RemoteAndFiles,
}

/// What a checkout may reach.
#[derive(Clone, Debug)]
pub struct Access {
    pub protocols: Protocols,
    /// Networks that are allowed although they belong to this machine, its link, or a metadata service. A
    /// private network, which is allowed anyway, can be listed too: errors of checkouts from it are then as
    /// specific as those of public servers.
    pub allow: Vec<Cidr>,
}

/// This machine, its link, multicast, and the metadata services of clouds. Addresses of this machine's own
/// interfaces are forbidden as well: see [`is_own`].
const FORBIDDEN: [Cidr; 12] = [
    Cidr::v4(0, 0, 0, 0, 8),
    Cidr::v4(127, 0, 0, 0, 8),
    Cidr::v4(169, 254, 0, 0, 16),
    // Metadata services of Alibaba, Oracle and Azure that are not link-local.
    Cidr::v4(100, 100, 100, 200, 32),
    Cidr::v4(192, 0, 0, 192, 32),
    Cidr::v4(168, 63, 129, 16, 32),
    Cidr::v4(224, 0, 0, 0, 3),
    // The unspecified address, the loopback address, and IPv4-compatible addresses, which are deprecated.
    Cidr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), 96),
    Cidr::v6(0xfe80, 0, 10),
    // Metadata services of Amazon and Google.
    Cidr::v6(0xfd00, 0x0ec2, 32),
    Cidr::v6(0xfd20, 0x00ce, 32),
    Cidr::v6(0xff00, 0, 8),
];

/// Private networks. Errors must not reveal to a pipeline which servers exist there.
const PRIVATE: [Cidr; 6] = [
    Cidr::v4(10, 0, 0, 0, 8),
    Cidr::v4(172, 16, 0, 0, 12),
    Cidr::v4(192, 168, 0, 0, 16),
    Cidr::v4(100, 64, 0, 0, 10),
    Cidr::v6(0xfc00, 0, 7),
    Cidr::v6(0xfec0, 0, 10),
];

/// How git connects to a repository: only to the addresses that were checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Route {
    pub(super) protocols: &'static str,
    /// Arguments for `git -c`.
    pub(super) settings: Vec<String>,
    /// Additional arguments of `ssh`.
    pub(super) ssh: String,
    /// The repository is, or may be, in a private network that is not in `--checkout-allow`: all errors have
    /// the same message.
    pub(super) is_private: bool,
}

impl Access {
    pub(super) async fn route(&self, repository: &str) -> Result<Route, CheckoutError> {
        let protocols = match self.protocols {
            Protocols::Remote => "http:https:ssh",
            Protocols::RemoteAndFiles => "http:https:ssh:file",
        };
        let mut route = Route { protocols, ..Route::default() };
        let Some(remote) = RemoteAddress::parse(repository)? else { return Ok(route) };
        let mut name = remote.host.to_owned();
        if remote.is_ssh() {
            // The operator's ssh settings may map the host to another name, or connect through a jump host.
            match ssh::settings_of(remote.host).await {
                Some(SshHost { is_proxied: true, .. }) => return Ok(Route { is_private: true, ..route }),
                Some(settings) => name = settings.name,
                None => tracing::warn!("could not read the settings of ssh: is it installed?"),
            }
        }
        let Some(found) = resolve(&name, remote.port).await else {
            let has_proxy = PROXY_VARIABLES.iter().any(|name| std::env::var_os(name).is_some());
            if has_proxy && !remote.is_ssh() {
                return Ok(Route { is_private: true, ..route });
            }
            return Err(CheckoutError::could_not_fetch());
        };
        let allowed: Vec<IpAddr> = found.into_iter().filter(|address| self.allows(*address)).collect();
        let Some(first) = allowed.first() else {
            return Err(CheckoutError::repository(
                "could not fetch: the repository's address belongs to the runner's own machine or network link; \
                 its operator can allow it by `--checkout-allow`",
            ));
        };
        route.is_private = allowed.iter().any(|address| self.is_private(*address));
        if remote.is_ssh() {
            let known_as = if remote.port == 22 {
                remote.host.to_owned()
            } else {
                format!("[{}]:{}", remote.host, remote.port)
            };
            route.ssh = format!(" -o HostName={first} -o 'HostKeyAlias={known_as}'");
        } else {
            let addresses: Vec<String> = allowed
                .iter()
                .map(|address| if address.is_ipv6() { format!("[{address}]") } else { address.to_string() })
                .collect();
            let pin = format!("http.curloptResolve={}:{}:{}", remote.host, remote.port, addresses.join(","));
            route.settings.push(pin);
        }
        Ok(route)
    }

    fn allows(&self, address: IpAddr) -> bool {
        let address = to_ipv4_if_embedded(address);
        self.is_allowed_by_operator(address)
            || !(FORBIDDEN.iter().any(|network| network.contains(address)) || is_own(address))
    }

    fn is_private(&self, address: IpAddr) -> bool {
        let address = to_ipv4_if_embedded(address);
        !self.is_allowed_by_operator(address) && PRIVATE.iter().any(|network| network.contains(address))
    }

    /// Returns whether `--checkout-allow` contains the address.
    fn is_allowed_by_operator(&self, address: IpAddr) -> bool {
        self.allow.iter().any(|network| network.contains(address))
    }
}

async fn resolve(name: &str, port: u16) -> Option<Vec<IpAddr>> {
    match tokio::time::timeout(RESOLVE_TIMEOUT, tokio::net::lookup_host((name, port))).await {
        Ok(Ok(found)) => Some(found.map(|address: SocketAddr| address.ip()).collect()),
        Ok(Err(error)) => {
            tracing::warn!(%error, host = name, "could not resolve the repository's host");
            None
        }
        Err(_) => {
            tracing::warn!(host = name, "timed out resolving the repository's host");
            None
        }
    }
}

/// Returns whether the address belongs to an interface of this machine: traffic to it stays on this machine
/// and passes no external firewall. For such a destination the kernel chooses the same address as source.
/// Connecting a UDP socket sends nothing; an address without a route is not this machine's.
fn is_own(address: IpAddr) -> bool {
    let any: IpAddr =
        if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let source = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect((address, DISCARD_PORT))?;
        socket.local_addr()
    });
    source.is_ok_and(|source| source.ip() == address)
}

/// Extracts the IPv4 address from an IPv6 one: mapped, translated (::ffff:0:0:0/96, 64:ff9b::/96,
/// 64:ff9b:1::/96), or 6to4.
fn to_ipv4_if_embedded(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    let parts = v6.segments();
    let v4 = |high: u16, low: u16| IpAddr::V4(Ipv4Addr::from_bits((u32::from(high) << 16) | u32::from(low)));
    match parts {
        [0, 0, 0, 0, 0, 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0 | 1, 0, 0, 0, high, low] => v4(high, low),
        [0x2002, high, low, ..] => v4(high, low),
        _ => address,
    }
}

/// The host and port of a repository on a network.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RemoteAddress<'a> {
    /// `http`, `https` or `ssh`.
    pub(super) scheme: &'a str,
    pub(super) host: &'a str,
    pub(super) port: u16,
    pub(super) has_userinfo: bool,
}

impl<'a> RemoteAddress<'a> {
    /// Returns `None` for a path on this machine. Everything that can't be parsed is rejected, because git
    /// may support it: `git+ssh://`, or `http::ADDRESS` for a remote helper.
    pub(super) fn parse(repository: &'a str) -> Result<Option<Self>, CheckoutError> {
        let rejected =
            || CheckoutError::repository(format!("could not fetch: `{repository}` is not an address"));
        let (scheme, rest) = match repository.split_once("://") {
            Some((scheme, rest)) => (scheme, rest),
            None => return Self::parse_scp(repository).map_err(|NotAnAddress| rejected()),
        };
        let default_port = match scheme {
            "http" => 80,
            "https" => 443,
            "ssh" => 22,
            // Allowed or rejected by git itself: GIT_ALLOW_PROTOCOL.
            "file" => return Ok(None),
            _ => return Err(rejected()),
        };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let (host, port) = host_and_port(authority).ok_or_else(rejected)?;
        let port = match port {
            Some(digits) if !digits.is_empty() => digits.parse().map_err(|_| rejected())?,
            _ => default_port,
        };
        Ok(Some(RemoteAddress { scheme, host, port, has_userinfo: authority.contains('@') }))
    }

    fn is_ssh(&self) -> bool {
        self.scheme == "ssh"
    }

    /// Parses `user@host:path`. Returns `None` for a path, which has a slash before the first colon.
    fn parse_scp(repository: &'a str) -> Result<Option<Self>, NotAnAddress> {
        match repository.split_once(':') {
            Some((before, after)) if !before.contains('/') => {
                let host = before.rsplit_once('@').map_or(before, |(_, host)| host);
                if after.starts_with(':') || !is_host(host) {
                    return Err(NotAnAddress);
                }
                let has_userinfo = before.contains('@');
                Ok(Some(RemoteAddress { scheme: "ssh", host, port: 22, has_userinfo }))
            }
            _ => Ok(None),
        }
    }
}

/// The text is neither a path nor an address that git and this program understand in the same way.
struct NotAnAddress;

fn host_and_port(authority: &str) -> Option<(&str, Option<&str>)> {
    let (user, address) = authority.split_once('@').unwrap_or(("", authority));
    // Parsers disagree on which of two `@` ends the user name, and on backslashes.
    if address.contains('@') || user.contains('\\') {
        return None;
    }
    if let Some(bracketed) = address.strip_prefix('[') {
        let (host, rest) = bracketed.split_once(']')?;
        host.parse::<Ipv6Addr>().ok()?;
        let port = if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) };
        return Some((host, port));
    }
    let (host, port) = match address.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (address, None),
    };
    is_host(host).then_some((host, port))
}

/// Accepts only names that every resolver interprets in the same way: no escapes.
fn is_host(host: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    !host.is_empty() && !host.starts_with('-') && host.bytes().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(allow: &[&str]) -> Access {
        let allow = allow.iter().map(|text| text.parse().unwrap()).collect();
        Access { protocols: Protocols::Remote, allow }
    }

    #[test]
    fn this_machine_its_link_and_metadata_services_are_forbidden_by_default() {
        for address in [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "169.254.169.254",
            "100.100.100.200",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "fe80::1",
            "fd00:ec2::254",
            "::ffff:127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "ff02::1",
            "168.63.129.16",
            "fd20:ce::254",
            "::127.0.0.1",
            "::ffff:0:127.0.0.1",
            "64:ff9b:1::7f00:1",
            "::ffff:169.254.169.254",
        ] {
            assert!(!access(&[]).allows(address.parse().unwrap()), "{address}");
            assert!(access(&["0.0.0.0/0", "::/0"]).allows(address.parse().unwrap()), "{address}");
        }
        for address in ["10.0.0.1", "192.168.1.1", "172.16.0.1", "93.184.216.34", "2606:2800::1", "fd12::1"] {
            assert!(access(&[]).allows(address.parse().unwrap()), "{address}");
        }
        assert!(access(&["127.0.0.1"]).allows("127.0.0.1".parse().unwrap()));
        assert!(!access(&["127.0.0.1"]).allows("127.0.0.2".parse().unwrap()));
    }

    #[test]
    fn host_and_port_are_parsed() {
        let remote = |text| {
            RemoteAddress::parse(text).unwrap().map(|remote| (remote.host, remote.port, remote.is_ssh()))
        };
        assert_eq!(remote("http://git.test/x"), Some(("git.test", 80, false)));
        assert_eq!(remote("https://a:b@git.test:8443/x"), Some(("git.test", 8443, false)));
        assert_eq!(remote("http://[::1]:81/x"), Some(("::1", 81, false)));
        assert_eq!(remote("ssh://git@git.test/x"), Some(("git.test", 22, true)));
        assert_eq!(remote("git@git.test:x/y.git"), Some(("git.test", 22, true)));
        assert_eq!(remote("/srv/git/x"), None);
        assert_eq!(remote("file:///srv/git/x"), None);
        for text in
            ["http:///x", "http://127%2e0.0.1/x", "http://a b/x", "http://a:99999/x", "-x:y", "http://[::1/x"]
                .into_iter()
                .chain(["https://user@evil@127.0.0.1/x", "http://git.test\\@127.0.0.1/x", "git://git.test/x"])
                .chain(["git+ssh://localhost/x", "ssh+git://localhost/x", "HTTP://127.0.0.1/x"])
                .chain(["http::http://127.0.0.1/x", "https::127.0.0.1/x", "ext::sh -c id"])
        {
            assert!(RemoteAddress::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn own_addresses_are_forbidden_and_private_ones_are_recognized() {
        let own = std::net::UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
            // Nothing is sent: the kernel only chooses the source address.
            socket.connect("192.0.2.1:9")?;
            socket.local_addr()
        });
        if let Ok(own) = own {
            assert!(!access(&[]).allows(own.ip()), "{own}");
            assert!(access(&["0.0.0.0/0"]).allows(own.ip()), "{own}");
        }
        for (address, is_private) in
            [("10.0.0.1", true), ("172.31.0.1", true), ("fd12::1", true), ("::ffff:192.168.0.1", true)]
                .into_iter()
                .chain([("93.184.216.34", false), ("172.32.0.1", false), ("2606:2800::1", false)])
        {
            assert_eq!(access(&[]).is_private(address.parse().unwrap()), is_private, "{address}");
            assert!(!access(&["0.0.0.0/0", "::/0"]).is_private(address.parse().unwrap()), "{address}");
        }
    }

    #[tokio::test]
    async fn git_connects_to_the_checked_address() {
        let route = access(&["127.0.0.0/8"]).route("http://127.0.0.1:8080/x").await.unwrap();
        assert_eq!(route.settings, ["http.curloptResolve=127.0.0.1:8080:127.0.0.1"]);
        for address in ["http://127.0.0.1/x", "http://localhost:1/x", "http://0x7f.1/x", "git@localhost:x"] {
            let error = access(&[]).route(address).await.unwrap_err();
            assert!(error.failure.is_some(), "{address}: {error}");
        }
    }
}
