//! The JSON of reads is compressed, and nothing else.

use std::io::Read;

use flate2::read::GzDecoder;
use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::requests::header;
use crate::support::database::TestDatabase;
use crate::support::{Caller, TestServer};

async fn get(server: &TestServer, caller: &Caller, path: &str, encodings: &str) -> Response {
    let request = server.request(caller, Method::GET, path).header("accept-encoding", encodings);
    request.send().await.unwrap()
}

fn encoding(response: &Response) -> Option<&str> {
    response.headers().get("content-encoding").map(|value| value.to_str().unwrap())
}

async fn with_pipelines(server: &TestServer) -> Caller {
    let owner = server.organization("acme").await;
    for name in ["Web", "Search", "Checkout", "Mail", "Reports", "Billing"] {
        server.pipeline(&owner, name).await;
    }
    owner
}

#[tokio::test]
async fn a_list_is_compressed_for_clients_that_accept_it() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = with_pipelines(&server).await;
    let plain = get(&server, &owner, "/pipelines", "identity").await;
    assert_eq!((encoding(&plain), header(&plain, "vary")), (None, "accept-encoding".to_owned()));
    let length: usize = header(&plain, "content-length").parse().unwrap();
    let plain = plain.bytes().await.unwrap();
    assert_eq!(plain.len(), length);

    let compressed = get(&server, &owner, "/pipelines", "gzip, deflate, br, zstd").await;
    assert_eq!(encoding(&compressed), Some("gzip"));
    assert_eq!(header(&compressed, "vary"), "accept-encoding");
    assert_eq!(header(&compressed, "content-type"), "application/json");
    let length: usize = header(&compressed, "content-length").parse().unwrap();
    let compressed = compressed.bytes().await.unwrap();
    assert_eq!(compressed.len(), length);
    assert!(length < plain.len() / 2, "{length} of {} bytes", plain.len());
    let mut unpacked = Vec::new();
    GzDecoder::new(compressed.as_ref()).read_to_end(&mut unpacked).unwrap();
    let value = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
    assert_eq!(value(&unpacked), value(&plain));
    server.end().await;
}

#[tokio::test]
async fn what_is_small_or_not_wanted_is_not_compressed() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = with_pipelines(&server).await;
    for (path, encodings) in
        [("/me", "gzip"), ("/pipelines", "br"), ("/pipelines", "gzip;q=0"), ("/pipelines", "")]
    {
        let response = get(&server, &owner, path, encodings).await;
        assert_eq!((response.status().as_u16(), encoding(&response)), (200, None), "{path} {encodings:?}");
        assert_eq!(header(&response, "vary"), "accept-encoding", "{path}");
    }
    let stream = get(&server, &owner, "/events/stream", "gzip").await;
    assert_eq!((stream.status().as_u16(), encoding(&stream)), (200, None));
    drop(stream);
    server.end().await;
}

/// Secrets are only in responses to requests that change something.
#[tokio::test]
async fn a_response_with_a_secret_is_not_compressed() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let pipelines: Vec<String> = {
        let mut ids = Vec::new();
        for number in 0..30 {
            ids.push(server.pipeline(&owner, &format!("Pipeline {number}")).await);
        }
        ids
    };
    let body = json!({ "name": "deploys", "kind": "agent", "pipelines": pipelines });
    let request =
        server.request(&owner, Method::POST, "/api-tokens").header("accept-encoding", "gzip").json(&body);
    let response = request.send().await.unwrap();
    assert_eq!((response.status().as_u16(), encoding(&response)), (201, None));
    let text = response.text().await.unwrap();
    assert!(text.len() > 1024 && text.contains("\"token\""), "{} bytes", text.len());
    server.end().await;
}

#[tokio::test]
async fn the_etag_is_the_same_with_and_without_compression() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    server.pipeline(&owner, "Web").await;
    let tag = header(&get(&server, &owner, "/pipelines/web", "gzip").await, "etag");
    assert_eq!(header(&get(&server, &owner, "/pipelines/web", "identity").await, "etag"), tag);
    let request = server.request(&owner, Method::GET, "/pipelines/web").header("accept-encoding", "gzip");
    let unchanged = request.header("if-none-match", &tag).send().await.unwrap();
    assert_eq!(
        (unchanged.status().as_u16(), header(&unchanged, "vary")),
        (304, "accept-encoding".to_owned())
    );
    server.end().await;
}
