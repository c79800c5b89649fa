//! Which addresses a checkout may connect to. It runs in the runner's network and not in that of a step, so a pipeline must not
//! be able to reach what only this machine can: itself, its link, and the cloud's metadata service.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::str::FromStr;
use std::time::Duration;

use super::error::CheckoutError;
use super::ssh::{self, SshHost};

const RESOLVE_TIMEOUT: Duration = Duration::from_secs(15);
/// Any port would do: nothing is sent there.
const DISCARD_PORT: u16 = 9;
/// A proxy resolves names itself; what this machine's resolver does not find may exist all the same.
const PROXY_VARIABLES: [&str; 5] = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];

/// What may be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocols {
    /// `http`, `https` and `ssh`.
    Remote,
    /// Those, and repositories on this machine's disk. For tests: a pipeline could name any path.
    RemoteAndFiles,
}

/// What a checkout may reach.
#[derive(Clone, Debug)]
pub struct Access {
    pub protocols: Protocols,
    /// Networks that are allowed although they are on this machine, its link, or a metadata service. Of private networks, those
    /// in which a forge is: errors tell more about what is there.
    pub allow: Vec<Cidr>,
}

/// A network such as `10.0.0.0/8` or `fd00::/8`; an address alone is a network of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    address: IpAddr,
    bits: u8,
}

impl FromStr for Cidr {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let problem = || format!("`{text}` is not a network such as 127.0.0.0/8");
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse::<u8>().map_err(|_| problem())?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| problem())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(most);
        if bits > most { Err(problem()) } else { Ok(Cidr { address, bits }) }
    }
}

impl Cidr {
    const fn v4(a: u8, b: u8, c: u8, d: u8, bits: u8) -> Self {
        Cidr { address: IpAddr::V4(Ipv4Addr::new(a, b, c, d)), bits }
    }

    const fn v6(first: u16, second: u16, bits: u8) -> Self {
        Cidr { address: IpAddr::V6(Ipv6Addr::new(first, second, 0, 0, 0, 0, 0, 0)), bits }
    }

    fn contains(&self, address: IpAddr) -> bool {
        let (own, other, width) = match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                (u128::from(own.to_bits()), u128::from(other.to_bits()), 32)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => (own.to_bits(), other.to_bits(), 128),
            _ => return false,
        };
        let shift = width - u32::from(self.bits);
        own.checked_shr(shift).unwrap_or(0) == other.checked_shr(shift).unwrap_or(0)
    }
}

/// This machine, its link, multicast, and the metadata services of clouds. Addresses of this machine's own interfaces are
/// forbidden as well: see [`is_own`].
const FORBIDDEN: [Cidr; 12] = [
    Cidr::v4(0, 0, 0, 0, 8),
    Cidr::v4(127, 0, 0, 0, 8),
    Cidr::v4(169, 254, 0, 0, 16),
    // Metadata services of Alibaba, Oracle and Azure that are not link-local.
    Cidr::v4(100, 100, 100, 200, 32),
    Cidr::v4(192, 0, 0, 192, 32),
    Cidr::v4(168, 63, 129, 16, 32),
    Cidr::v4(224, 0, 0, 0, 3),
    // The unspecified address, this machine's own, and IPv4 addresses in a form that nothing uses any more.
    Cidr { address: IpAddr::V6(Ipv6Addr::UNSPECIFIED), bits: 96 },
    Cidr::v6(0xfe80, 0, 10),
    // Metadata services of Amazon and Google.
    Cidr::v6(0xfd00, 0x0ec2, 32),
    Cidr::v6(0xfd20, 0x00ce, 32),
    Cidr::v6(0xff00, 0, 8),
];

/// Networks that only some can reach. A pipeline must not learn from an error what answers there.
const PRIVATE: [Cidr; 6] = [
    Cidr::v4(10, 0, 0, 0, 8),
    Cidr::v4(172, 16, 0, 0, 12),
    Cidr::v4(192, 168, 0, 0, 16),
    Cidr::v4(100, 64, 0, 0, 10),
    Cidr::v6(0xfc00, 0, 7),
    Cidr::v6(0xfec0, 0, 10),
];

/// How git gets to a repository: with the addresses that were checked, and no others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Route {
    pub(super) protocols: &'static str,
    /// For `git -c`.
    pub(super) settings: Vec<String>,
    /// Further arguments of `ssh`.
    pub(super) ssh: String,
    /// The repository is, or may be, in a private network that the operator has not named in `--checkout-allow`: whatever
    /// happens there reads the same.
    pub(super) is_private: bool,
}

impl Access {
    pub(super) async fn route(&self, repository: &str) -> Result<Route, CheckoutError> {
        let protocols = match self.protocols {
            Protocols::Remote => "http:https:ssh",
            Protocols::RemoteAndFiles => "http:https:ssh:file",
        };
        let mut route = Route { protocols, ..Route::default() };
        let Some(place) = Place::of(repository)? else { return Ok(route) };
        let mut name = place.host.to_owned();
        if place.is_ssh {
            // The operator's own settings for ssh may have another name for the host, and a way to it that checks by itself.
            match ssh::settings_of(place.host).await {
                Some(SshHost { is_proxied: true, .. }) => return Ok(Route { is_private: true, ..route }),
                Some(settings) => name = settings.name,
                None => tracing::warn!("the settings of ssh can't be read: is it installed?"),
            }
        }
        let Some(found) = resolve(&name, place.port).await else {
            let has_proxy = PROXY_VARIABLES.iter().any(|name| std::env::var_os(name).is_some());
            if has_proxy && !place.is_ssh {
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
        if place.is_ssh {
            let known_as = if place.port == 22 {
                place.host.to_owned()
            } else {
                format!("[{}]:{}", place.host, place.port)
            };
            route.ssh = format!(" -o HostName={first} -o 'HostKeyAlias={known_as}'");
        } else {
            let addresses: Vec<String> = allowed
                .iter()
                .map(|address| if address.is_ipv6() { format!("[{address}]") } else { address.to_string() })
                .collect();
            let pin = format!("http.curloptResolve={}:{}:{}", place.host, place.port, addresses.join(","));
            route.settings.push(pin);
        }
        Ok(route)
    }

    fn allows(&self, address: IpAddr) -> bool {
        let address = embedded(address);
        self.names(address) || !(FORBIDDEN.iter().any(|network| network.contains(address)) || is_own(address))
    }

    fn is_private(&self, address: IpAddr) -> bool {
        let address = embedded(address);
        !self.names(address) && PRIVATE.iter().any(|network| network.contains(address))
    }

    /// Whether the operator has named the address.
    fn names(&self, address: IpAddr) -> bool {
        self.allow.iter().any(|network| network.contains(address))
    }
}

async fn resolve(name: &str, port: u16) -> Option<Vec<IpAddr>> {
    match tokio::time::timeout(RESOLVE_TIMEOUT, tokio::net::lookup_host((name, port))).await {
        Ok(Ok(found)) => Some(found.map(|address: SocketAddr| address.ip()).collect()),
        Ok(Err(error)) => {
            tracing::warn!(%error, host = name, "the repository's host could not be resolved");
            None
        }
        Err(_) => {
            tracing::warn!(host = name, "the repository's host could not be resolved in time");
            None
        }
    }
}

/// Whether the address is one of this machine's interfaces: what is sent there stays on this machine, and no firewall between
/// it and others sees it. The kernel sends to such an address from that address itself. Nothing is sent to find out; an address
/// to which there is no route is not this machine's.
fn is_own(address: IpAddr) -> bool {
    let any: IpAddr =
        if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let source = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect((address, DISCARD_PORT))?;
        socket.local_addr()
    });
    source.is_ok_and(|source| source.ip() == address)
}

/// An IPv4 address that is written as an IPv6 one: mapped, translated (::ffff:0:0:0/96, 64:ff9b::/96, 64:ff9b:1::/96), or 6to4.
fn embedded(address: IpAddr) -> IpAddr {
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

/// Where a repository is, if it is on a network.
#[derive(Debug, PartialEq, Eq)]
struct Place<'a> {
    host: &'a str,
    port: u16,
    is_ssh: bool,
}

impl<'a> Place<'a> {
    /// `None` for a path on this machine. Everything else that can't be understood is rejected, because git may understand it:
    /// it knows `git+ssh://`, and `http::ADDRESS` for the address of a helper.
    fn of(repository: &'a str) -> Result<Option<Self>, CheckoutError> {
        let rejected =
            || CheckoutError::repository(format!("could not fetch: `{repository}` is not an address"));
        let (scheme, rest) = match repository.split_once("://") {
            Some((scheme, rest)) => (scheme, rest),
            None => return Self::short(repository).ok_or_else(rejected),
        };
        let default_port = match scheme {
            "http" => 80,
            "https" => 443,
            "ssh" => 22,
            // Whether it may be used is decided by GIT_ALLOW_PROTOCOL.
            "file" => return Ok(None),
            _ => return Err(rejected()),
        };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let (host, port) = host_and_port(authority).ok_or_else(rejected)?;
        let port = match port {
            Some(digits) if !digits.is_empty() => digits.parse().map_err(|_| rejected())?,
            _ => default_port,
        };
        Ok(Some(Place { host, port, is_ssh: scheme == "ssh" }))
    }

    /// `user@host:path`, or a path if there is a slash before the first colon. The outer `None`: not an address.
    fn short(repository: &'a str) -> Option<Option<Self>> {
        match repository.split_once(':') {
            Some((before, after)) if !before.contains('/') => {
                if after.starts_with(':') {
                    return None;
                }
                let host = before.rsplit_once('@').map_or(before, |(_, host)| host);
                is_host(host).then_some(Some(Place { host, port: 22, is_ssh: true }))
            }
            _ => Some(None),
        }
    }
}

fn host_and_port(authority: &str) -> Option<(&str, Option<&str>)> {
    let (user, address) = authority.split_once('@').unwrap_or(("", authority));
    // Parsers disagree on which of two `@` ends the user's name, and on backslashes.
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

/// Only what every resolver reads in the same way: no escapes.
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
    fn this_machine_its_link_and_metadata_services_are_forbidden_unless_allowed() {
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
    fn what_is_no_network_is_rejected() {
        for text in ["", "localhost", "10.0.0.0/33", "::/129", "10.0.0.0/x", "10.0.0.0/8/8"] {
            assert!(text.parse::<Cidr>().is_err(), "{text}");
        }
    }

    #[test]
    fn an_address_has_a_host_and_a_port() {
        let place = |text| Place::of(text).unwrap().map(|place| (place.host, place.port, place.is_ssh));
        assert_eq!(place("http://git.test/x"), Some(("git.test", 80, false)));
        assert_eq!(place("https://a:b@git.test:8443/x"), Some(("git.test", 8443, false)));
        assert_eq!(place("http://[::1]:81/x"), Some(("::1", 81, false)));
        assert_eq!(place("ssh://git@git.test/x"), Some(("git.test", 22, true)));
        assert_eq!(place("git@git.test:x/y.git"), Some(("git.test", 22, true)));
        assert_eq!(place("/srv/git/x"), None);
        assert_eq!(place("file:///srv/git/x"), None);
        for text in
            ["http:///x", "http://127%2e0.0.1/x", "http://a b/x", "http://a:99999/x", "-x:y", "http://[::1/x"]
                .into_iter()
                .chain(["https://user@evil@127.0.0.1/x", "http://git.test\\@127.0.0.1/x", "git://git.test/x"])
                .chain(["git+ssh://localhost/x", "ssh+git://localhost/x", "HTTP://127.0.0.1/x"])
                .chain(["http::http://127.0.0.1/x", "https::127.0.0.1/x", "ext::sh -c id"])
        {
            assert!(Place::of(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_machines_own_addresses_are_forbidden_and_private_ones_are_not_told_apart() {
        let own = std::net::UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
            // Nothing is sent: the kernel only chooses the address from which it would be.
            socket.connect("192.0.2.1:9")?;
            socket.local_addr()
        });
        if let Ok(own) = own {
            assert!(!access(&[]).allows(own.ip()), "{own}");
            assert!(access(&["0.0.0.0/0"]).allows(own.ip()), "{own}");
        }
        for (address, private) in
            [("10.0.0.1", true), ("172.31.0.1", true), ("fd12::1", true), ("::ffff:192.168.0.1", true)]
                .into_iter()
                .chain([("93.184.216.34", false), ("172.32.0.1", false), ("2606:2800::1", false)])
        {
            assert_eq!(access(&[]).is_private(address.parse().unwrap()), private, "{address}");
            assert!(!access(&["0.0.0.0/0", "::/0"]).is_private(address.parse().unwrap()), "{address}");
        }
    }

    #[tokio::test]
    async fn the_checked_address_is_the_one_that_is_used() {
        let route = access(&["127.0.0.0/8"]).route("http://127.0.0.1:8080/x").await.unwrap();
        assert_eq!(route.settings, ["http.curloptResolve=127.0.0.1:8080:127.0.0.1"]);
        for address in ["http://127.0.0.1/x", "http://localhost:1/x", "http://0x7f.1/x", "git@localhost:x"] {
            let error = access(&[]).route(address).await.unwrap_err();
            assert!(error.failure.is_some(), "{address}: {error}");
        }
    }
}
