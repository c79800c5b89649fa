//! Destinations that only the operator's list allows: who reaches them, and what admins read about a failure.

use std::time::Duration;

use greenroom_outbound::{Bounds, OrganizationNames, OutboundError, Purpose, Requester};
use http::Request;
use tokio::io::AsyncWriteExt;

use crate::client;
use crate::server::{Server, greet, read_request};

const BOUNDS: Bounds = Bounds { timeout: Duration::from_millis(700), max_response_bytes: 64 };

fn of_organization(purpose: Purpose, slug: &str) -> Requester {
    let names = OrganizationNames { id: format!("org_{slug}"), slug: slug.to_owned() };
    Requester::of_organization(purpose, names)
}

async fn get(networks: &str, requester: &Requester, address: &str) -> Result<(), OutboundError> {
    let request = Request::get(address).body(Vec::new()).unwrap();
    client(networks).send(requester, request, BOUNDS).await.map(|_| ())
}

#[tokio::test]
async fn an_entry_opens_its_purpose_port_and_organization_only() {
    let server = Server::start("127.0.0.1:0", greet).await;
    let (port, address) = (server.port(), format!("http://{}/", server.address));
    let narrow = format!("forge=127.0.0.1/32:{port}@acme");
    get(&narrow, &of_organization(Purpose::Forge, "acme"), &address).await.unwrap();
    let by_id = format!("forge=127.0.0.1/32:{port}@org_acme");
    get(&by_id, &of_organization(Purpose::Forge, "acme"), &address).await.unwrap();
    get("127.0.0.0/8", &of_organization(Purpose::Model, "globex"), &address).await.unwrap();
    get("provider=127.0.0.0/8", &Requester::operator(Purpose::Provider), &address).await.unwrap();
    assert_eq!(server.connections(), 4);

    let other_port = format!("forge=127.0.0.1/32:{}@acme", if port == 1 { 2 } else { 1 });
    for (networks, requester) in [
        (&narrow, of_organization(Purpose::Forge, "globex")),
        (&narrow, of_organization(Purpose::Model, "acme")),
        (&narrow, of_organization(Purpose::Registry, "acme")),
        (&narrow, Requester::operator(Purpose::Provider)),
        (&other_port, of_organization(Purpose::Forge, "acme")),
    ] {
        let result = get(networks, &requester, &address).await;
        assert!(matches!(result, Err(OutboundError::Address(_))), "{networks} {requester:?}: {result:?}");
        assert!(!requester.has_used_list(), "{networks} {requester:?}");
    }
    assert_eq!(server.connections(), 4);
}

#[tokio::test]
async fn every_failure_at_an_allowed_destination_has_one_text() {
    async fn respond(address: &str) -> String {
        let requester = of_organization(Purpose::Forge, "acme");
        // Forges and registries report a failure too if the response is complete but is not what they expect.
        let error = get("forge=127.0.0.0/8@acme", &requester, address).await.err();
        let failure =
            error.map_or_else(|| "the response has another form".to_owned(), |error| error.to_string());
        requester.public_text(&failure)
    }
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut texts = vec![respond(&format!("http://{closed}/")).await];
    for response in [
        &b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"[..],
        b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n",
        b"220 mail.example ESMTP\r\n",
        b"",
    ] {
        let server = Server::start("127.0.0.1:0", move |mut stream| async move {
            read_request(&mut stream).await;
            let _ = stream.write_all(response).await;
        })
        .await;
        texts.push(respond(&format!("http://{}/", server.address)).await);
    }
    let silent = Server::start("127.0.0.1:0", |stream| async move {
        tokio::time::sleep(Duration::from_secs(5)).await;
        drop(stream);
    })
    .await;
    texts.push(respond(&format!("http://{}/", silent.address)).await);
    assert!(texts[0].contains("--outbound-allow"), "{}", texts[0]);
    for text in &texts {
        assert_eq!(*text, texts[0]);
    }
    // A request that is refused before anything is sent names its reason.
    let refused = respond("http://192.168.1.1/").await;
    assert!(refused.contains("192.168.1.1"), "{refused}");
}
