//! Checks a destination for a program that connects by itself, such as git: it gets the addresses that were checked,
//! and must connect to no others.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use http::Uri;

use crate::address::AllowList;
use crate::destination::{Destination, InvalidDestination};
use crate::error::ForbiddenAddress;
use crate::lookup::{Access, Lookup};

#[derive(Debug, thiserror::Error)]
pub enum PinError {
    #[error("the address can't be used: {0}")]
    Destination(#[from] InvalidDestination),
    #[error(transparent)]
    Address(#[from] ForbiddenAddress),
    #[error("the host's name can't be resolved")]
    Lookup(#[source] io::Error),
}

/// Returns the addresses of a URL's host that may be connected to. Never empty. A host that is an address is not looked
/// up, and is the only result. Plain http is possible only if every address of the result is a loopback address that
/// the operator has allowed.
pub async fn pin_addresses(
    url: &str,
    allow: &AllowList,
    lookup: &dyn Lookup,
) -> Result<Vec<IpAddr>, PinError> {
    let uri: Uri = url.parse().map_err(|_| InvalidDestination::Syntax)?;
    let destination = Destination::parse(&uri)?;
    let access = Access { scheme: destination.scheme, allow: Arc::new(allow.clone()) };
    if let Some(address) = destination.address {
        access.check(address)?;
        return Ok(vec![address]);
    }
    let name = uri.host().ok_or(InvalidDestination::Host)?;
    let found = lookup.lookup(name).await.map_err(PinError::Lookup)?;
    let allowed = access.filter(found)?;
    if allowed.is_empty() {
        return Err(PinError::Lookup(io::Error::from(io::ErrorKind::NotFound)));
    }
    Ok(allowed)
}

#[cfg(test)]
mod tests {
    use futures_util::future::BoxFuture;

    use super::*;

    struct TestLookup(&'static [&'static str]);

    impl Lookup for TestLookup {
        fn lookup(&self, _: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
            let found = self.0.iter().map(|address| address.parse().unwrap()).collect();
            Box::pin(async move { Ok(found) })
        }
    }

    async fn pin(url: &str, found: &'static [&'static str], allow: &str) -> Result<Vec<String>, PinError> {
        let allow = AllowList::new(allow.split_whitespace().map(|network| network.parse().unwrap()));
        let pinned = pin_addresses(url, &allow, &TestLookup(found)).await?;
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
    async fn plain_http_is_possible_to_allowed_loopback_addresses_only() {
        let url = "http://git.example/x";
        assert_eq!(pin(url, &["127.0.0.1"], "127.0.0.0/8").await.unwrap(), ["127.0.0.1"]);
        assert_eq!(pin(url, &["127.0.0.1", "10.0.0.1"], "0.0.0.0/0").await.unwrap(), ["127.0.0.1"]);
        for found in [&["93.184.216.34"][..], &["10.0.0.1"], &["::1"]] {
            assert!(matches!(pin(url, found, "0.0.0.0/0").await, Err(PinError::Address(_))), "{found:?}");
        }
    }
}
