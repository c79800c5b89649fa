//! Resolves names to addresses, and passes on only those that may be connected to.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use futures_util::future::BoxFuture;

use crate::address::check_address;
use crate::allow_list::AllowedNetworks;
use crate::destination::Scheme;
use crate::error::ForbiddenAddress;

/// Any port is possible: nothing is sent to it.
const DISCARD_PORT: u16 = 9;

/// How names are resolved.
pub trait Lookup: Send + Sync + 'static {
    fn lookup(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// The resolver of the operating system.
#[derive(Clone, Copy, Debug)]
pub struct SystemLookup;

impl Lookup for SystemLookup {
    fn lookup(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let name = name.to_owned();
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address: SocketAddr| address.ip()).collect())
        })
    }
}

/// What a connection may be made to, with one scheme.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub(crate) scheme: Scheme,
    pub(crate) allow: AllowedNetworks,
}

impl Access {
    pub(crate) fn check(&self, address: IpAddr) -> Result<(), ForbiddenAddress> {
        if self.scheme == Scheme::Http {
            let is_allowed = self.allow.allows_plain_http(address);
            return if is_allowed { Ok(()) } else { Err(ForbiddenAddress::PlainHttp(address)) };
        }
        check_address(address, &self.allow)
            .map_err(|reason| ForbiddenAddress::Network { address, reason })?;
        let is_listed = self.allow.contains_embedded(address);
        if !is_listed && is_own(address) { Err(ForbiddenAddress::Own(address)) } else { Ok(()) }
    }

    /// Returns whether an address could not be connected to without the operator's list.
    pub(crate) fn needs_list(&self, address: IpAddr) -> bool {
        Self { scheme: self.scheme, allow: AllowedNetworks::default() }.check(address).is_err()
    }

    /// Keeps the addresses that may be connected to. An error if there were addresses, and none of them is allowed.
    pub(crate) fn filter(&self, found: Vec<IpAddr>) -> Result<Vec<IpAddr>, ForbiddenAddress> {
        let rejected = found.iter().find_map(|address| self.check(*address).err());
        let allowed: Vec<IpAddr> = found.into_iter().filter(|address| self.check(*address).is_ok()).collect();
        match rejected {
            Some(rejected) if allowed.is_empty() => Err(rejected),
            _ => Ok(allowed),
        }
    }
}

/// Returns whether the address belongs to an interface of this machine: traffic to it passes no external firewall.
/// For such a destination the kernel chooses the same address as source. Connecting a UDP socket sends nothing; an
/// address without a route is not this machine's.
fn is_own(address: IpAddr) -> bool {
    let address = address.to_canonical();
    let any: IpAddr =
        if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let source = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect((address, DISCARD_PORT))?;
        socket.local_addr()
    });
    source.is_ok_and(|source| source.ip() == address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_this_machine_are_recognized() {
        for (address, is_of_this_machine) in
            [("127.0.0.1", true), ("::ffff:127.0.0.1", true), ("192.0.2.1", false), ("2001:db8::1", false)]
        {
            assert_eq!(is_own(address.parse().unwrap()), is_of_this_machine, "{address}");
        }
    }
}
