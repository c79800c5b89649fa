//! The client address of a request. Behind a proxy that is the rightmost address in `X-Forwarded-For` that is
//! not a trusted proxy's: the client could have forged everything to the left of it.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use http::HeaderMap;

use crate::limits::Limits;

pub const FORWARDED_FOR: &str = "x-forwarded-for";

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
