//! Destinations that an attacker would name. Each is rejected within its deadline, and where the address is the
//! attack, no connection is made.
#![expect(clippy::unwrap_used, reason = "a test may")]

mod addresses;
mod allowed;
mod https;
mod responses;
mod server;

use std::time::Duration;

use greenroom_outbound::{
    AllowList, Bounds, Lookup, OrganizationNames, OutboundClient, OutboundError, Purpose, Requester,
};
use http::{Request, Response};

/// The tests wait for it where a server sends nothing.
const TIMEOUT: Duration = Duration::from_millis(700);
/// What a rejection may take beyond the timeout, on a busy machine.
const GRACE: Duration = Duration::from_secs(5);

fn allow(networks: &str) -> AllowList {
    AllowList::new(networks.split_whitespace().map(|network| network.parse().unwrap()))
}

fn client(networks: &str) -> OutboundClient {
    OutboundClient::new(allow(networks))
}

fn client_with(networks: &str, lookup: impl Lookup) -> OutboundClient {
    OutboundClient::with_lookup(allow(networks), lookup)
}

fn requester() -> Requester {
    let names = OrganizationNames { id: "org_1".to_owned(), slug: "acme".to_owned() };
    Requester::of_organization(Purpose::Forge, names)
}

/// Sends a GET request, and verifies that it has ended in time.
async fn get(client: &OutboundClient, address: &str) -> Result<Response<Vec<u8>>, OutboundError> {
    let request = Request::get(address).body(Vec::new()).unwrap();
    let bounds = Bounds { timeout: TIMEOUT, ..Bounds::default() };
    tokio::time::timeout(TIMEOUT + GRACE, client.send(&requester(), request, bounds)).await.unwrap()
}
