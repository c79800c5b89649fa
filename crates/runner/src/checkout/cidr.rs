//! A network in CIDR notation.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A network such as `10.0.0.0/8` or `fd00::/8`, or a single address.
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
        let max_bits = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(max_bits);
        if bits > max_bits { Err(problem()) } else { Ok(Cidr { address, bits }) }
    }
}

impl Cidr {
    pub(super) const fn new(address: IpAddr, bits: u8) -> Self {
        Cidr { address, bits }
    }

    pub(super) const fn v4(a: u8, b: u8, c: u8, d: u8, bits: u8) -> Self {
        Cidr { address: IpAddr::V4(Ipv4Addr::new(a, b, c, d)), bits }
    }

    pub(super) const fn v6(first: u16, second: u16, bits: u8) -> Self {
        Cidr { address: IpAddr::V6(Ipv6Addr::new(first, second, 0, 0, 0, 0, 0, 0)), bits }
    }

    pub(super) fn contains(&self, address: IpAddr) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_networks_are_rejected() {
        for text in ["", "localhost", "10.0.0.0/33", "::/129", "10.0.0.0/x", "10.0.0.0/8/8"] {
            assert!(text.parse::<Cidr>().is_err(), "{text}");
        }
    }
}
