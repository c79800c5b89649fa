//! The client address of a request. Behind a proxy that is the rightmost address in `X-Forwarded-For` that is
//! not a trusted proxy's: the client could have forged everything to the left of it.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use axum::http::HeaderMap;

use crate::limits::Limits;

const FORWARDED_FOR: &str = "x-forwarded-for";

/// The other end of the connection; the listener puts it into every request.
#[derive(Clone, Copy, Debug)]
pub struct PeerAddress(pub IpAddr);

/// The address that limits per address apply to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientAddress(pub IpAddr);

impl Limits {
    pub fn client_address(&self, peer: Option<PeerAddress>, headers: &HeaderMap) -> ClientAddress {
        // Every request comes through the listener. One that did not has no address.
        let peer = peer.map_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED), |peer| peer.0.to_canonical());
        let mut client = peer;
        if self.is_trusted(peer) {
            let texts = headers.get_all(FORWARDED_FOR).iter().map(|value| value.to_str().unwrap_or_default());
            let hops: Vec<&str> = texts.flat_map(|text| text.split(',')).collect();
            for hop in hops.into_iter().rev() {
                // Everything to the left of an invalid entry was not written by a trusted proxy.
                let Some(address) = parse(hop) else { break };
                client = address;
                if !self.is_trusted(address) {
                    break;
                }
            }
        }
        ClientAddress(counted_as(client))
    }

    pub fn is_trusted(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.settings.trusted_proxy.iter().any(|network| network.contains(&address))
    }
}

/// Parses an entry; some proxies add the port.
fn parse(hop: &str) -> Option<IpAddr> {
    let hop = hop.trim();
    let plain = hop.trim_start_matches('[').trim_end_matches(']');
    let address = plain.parse().ok().or_else(|| hop.parse::<SocketAddr>().ok().map(|socket| socket.ip()));
    address.map(|address: IpAddr| address.to_canonical())
}

/// Returns the address under which a client is counted. The holder of one IPv6 address usually has its whole
/// /64 network, which counts as one address.
pub fn counted_as(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = u128::from(address) & !u128::from(u64::MAX);
            IpAddr::V6(network.into())
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{DEADLINE, LimitSettings};

    fn client(trusted: &[&str], peer: &str, forwarded: &[&str]) -> String {
        let trusted_proxy = trusted.iter().map(|network| network.parse().unwrap()).collect();
        let limits = Limits::with(DEADLINE, LimitSettings { trusted_proxy, ..LimitSettings::default() });
        let mut headers = HeaderMap::new();
        for line in forwarded {
            headers.append(FORWARDED_FOR, line.parse().unwrap());
        }
        limits.client_address(Some(PeerAddress(peer.parse().unwrap())), &headers).0.to_string()
    }

    #[test]
    fn without_a_trusted_proxy_the_header_is_ignored() {
        assert_eq!(client(&[], "192.0.2.1", &["198.51.100.7"]), "192.0.2.1");
        assert_eq!(client(&["10.0.0.0/8"], "192.0.2.1", &["198.51.100.7"]), "192.0.2.1");
    }

    #[test]
    fn the_rightmost_address_that_is_not_a_trusted_proxys_counts() {
        let trusted = ["10.0.0.0/8", "fd00::/8"];
        for (forwarded, expected) in [
            (&["198.51.100.7"][..], "198.51.100.7"),
            (&["203.0.113.9, 198.51.100.7"], "198.51.100.7"),
            (&["203.0.113.9", "198.51.100.7, 10.1.1.1"], "198.51.100.7"),
            (&["198.51.100.7:4711, 10.1.1.1"], "198.51.100.7"),
            (&["[2001:db8:1:2:3:4:5:6]:4711"], "2001:db8:1:2::"),
            (&["::ffff:198.51.100.7"], "198.51.100.7"),
            (&["10.3.3.3, fd00::1"], "10.3.3.3"),
            (&["198.51.100.7, unknown, 10.1.1.1"], "10.1.1.1"),
            (&["unknown"], "10.0.0.1"),
            (&[""], "10.0.0.1"),
            (&[], "10.0.0.1"),
        ] {
            assert_eq!(client(&trusted, "10.0.0.1", forwarded), expected, "{forwarded:?}");
        }
        assert_eq!(client(&trusted, "::ffff:10.0.0.1", &["198.51.100.7"]), "198.51.100.7");
    }
}
