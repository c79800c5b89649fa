//! The destinations that the operator allows although they are not on the internet: for which purpose, on which port and
//! for which organization. Pure.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;

use crate::purpose::Purpose;
use crate::requester::{OrganizationNames, Requester};

/// Why an entry can't be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0}; an entry is `purpose=network:port@organization`, such as `forge=10.1.2.3/32:443@acme`, where port and \
     organization can be left out"
)]
pub struct InvalidEntry(&'static str);

const PURPOSE: InvalidEntry = InvalidEntry("the purpose must be provider, issuer, registry, forge or model");
const NETWORK: InvalidEntry = InvalidEntry("the network must be an address or a network such as 10.1.0.0/16");
const PORT: InvalidEntry = InvalidEntry("the port must be a number from 1 to 65535");
const NO_PREFIX_LENGTH: InvalidEntry =
    InvalidEntry("an IPv6 address needs its prefix length, such as fd00::1/128");
const ORGANIZATION: InvalidEntry = InvalidEntry("the organization must be a slug or an id");
const PROVIDER_OF_ORGANIZATION: InvalidEntry =
    InvalidEntry("providers are settings of the operator, so their entries have no organization");

/// A network that the operator allows although it is forbidden.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowEntry {
    /// `None`: every purpose.
    purpose: Option<Purpose>,
    network: IpNet,
    /// `None`: every port.
    port: Option<u16>,
    /// A slug or an id. `None`: every organization, and the operator.
    organization: Option<String>,
}

impl AllowEntry {
    /// Returns whether the entry allows its network for every purpose.
    pub const fn is_for_every_purpose(&self) -> bool {
        self.purpose.is_none()
    }

    fn is_for(&self, purpose: Purpose) -> bool {
        self.purpose.is_none_or(|own| own == purpose)
    }

    fn is_of(&self, organization: Option<&OrganizationNames>) -> bool {
        match (&self.organization, organization) {
            (None, _) => true,
            (Some(own), Some(names)) => *own == names.id || *own == names.slug,
            (Some(_), None) => false,
        }
    }
}

impl FromStr for AllowEntry {
    type Err = InvalidEntry;

    fn from_str(text: &str) -> Result<Self, InvalidEntry> {
        let (purpose, rest) = match text.split_once('=') {
            Some((name, rest)) => {
                let purpose = Purpose::ALL.into_iter().find(|purpose| purpose.as_str() == name);
                (Some(purpose.ok_or(PURPOSE)?), rest)
            }
            None => (None, text),
        };
        let (place, organization) = match rest.split_once('@') {
            Some((place, organization)) => (place, Some(organization)),
            None => (rest, None),
        };
        let (network, port) = split_port(place);
        let has_prefix_length = network.contains('/');
        let network = parse_network(network).ok_or(NETWORK)?;
        let is_narrowed = purpose.is_some() || organization.is_some();
        if network.addr().is_ipv6() && is_narrowed && !has_prefix_length {
            return Err(NO_PREFIX_LENGTH);
        }
        let port =
            port.map(|port| port.parse::<u16>().ok().filter(|port| *port != 0).ok_or(PORT)).transpose()?;
        if !organization.is_none_or(is_slug_or_id) {
            return Err(ORGANIZATION);
        }
        if purpose == Some(Purpose::Provider) && organization.is_some() {
            return Err(PROVIDER_OF_ORGANIZATION);
        }
        Ok(Self { purpose, network, port, organization: organization.map(str::to_owned) })
    }
}

/// Splits `network:port`. The colons of an IPv6 network are before its prefix length. An IPv6 address without one is taken as
/// a whole.
fn split_port(text: &str) -> (&str, Option<&str>) {
    let address_bytes = text.find('/').unwrap_or_default();
    let is_ipv6_address = address_bytes == 0 && text.matches(':').count() > 1;
    match text[address_bytes..].rsplit_once(':') {
        Some((before, port)) if !is_ipv6_address => (&text[..address_bytes + before.len()], Some(port)),
        _ => (text, None),
    }
}

fn parse_network(text: &str) -> Option<IpNet> {
    text.parse().ok().or_else(|| text.parse::<IpAddr>().map(IpNet::from).ok())
}

fn is_slug_or_id(text: &str) -> bool {
    let is_allowed =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_');
    !text.is_empty() && text.bytes().all(is_allowed)
}

impl fmt::Display for AllowEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { purpose, network, port, organization } = self;
        if let Some(purpose) = purpose {
            write!(f, "{}=", purpose.as_str())?;
        }
        write!(f, "{network}")?;
        if let Some(port) = port {
            write!(f, ":{port}")?;
        }
        organization.as_ref().map_or(Ok(()), |organization| write!(f, "@{organization}"))
    }
}

/// What the operator allows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowList(Vec<AllowEntry>);

impl AllowList {
    pub fn new(entries: impl IntoIterator<Item = AllowEntry>) -> Self {
        Self(entries.into_iter().collect())
    }

    /// Returns whether an entry allows something to one organization only, for this purpose.
    pub fn depends_on_organization(&self, purpose: Purpose) -> bool {
        self.0.iter().any(|entry| entry.is_for(purpose) && entry.organization.is_some())
    }

    /// Returns the networks that are allowed for a request to this port.
    pub(crate) fn networks(&self, requester: &Requester, port: u16) -> AllowedNetworks {
        let matching = self.0.iter().filter(|entry| {
            entry.is_for(requester.purpose())
                && entry.is_of(requester.organization())
                && entry.port.is_none_or(|own| own == port)
        });
        AllowedNetworks(matching.map(|entry| entry.network).collect())
    }
}

/// The networks that are allowed for one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AllowedNetworks(Vec<IpNet>);

impl AllowedNetworks {
    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &str) -> Result<AllowEntry, InvalidEntry> {
        text.parse()
    }

    #[test]
    fn entries_are_read_as_they_are_written() {
        for (text, printed) in [
            ("10.1.0.0/16", "10.1.0.0/16"),
            ("10.1.2.3", "10.1.2.3/32"),
            ("::1", "::1/128"),
            ("fd00::/8", "fd00::/8"),
            ("10.1.2.3/32:443", "10.1.2.3/32:443"),
            ("10.1.2.3:443", "10.1.2.3/32:443"),
            ("10.1.2.3:443@acme", "10.1.2.3/32:443@acme"),
            ("forge=10.1.2.3/32:443@acme", "forge=10.1.2.3/32:443@acme"),
            ("forge=10.1.2.3@org_01a1dcc3", "forge=10.1.2.3/32@org_01a1dcc3"),
            ("model=fd00::1/128:8443", "model=fd00::1/128:8443"),
            ("issuer=fd00::/8@a-b", "issuer=fd00::/8@a-b"),
            ("registry=10.0.0.0/8:1", "registry=10.0.0.0/8:1"),
            ("provider=10.0.0.0/8:65535", "provider=10.0.0.0/8:65535"),
        ] {
            assert_eq!(entry(text).map(|entry| entry.to_string()).as_deref(), Ok(printed), "{text}");
        }
    }

    #[test]
    fn wrong_entries_are_refused_with_a_right_one() {
        for (text, reason) in [
            ("", NETWORK),
            ("forge=", NETWORK),
            ("forge", NETWORK),
            ("10.1.0.0/33", NETWORK),
            ("10.1.0.0/", NETWORK),
            ("git.example", NETWORK),
            ("git.example:443", NETWORK),
            ("10.1.2.3/32:443:444", NETWORK),
            ("forges=10.1.2.3/32", PURPOSE),
            ("Forge=10.1.2.3/32", PURPOSE),
            ("=10.1.2.3/32", PURPOSE),
            ("10.1.2.3/32:", PORT),
            ("10.1.2.3/32:0", PORT),
            ("10.1.2.3/32:65536", PORT),
            ("10.1.2.3/32:https", PORT),
            ("forge=::1:443", NO_PREFIX_LENGTH),
            ("fd00::1@acme", NO_PREFIX_LENGTH),
            ("forge=10.1.2.3/32@", ORGANIZATION),
            ("forge=10.1.2.3/32@acme@globex", ORGANIZATION),
            ("forge=10.1.2.3/32@Acme", ORGANIZATION),
            ("provider=10.1.2.3/32@acme", PROVIDER_OF_ORGANIZATION),
        ] {
            assert_eq!(entry(text), Err(reason), "{text}");
            assert!(reason.to_string().contains("forge=10.1.2.3/32:443@acme"), "{reason}");
        }
    }

    #[test]
    fn every_part_of_an_entry_narrows_it() {
        let names = |id: &str, slug: &str| OrganizationNames { id: id.to_owned(), slug: slug.to_owned() };
        let (acme, globex) = (names("org_1", "acme"), names("org_2", "globex"));
        let address = "10.1.2.3".parse().unwrap();
        let purposes = Purpose::ALL;
        for text in [
            "10.1.0.0/16",
            "10.1.0.0/16:443",
            "10.1.0.0/16@acme",
            "forge=10.1.0.0/16",
            "forge=10.1.0.0/16:443",
            "forge=10.1.0.0/16@acme",
            "forge=10.1.0.0/16:443@acme",
            "forge=10.1.0.0/16:443@org_1",
            "model=10.1.0.0/16:443@org_1",
            "forge=10.2.0.0/16",
        ] {
            let list = AllowList::new([entry(text).unwrap()]);
            for purpose in purposes {
                for (organization, name) in [(None, ""), (Some(&acme), "acme"), (Some(&globex), "globex")] {
                    for port in [443, 8443] {
                        let requester = match organization {
                            None => Requester::operator(purpose),
                            Some(names) => Requester::of_organization(purpose, names.clone()),
                        };
                        let is_purpose = !text.contains('=') || text.starts_with(purpose.as_str());
                        let is_port = !text.contains(":443") || port == 443;
                        let is_organization = !text.contains('@') || name == "acme";
                        let expected = is_purpose && is_port && is_organization && text.contains("10.1.0.0");
                        let allowed = list.networks(&requester, port).contains(address);
                        assert_eq!(allowed, expected, "{text}: {purpose:?} {name} {port}");
                    }
                }
                let is_purpose = !text.contains('=') || text.starts_with(purpose.as_str());
                assert_eq!(list.depends_on_organization(purpose), is_purpose && text.contains('@'), "{text}");
            }
            assert_eq!(list.0[0].is_for_every_purpose(), !text.contains('='), "{text}");
        }
    }
}
