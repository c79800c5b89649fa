//! Checks a destination for a program that connects by itself, such as git: it gets the addresses that were checked,
//! and must connect to no others.

use std::io;
use std::net::IpAddr;

use http::Uri;

use crate::allow_list::AllowList;
use crate::destination::{Destination, InvalidDestination};
use crate::error::PinError;
use crate::lookup::{Access, Lookup};
use crate::requester::Requester;

/// Returns the addresses of a URL's host that may be connected to. Never empty. A host that is an address is not looked
/// up, and is the only result. Plain http is possible only if every address of the result is a loopback address that
/// the operator has allowed.
pub async fn pin_addresses(
    url: &str,
    allow: &AllowList,
    lookup: &dyn Lookup,
    requester: &Requester,
) -> Result<Vec<IpAddr>, PinError> {
    let uri: Uri = url.parse().map_err(|_| InvalidDestination::Syntax)?;
    let destination = Destination::parse(&uri)?;
    checked_addresses(&uri, &destination, allow, lookup, requester).await
}

/// As [`pin_addresses`], of a destination that is parsed already.
pub(crate) async fn checked_addresses(
    uri: &Uri,
    destination: &Destination,
    allow: &AllowList,
    lookup: &dyn Lookup,
    requester: &Requester,
) -> Result<Vec<IpAddr>, PinError> {
    let access = Access { scheme: destination.scheme, allow: allow.networks(requester, destination.port) };
    let found = match destination.address {
        Some(address) => vec![address],
        None => {
            let name = uri.host().ok_or(InvalidDestination::Host)?;
            lookup.lookup(name).await.map_err(PinError::Lookup)?
        }
    };
    let allowed = access.filter(found)?;
    if allowed.is_empty() {
        return Err(PinError::Lookup(io::Error::from(io::ErrorKind::NotFound)));
    }
    if allowed.iter().any(|address| access.needs_list(*address)) {
        requester.record_use_of_list();
    }
    Ok(allowed)
}

#[cfg(test)]
mod tests {
    use futures_util::future::BoxFuture;

    use super::*;
    use crate::purpose::Purpose;

    struct TestLookup(&'static [&'static str]);

    impl Lookup for TestLookup {
        fn lookup(&self, _: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
            let found = self.0.iter().map(|address| address.parse().unwrap()).collect();
            Box::pin(async move { Ok(found) })
        }
    }

    async fn pin(url: &str, found: &'static [&'static str], allow: &str) -> Result<Vec<String>, PinError> {
        let allow = AllowList::new(allow.split_whitespace().map(|network| network.parse().unwrap()));
        let requester = Requester::operator(Purpose::Registry);
        let pinned = pin_addresses(url, &allow, &TestLookup(found), &requester).await?;
        Ok(pinned.iter().map(ToString::to_string).collect())
    }

    #[tokio::test]
    async fn only_checked_addresses_are_returned() {
        let url = "https://git.example/x";
        assert_eq!(pin(url, &["93.184.216.34", "10.0.0.1"], "").await.unwrap(), ["93.184.216.34"]);
        assert_eq!(pin("https://93.184.216.34/x", &[], "").await.unwrap(), ["93.184.216.34"]);
        for found in [&["127.0.0.1"][..], &["169.254.169.254"], &["10.0.0.1"], &["::ffff:127.0.0.1"]] {
            assert!(matches!(pin(url, found, "").await, Err(PinError::Address(_))), "{found:?}");
        }
        assert!(matches!(pin(url, &[], "").await, Err(PinError::Lookup(_))));
        assert!(matches!(pin("https://0x7f.1/x", &[], "").await, Err(PinError::Address(_))));
        assert!(matches!(pin("file:///x", &[], "").await, Err(PinError::Destination(_))));
    }

    #[tokio::test]
    async fn the_use_of_the_list_is_recorded() {
        for (url, found, is_recorded) in [
            ("https://git.example/x", &["93.184.216.34"][..], false),
            ("https://git.example/x", &["10.0.0.1"], true),
            ("https://git.example/x", &["93.184.216.34", "10.0.0.1"], true),
            ("https://10.0.0.1/x", &[], true),
            ("https://10.0.0.1:8443/x", &[], false),
            ("https://git.example:8443/x", &["10.0.0.1"], false),
            ("https://git.example/x", &["192.168.0.1"], false),
            ("https://93.184.216.34/x", &[], false),
        ] {
            let allow = AllowList::new(["registry=10.0.0.0/8:443".parse().unwrap()]);
            let requester = Requester::operator(Purpose::Registry);
            let _ = pin_addresses(url, &allow, &TestLookup(found), &requester.clone()).await;
            assert_eq!(requester.has_used_list(), is_recorded, "{url} {found:?}");
        }
    }

    #[tokio::test]
    async fn plain_http_is_possible_to_allowed_loopback_addresses_only() {
        let url = "http://git.example/x";
        assert_eq!(pin(url, &["127.0.0.1"], "127.0.0.0/8").await.unwrap(), ["127.0.0.1"]);
        assert_eq!(pin(url, &["127.0.0.1", "10.0.0.1"], "0.0.0.0/0").await.unwrap(), ["127.0.0.1"]);
        for found in [&["93.184.216.34"][..], &["10.0.0.1"], &["::1"]] {
            assert!(matches!(pin(url, found, "0.0.0.0/0").await, Err(PinError::Address(_))), "{found:?}");
        }
    }
}
