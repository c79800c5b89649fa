//! Forged tokens: the checksum is public, so only a lookup in the database shows that one does not exist.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use greenroom_app::limits::LimitSettings;
use greenroom_app::token::new_secret;
use reqwest::Response;

use crate::rate_limits::{limited, start};
use crate::requests::problem;
use crate::support::database::TestDatabase;
use crate::support::{TestServer, eventually};

/// Sends a request with a token that does not exist, forwarded by these proxies.
async fn forged(server: &TestServer, forwarded: Option<&str>) -> Response {
    let url = format!("{}/me", server.base);
    let mut request = server.client.get(url).bearer_auth(new_secret().reveal());
    if let Some(forwarded) = forwarded {
        request = request.header("x-forwarded-for", forwarded);
    }
    request.send().await.unwrap()
}

/// Sends forged tokens until the address is refused. Returns how many were rejected as unknown before that.
pub async fn until_refused(server: &TestServer, forwarded: Option<&str>) -> usize {
    let mut unknown = 0;
    loop {
        assert!(unknown < 2_000, "{unknown} forged tokens were looked up");
        for response in join_all((0..10).map(|_| forged(server, forwarded))).await {
            if response.status() != 401 {
                limited(response, "address_failures", "q=20;w=1").await;
                return unknown;
            }
            unknown += 1;
        }
    }
}

#[tokio::test]
async fn lookups_stop_after_some_forged_tokens() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let member = server.member(&owner, "acme", "viewer").await;
    server.get(&member, "").await;
    let unknown = until_refused(&server, None).await;
    assert!((20..400).contains(&unknown), "{unknown} were looked up first");
    let status = async |response: Response| response.status().as_u16();
    let crowd = join_all((0..400).map(|_| async { status(forged(&server, None).await).await })).await;
    let looked_up = crowd.iter().filter(|status| **status == 401).count();
    assert!(looked_up <= 150, "{looked_up} of 400 were looked up");
    // A client at the same address with a token that this server has validated before is served meanwhile.
    let attack = async { join_all((0..400).map(|_| forged(&server, None))).await };
    let honest = async {
        for _ in 0..20 {
            server.get(&member, "").await;
            server.get(&owner, "").await;
        }
    };
    tokio::join!(attack, honest);
    // A token that this server has just created is in its cache, although it was never used.
    let made = server.post(&owner, "/api-tokens", serde_json::json!({ "name": "new" })).await;
    until_refused(&server, None).await;
    let new = server.client.get(format!("{}/me", server.base)).bearer_auth(made["token"].as_str().unwrap());
    assert_eq!(new.send().await.unwrap().status(), 200);
    // After a while unknown tokens are looked up again.
    assert!(eventually(Duration::from_secs(5), async || forged(&server, None).await.status() == 401).await);
    server.end().await;
}

#[tokio::test]
async fn refusing_forged_tokens_needs_no_database() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    server.get(&owner, "").await;
    let mut holding = pool.begin().await.unwrap();
    until_refused(&server, None).await;
    sqlx::query("lock table api_tokens in access exclusive mode").execute(&mut *holding).await.unwrap();
    let started = Instant::now();
    problem(forged(&server, None).await, 429, "rate_limited").await;
    assert!(started.elapsed() < Duration::from_millis(500), "{:?}", started.elapsed());
    holding.rollback().await.unwrap();
    server.end().await;
}

#[tokio::test]
async fn a_forwarded_header_of_a_client_does_not_change_its_address() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    until_refused(&server, Some("198.51.100.1")).await;
    limited(forged(&server, Some("198.51.100.2")).await, "address_failures", "q=20;w=1").await;
    limited(forged(&server, None).await, "address_failures", "q=20;w=1").await;
    server.end().await;
}

#[tokio::test]
async fn forged_tokens_behind_a_trusted_proxy_count_by_client_address() {
    let (_database, pool) = TestDatabase::create().await;
    let trusted_proxy = vec!["127.0.0.0/8".parse().unwrap(), "10.0.0.0/8".parse().unwrap()];
    let server = start(&pool, LimitSettings { trusted_proxy, ..LimitSettings::default() }).await;
    until_refused(&server, Some("198.51.100.1")).await;
    // Entries that the client wrote are on the left and change nothing, and neither does a second proxy.
    limited(forged(&server, Some("203.0.113.5, 198.51.100.1")).await, "address_failures", "q=20;w=1").await;
    limited(forged(&server, Some("198.51.100.1, 10.0.0.7")).await, "address_failures", "q=20;w=1").await;
    for other in ["198.51.100.2", "198.51.100.1, 203.0.113.5", "2001:db8::1"] {
        problem(forged(&server, Some(other)).await, 401, "unauthenticated").await;
    }
    server.end().await;
}
