//! Resolves names to addresses, and passes on only those that may be connected to.

use std::error::Error;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::address::{AllowList, check_address};
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
    pub(crate) allow: Arc<AllowList>,
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

/// The HTTP library connects to the addresses that this returns, and to no others. It calls this once per connection,
/// and not for hosts that are addresses.
pub(crate) struct CheckedResolver {
    pub(crate) access: Access,
    pub(crate) lookup: Arc<dyn Lookup>,
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (access, found) = (self.access.clone(), self.lookup.lookup(name.as_str()));
        Box::pin(async move {
            let found = found.await?;
            let allowed = access
                .filter(found)
                .map_err(|rejected| Box::new(rejected) as Box<dyn Error + Send + Sync>)?;
            // The library replaces the port by that of the address.
            Ok(Box::new(allowed.into_iter().map(|address| SocketAddr::new(address, 0))) as Addrs)
        })
    }
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
