//! Incomplete request bodies: they take no request slot, each token has a limited number of them, and those
//! below the minimum rate end.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use greenroom_server::limits::LimitSettings;
use reqwest::Method;
use serde_json::json;

use crate::rate_limits::start;
use crate::requests::new_pipeline;
use crate::support::database::TestDatabase;
use crate::support::{Caller, TestServer};
use crate::wire::{Upload, Wire};

const TIMEOUT: Duration = Duration::from_secs(15);

/// Sends the head of a request without its body.
async fn head_only(server: &TestServer, caller: &Caller) -> Wire {
    let mut wire = Wire::connect(server).await;
    let head = format!(
        "POST /api/v1/organizations/{}/pipelines/validate HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: 100\r\n\r\n",
        caller.organization, caller.token
    );
    wire.write(head).await.unwrap();
    wire
}

#[tokio::test]
async fn an_incomplete_body_takes_no_request_slot() {
    let (_database, pool) = TestDatabase::create().await;
    let server = start(&pool, LimitSettings { max_in_flight: 2, ..LimitSettings::default() }).await;
    let (owner, other) = (server.organization("acme").await, server.organization("other").await);
    let mut uploads = Vec::new();
    for number in 0..20 {
        let body = new_pipeline(&format!("Slow {number}"));
        uploads.push(Upload::begin(&server, &owner, "/pipelines", &body).await);
    }
    for caller in [&owner, &other] {
        server.get(caller, "/pipelines").await;
    }
    for upload in uploads {
        assert_eq!(upload.finish().await.status, 201);
    }
    server.end().await;
}

/// An attack: many connections, each with the head of a request and no body, repeatedly.
#[tokio::test]
async fn heavy_fourteen_hundred_slow_bodies_do_not_delay_others() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let (owner, hostile) = (server.organization("acme").await, server.organization("globex").await);
    let viewer = server.member(&hostile, "globex", "viewer").await;
    let started = Instant::now();
    let mut attack = join_all((0..1_400).map(|_| head_only(&server, &viewer))).await;
    let mut slowest = Duration::ZERO;
    while started.elapsed() < Duration::from_secs(8) {
        let began = Instant::now();
        server.get(&owner, "/pipelines").await;
        slowest = slowest.max(began.elapsed());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(slowest < Duration::from_secs(2), "{slowest:?}");
    let replies = join_all(attack.iter_mut().map(|wire| async {
        let closed = wire.closed(TIMEOUT).await;
        closed.is_some()
    }));
    assert!(replies.await.into_iter().all(|closed| closed), "a connection was kept");
    server.end().await;
}

#[tokio::test]
async fn slow_bodies_of_a_token_are_limited() {
    let (_database, pool) = TestDatabase::create().await;
    let server = start(&pool, LimitSettings { token_in_flight: 4, ..LimitSettings::default() }).await;
    let owner = server.organization("acme").await;
    let mut uploads = Vec::new();
    for number in 0..4 {
        let body = new_pipeline(&format!("Slow {number}"));
        uploads.push(Upload::begin(&server, &owner, "/pipelines", &body).await);
    }
    let reply = head_only(&server, &owner).await.reply().await;
    assert_eq!((reply.status, reply.json()["limit"].as_str()), (429, Some("token_in_flight")));
    for upload in uploads {
        assert_eq!(upload.finish().await.status, 201);
    }
    server.end().await;
}

#[tokio::test]
async fn heavy_a_body_below_the_minimum_rate_is_ended() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let send = async |pace: usize, seconds: usize| {
        let definition = format!("{}#{}", crate::support::DEFINITION, "x".repeat(pace * seconds));
        let body = json!({ "name": "Slow", "definition": definition }).to_string();
        let mut wire = Wire::connect(&server).await;
        let head = format!(
            "POST /api/v1/organizations/acme/pipelines HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
             Authorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            owner.token,
            body.len()
        );
        wire.write(head).await.unwrap();
        for chunk in body.as_bytes().chunks(pace) {
            if wire.write(chunk).await.is_err() {
                break;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        wire.reply().await.status
    };
    // Both take longer than ten seconds.
    let (trickle, flow) = tokio::join!(send(300, 14), send(4 * 1024, 14));
    // The connection may be reset before the response was read.
    assert!(matches!(trickle, 408 | 0), "{trickle}");
    assert_eq!(flow, 201);
    assert_eq!(server.get(&owner, "/pipelines").await["pagination"]["total"], 1);
    server.end().await;
}

#[tokio::test]
async fn large_bodies_wait_for_memory_and_small_ones_do_not() {
    let (_database, pool) = TestDatabase::create().await;
    let settings = LimitSettings { organization_body_memory_mib: 2, ..LimitSettings::default() };
    let server = start(&pool, settings).await;
    let (owner, other) = (server.organization("acme").await, server.organization("other").await);
    let large = format!("{}#{}", crate::support::DEFINITION, "x".repeat(700 * 1024));
    let validate = |caller: &Caller| {
        let request = server.request(caller, Method::POST, "/pipelines/validate");
        request.json(&json!({ "definition": large })).send()
    };
    // One token may use half of the memory of its organization: this upload takes most of that.
    let body = json!({ "name": "Held", "definition": large });
    let held = Upload::begin(&server, &owner, "/pipelines", &body).await;
    let waits = tokio::time::timeout(Duration::from_millis(700), validate(&owner)).await;
    assert!(waits.is_err(), "a large body did not wait: {waits:?}");
    server.post(&owner, "/pipelines", new_pipeline("Small")).await;
    assert_eq!(validate(&other).await.unwrap().status(), 200);
    assert_eq!(held.finish().await.status, 201);
    assert_eq!(validate(&owner).await.unwrap().status(), 200);
    server.end().await;
}
