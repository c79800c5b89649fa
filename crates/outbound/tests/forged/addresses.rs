//! Destinations whose address is the attack: no connection is made.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::BoxFuture;
use greenroom_outbound::{
    AllowList, ForbiddenAddress, ForbiddenNetwork, Lookup, OutboundClient, OutboundError,
};

use crate::server::{Server, greet};
use crate::{client, client_with, get};

/// Resolves every name to the addresses of the look-up's number; the last ones are repeated.
#[derive(Clone)]
struct TestLookup {
    results: Arc<Vec<Vec<IpAddr>>>,
    count: Arc<AtomicUsize>,
}

impl TestLookup {
    fn new(results: &[&[&str]]) -> Self {
        let parse = |addresses: &&[&str]| addresses.iter().map(|address| address.parse().unwrap()).collect();
        Self { results: Arc::new(results.iter().map(parse).collect()), count: Arc::default() }
    }
}

impl Lookup for TestLookup {
    fn lookup(&self, _: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let number = self.count.fetch_add(1, Ordering::SeqCst);
        let result = self.results[number.min(self.results.len() - 1)].clone();
        Box::pin(async move { Ok(result) })
    }
}

fn is_forbidden(result: &Result<http::Response<Vec<u8>>, OutboundError>) -> bool {
    matches!(result, Err(OutboundError::Address(_)))
}

#[tokio::test]
async fn this_machine_is_not_reached_by_any_spelling() {
    let server = Server::start("127.0.0.1:0", greet).await;
    let client = OutboundClient::new(AllowList::default());
    let hosts = ["localhost", "LOCALHOST", "127.0.0.1", "127.1", "127.0.1", "127.0.0.1."]
        .into_iter()
        .chain(["2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "017700000001", "0", "0.0.0.0"])
        .chain(["[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]"])
        .chain(["[64:ff9b::7f00:1]", "[2002:7f00:1::]", "127.0.0.2"]);
    for host in hosts {
        for scheme in ["https", "http"] {
            let result = get(&client, &format!("{scheme}://{host}:{}/", server.port())).await;
            assert!(is_forbidden(&result), "{scheme}://{host}: {result:?}");
        }
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn private_networks_and_metadata_services_are_not_reached() {
    let client = OutboundClient::new(AllowList::default());
    for host in ["169.254.169.254", "0xa9fea9fe", "2852039166", "[fd00:ec2::254]", "[::ffff:169.254.169.254]"]
        .into_iter()
        .chain(["10.0.0.1", "172.16.0.1", "192.168.0.1", "100.64.0.1", "100.100.100.200", "[fe80::1]"])
        .chain(["224.0.0.1", "255.255.255.255", "192.0.2.1", "[fc00::1]", "[ff02::1]", "[2001:db8::1]"])
    {
        let result = get(&client, &format!("https://{host}/")).await;
        assert!(is_forbidden(&result), "{host}: {result:?}");
    }
}

#[tokio::test]
async fn a_name_that_resolves_to_this_machine_is_rejected() {
    let server = Server::start("127.0.0.1:0", greet).await;
    for addresses in [&["127.0.0.1"][..], &["::ffff:127.0.0.1"], &["10.0.0.1", "127.0.0.1"], &["0.0.0.0"]] {
        let client = OutboundClient::with_lookup(AllowList::default(), TestLookup::new(&[addresses]));
        let result = get(&client, &format!("https://public.example:{}/", server.port())).await;
        assert!(is_forbidden(&result), "{addresses:?}: {result:?}");
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn the_error_names_the_address_and_the_setting() {
    let client = OutboundClient::with_lookup(AllowList::default(), TestLookup::new(&[&["10.1.2.3"]]));
    let error = get(&client, "https://public.example/?token=secret").await.unwrap_err();
    let (address, reason) = ("10.1.2.3".parse().unwrap(), ForbiddenNetwork::Private);
    assert!(
        matches!(error, OutboundError::Address(found) if found == ForbiddenAddress::Network { address, reason }),
        "{error:?}"
    );
    let text = error.to_string();
    assert!(text.contains("10.1.2.3") && text.contains("--outbound-allow"), "{text}");
    assert!(!format!("{error:?} {text}").contains("secret"), "{error:?}");
}

#[tokio::test]
async fn a_name_is_resolved_once_per_request() {
    let server = Server::start("127.0.0.1:0", greet).await;
    let victim = Server::start(&format!("127.0.0.2:{}", server.port()), greet).await;
    let lookup = TestLookup::new(&[&["127.0.0.1"], &["127.0.0.2"]]);
    let client = client_with("127.0.0.1/32", lookup.clone());
    let address = format!("http://rebinding.example:{}/", server.port());
    assert_eq!(get(&client, &address).await.unwrap().body(), b"hello");
    assert_eq!(lookup.count.load(Ordering::SeqCst), 1);
    let second = get(&client, &address).await;
    assert!(is_forbidden(&second), "{second:?}");
    assert_eq!((lookup.count.load(Ordering::SeqCst), victim.connections()), (2, 0));
}

#[tokio::test]
async fn of_several_addresses_only_the_allowed_ones_are_used() {
    let server = Server::start("127.0.0.1:0", greet).await;
    let victim = Server::start(&format!("127.0.0.2:{}", server.port()), greet).await;
    let lookup = TestLookup::new(&[&["127.0.0.2", "127.0.0.1"]]);
    let client = client_with("127.0.0.1/32", lookup);
    let response = get(&client, &format!("http://both.example:{}/", server.port())).await.unwrap();
    assert_eq!((response.body().as_slice(), victim.connections()), (&b"hello"[..], 0));
}

#[tokio::test]
async fn plain_http_leaves_this_machine_under_no_setting() {
    for host in ["93.184.216.34", "10.0.0.1", "0.0.0.0", "[64:ff9b::7f00:1]", "[2606:2800::1]"] {
        let result = get(&client("0.0.0.0/0 ::/0"), &format!("http://{host}/")).await;
        assert!(
            matches!(result, Err(OutboundError::Address(ForbiddenAddress::PlainHttp(_)))),
            "{host}: {result:?}"
        );
    }
}

#[tokio::test]
async fn the_operator_can_allow_this_machine() {
    let server = Server::start("127.0.0.1:0", greet).await;
    let response = get(&client("127.0.0.0/8"), &format!("http://{}/", server.address)).await.unwrap();
    assert_eq!((response.status().as_u16(), response.body().as_slice()), (200, &b"hello"[..]));
    assert_eq!(response.headers()["x-kept"], "yes");
}

#[tokio::test]
async fn other_forms_of_addresses_are_rejected() {
    let server = Server::start("127.0.0.1:0", greet).await;
    let client = client("127.0.0.0/8");
    for address in [
        format!("http://user:password@{}/", server.address),
        format!("http://public.example@{}/", server.address),
        format!("ftp://{}/", server.address),
        format!("ws://{}/", server.address),
        "https://public.example:0/".to_owned(),
        "https://256.256.256.256/".to_owned(),
    ] {
        let result = get(&client, &address).await;
        assert!(matches!(result, Err(OutboundError::Destination(_))), "{address}: {result:?}");
    }
    assert_eq!(server.connections(), 0);
}
