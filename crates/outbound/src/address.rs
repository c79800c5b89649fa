//! Decides which addresses may be connected to. Pure.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

use crate::allow_list::AllowedNetworks;

/// Why an address is forbidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForbiddenNetwork {
    /// `0.0.0.0/8` and `::`, which reach this machine.
    Unspecified,
    Loopback,
    Private,
    /// Also the metadata services of most clouds.
    LinkLocal,
    /// Addresses that providers and clouds share between customers (RFC 6598).
    SharedAddressSpace,
    /// The metadata service of a cloud outside of the link-local network.
    Metadata,
    Multicast,
    Documentation,
    /// Everything else that is not assigned to servers on the internet.
    Reserved,
}

impl ForbiddenNetwork {
    const fn name(self) -> &'static str {
        match self {
            Self::Unspecified => "unspecified",
            Self::Loopback => "loopback",
            Self::Private => "private",
            Self::LinkLocal => "link-local",
            Self::SharedAddressSpace => "shared address space",
            Self::Metadata => "metadata service",
            Self::Multicast => "multicast",
            Self::Documentation => "documentation",
            Self::Reserved => "reserved",
        }
    }
}

impl fmt::Display for ForbiddenNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

const fn v4(a: u8, b: u8, c: u8, d: u8, bits: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), bits)
}

const fn v6(first: u16, second: u16, third: u16, bits: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(first, second, third, 0, 0, 0, 0, 0), bits)
}

/// From the registry of special-purpose addresses (RFC 6890). The first network that contains an address decides.
const FORBIDDEN_V4: [(Ipv4Net, ForbiddenNetwork); 18] = [
    (v4(0, 0, 0, 0, 8), ForbiddenNetwork::Unspecified),
    (v4(10, 0, 0, 0, 8), ForbiddenNetwork::Private),
    // Alibaba.
    (v4(100, 100, 100, 200, 32), ForbiddenNetwork::Metadata),
    (v4(100, 64, 0, 0, 10), ForbiddenNetwork::SharedAddressSpace),
    (v4(127, 0, 0, 0, 8), ForbiddenNetwork::Loopback),
    // Azure.
    (v4(168, 63, 129, 16, 32), ForbiddenNetwork::Metadata),
    (v4(169, 254, 0, 0, 16), ForbiddenNetwork::LinkLocal),
    (v4(172, 16, 0, 0, 12), ForbiddenNetwork::Private),
    // Oracle.
    (v4(192, 0, 0, 192, 32), ForbiddenNetwork::Metadata),
    (v4(192, 0, 0, 0, 24), ForbiddenNetwork::Reserved),
    (v4(192, 0, 2, 0, 24), ForbiddenNetwork::Documentation),
    // Relays of 6to4.
    (v4(192, 88, 99, 0, 24), ForbiddenNetwork::Reserved),
    (v4(192, 168, 0, 0, 16), ForbiddenNetwork::Private),
    // Benchmarks of network devices.
    (v4(198, 18, 0, 0, 15), ForbiddenNetwork::Reserved),
    (v4(198, 51, 100, 0, 24), ForbiddenNetwork::Documentation),
    (v4(203, 0, 113, 0, 24), ForbiddenNetwork::Documentation),
    (v4(224, 0, 0, 0, 4), ForbiddenNetwork::Multicast),
    (v4(240, 0, 0, 0, 4), ForbiddenNetwork::Reserved),
];

/// The first network that contains an address decides. What is in none of them is forbidden too if it is not in
/// [`GLOBAL_V6`].
const FORBIDDEN_V6: [(Ipv6Net, ForbiddenNetwork); 10] = [
    // Amazon and Google.
    (v6(0xfd00, 0x0ec2, 0, 32), ForbiddenNetwork::Metadata),
    (v6(0xfd20, 0x00ce, 0, 32), ForbiddenNetwork::Metadata),
    (v6(0xfc00, 0, 0, 7), ForbiddenNetwork::Private),
    (v6(0xfec0, 0, 0, 10), ForbiddenNetwork::Private),
    (v6(0xfe80, 0, 0, 10), ForbiddenNetwork::LinkLocal),
    (v6(0xff00, 0, 0, 8), ForbiddenNetwork::Multicast),
    (v6(0x2001, 0x0db8, 0, 32), ForbiddenNetwork::Documentation),
    (v6(0x3fff, 0, 0, 20), ForbiddenNetwork::Documentation),
    // Protocols, among them Teredo, whose addresses contain a hidden IPv4 address.
    (v6(0x2001, 0, 0, 23), ForbiddenNetwork::Reserved),
    // NAT64 of a site: where it contains the IPv4 address depends on the site.
    (v6(0x0064, 0xff9b, 1, 48), ForbiddenNetwork::Reserved),
];

/// All that is assigned to servers on the internet.
const GLOBAL_V6: Ipv6Net = v6(0x2000, 0, 0, 3);

impl AllowedNetworks {
    /// Returns whether the operator has allowed the address, or the IPv4 address in it.
    pub(crate) fn contains_embedded(&self, address: IpAddr) -> bool {
        self.contains(to_ipv4_if_embedded(address))
    }

    /// Returns whether plain http is possible: to this machine itself, if the operator has allowed its address. The
    /// embedded forms other than the mapped one leave this machine.
    pub(crate) fn allows_plain_http(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_loopback() && self.contains(address)
    }
}

/// Returns why an address may not be connected to, if it may not be.
pub(crate) fn check_address(address: IpAddr, allow: &AllowedNetworks) -> Result<(), ForbiddenNetwork> {
    let address = to_ipv4_if_embedded(address);
    if allow.contains(address) {
        return Ok(());
    }
    forbidden_network(address).map_or(Ok(()), Err)
}

fn forbidden_network(address: IpAddr) -> Option<ForbiddenNetwork> {
    match address {
        IpAddr::V4(address) => {
            FORBIDDEN_V4.iter().find(|(network, _)| network.contains(&address)).map(|(_, reason)| *reason)
        }
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Some(ForbiddenNetwork::Unspecified),
        IpAddr::V6(Ipv6Addr::LOCALHOST) => Some(ForbiddenNetwork::Loopback),
        IpAddr::V6(address) => {
            let found = FORBIDDEN_V6.iter().find(|(network, _)| network.contains(&address));
            let is_global = GLOBAL_V6.contains(&address);
            found.map(|(_, reason)| *reason).or((!is_global).then_some(ForbiddenNetwork::Reserved))
        }
    }
}

/// Extracts the IPv4 address from an IPv6 address that reaches it: mapped (`::ffff:0:0/96`), NAT64
/// (`64:ff9b::/96`) or 6to4 (`2002::/16`). The compatible form (`::/96`) is deprecated, and forbidden as a whole.
fn to_ipv4_if_embedded(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    let v4 = |high: u16, low: u16| IpAddr::V4(Ipv4Addr::from_bits((u32::from(high) << 16) | u32::from(low)));
    match v6.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => v4(high, low),
        [0x2002, high, low, ..] => v4(high, low),
        _ => address,
    }
}

#[cfg(test)]
mod tests {
    use super::ForbiddenNetwork::*;
    use super::*;
    use crate::allow_list::AllowList;
    use crate::purpose::Purpose;
    use crate::requester::Requester;

    fn check(address: &str, allow: &str) -> Result<(), ForbiddenNetwork> {
        check_address(address.parse().unwrap(), &list(allow))
    }

    fn list(networks: &str) -> AllowedNetworks {
        let list = AllowList::new(networks.split_whitespace().map(|network| network.parse().unwrap()));
        list.networks(&Requester::operator(Purpose::Provider), 443)
    }

    #[test]
    fn only_addresses_of_the_internet_are_allowed() {
        let table = [
            ("0.0.0.0", Unspecified),
            ("0.1.2.3", Unspecified),
            ("127.0.0.1", Loopback),
            ("127.255.255.254", Loopback),
            ("10.0.0.1", Private),
            ("172.16.0.1", Private),
            ("172.31.255.255", Private),
            ("192.168.1.1", Private),
            ("169.254.169.254", LinkLocal),
            ("169.254.170.2", LinkLocal),
            ("100.64.0.1", SharedAddressSpace),
            ("100.127.255.255", SharedAddressSpace),
            ("100.100.100.200", Metadata),
            ("168.63.129.16", Metadata),
            ("192.0.0.192", Metadata),
            ("192.0.0.170", Reserved),
            ("192.88.99.1", Reserved),
            ("198.18.0.1", Reserved),
            ("198.19.255.255", Reserved),
            ("240.0.0.1", Reserved),
            ("255.255.255.255", Reserved),
            ("192.0.2.1", Documentation),
            ("198.51.100.1", Documentation),
            ("203.0.113.1", Documentation),
            ("224.0.0.1", Multicast),
            ("239.255.255.255", Multicast),
            ("::", Unspecified),
            ("::1", Loopback),
            ("fc00::1", Private),
            ("fd12:3456::1", Private),
            ("fec0::1", Private),
            ("fe80::1", LinkLocal),
            ("febf::1", LinkLocal),
            ("fd00:ec2::254", Metadata),
            ("fd20:ce::254", Metadata),
            ("ff02::1", Multicast),
            ("2001:db8::1", Documentation),
            ("3fff:fff::1", Documentation),
            ("2001::1", Reserved),
            ("2001:0:4136:e378:8000:63bf:80ff:fffe", Reserved),
            ("2001:2::1", Reserved),
            ("5f00::1", Reserved),
            ("100::1", Reserved),
            ("4000::1", Reserved),
            // An IPv4 address in an IPv6 one: mapped, compatible, translated, NAT64, NAT64 of a site, 6to4.
            ("::ffff:127.0.0.1", Loopback),
            ("::ffff:7f00:1", Loopback),
            ("::ffff:169.254.169.254", LinkLocal),
            ("::ffff:10.0.0.1", Private),
            ("::127.0.0.1", Reserved),
            ("::ffff:0:127.0.0.1", Reserved),
            ("64:ff9b::127.0.0.1", Loopback),
            ("64:ff9b::169.254.169.254", LinkLocal),
            ("64:ff9b::10.0.0.1", Private),
            ("64:ff9b:1::7f00:1", Reserved),
            ("64:ff9b:1:7f00:0:100::", Reserved),
            ("2002:7f00:1::", Loopback),
            ("2002:a00:1::1", Private),
            ("2002:a9fe:a9fe::", LinkLocal),
        ];
        for (address, reason) in table {
            assert_eq!(check(address, ""), Err(reason), "{address}");
            assert_eq!(check(address, "0.0.0.0/0 ::/0"), Ok(()), "{address}");
        }
        for address in
            ["93.184.216.34", "8.8.8.8", "100.63.255.255", "100.128.0.1", "172.32.0.1", "169.253.0.1"]
                .into_iter()
                .chain(["223.255.255.255", "2606:2800::1", "2a00:1450::1", "2001:4860::1", "3ffe::1"])
                .chain(["::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1"])
        {
            assert_eq!(check(address, ""), Ok(()), "{address}");
        }
    }

    #[test]
    fn the_operator_allows_networks() {
        assert_eq!(check("10.1.2.3", "10.1.0.0/16 127.0.0.1/32"), Ok(()));
        assert_eq!(check("127.0.0.1", "10.1.0.0/16 127.0.0.1/32"), Ok(()));
        assert_eq!(check("::ffff:10.1.2.3", "10.1.0.0/16"), Ok(()));
        assert_eq!(check("127.0.0.2", "10.1.0.0/16 127.0.0.1/32"), Err(Loopback));
        assert_eq!(check("10.2.0.1", "10.1.0.0/16"), Err(Private));
        assert_eq!(check("::1", "127.0.0.0/8"), Err(Loopback));
    }

    #[test]
    fn plain_http_stays_on_this_machine() {
        let allow = list("0.0.0.0/0 ::/0");
        for (address, is_allowed) in [("127.0.0.1", true), ("::1", true), ("::ffff:127.0.0.1", true)]
            .into_iter()
            .chain([("10.0.0.1", false), ("8.8.8.8", false), ("64:ff9b::127.0.0.1", false), ("::", false)])
            .chain([("0.0.0.0", false), ("2002:7f00:1::", false), ("::127.0.0.1", false)])
        {
            let address: IpAddr = address.parse().unwrap();
            assert_eq!(allow.allows_plain_http(address), is_allowed, "{address}");
            assert!(!AllowedNetworks::default().allows_plain_http(address), "{address}");
        }
    }
}
