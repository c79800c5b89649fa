//! Incomplete request bodies: they take no request slot, each token and person has a limited number of them, they are
//! not counted with requests that can be served, and those below the minimum rate end.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use greenroom_app::limits::LimitSettings;
use reqwest::Method;
use serde_json::json;

use crate::rate_limits::start;
use crate::requests::new_pipeline;
use crate::slow_clients::{self, BODY_WINDOW};
use crate::support::database::TestDatabase;
use crate::support::{Caller, TestServer};
use crate::wire::{Upload, Wire};

const TIMEOUT: Duration = Duration::from_secs(15);
/// How long the requests of others are measured, and how many there have to be at least.
const MEASURED_TIME: Duration = Duration::from_secs(3);
const MIN_SAMPLES: usize = 20;
/// Bodies are sent in a piece per interval, for one and a half windows.
const INTERVALS_PER_WINDOW: u32 = 10;
const INTERVALS: usize = 15;

/// Sends the head of a request without its body.
pub async fn head_only(server: &TestServer, caller: &Caller) -> Wire {
    let mut wire = Wire::connect(server).await;
    let head = format!(
        "POST /api/v1/organizations/{}/pipelines/validate HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: 100\r\n\r\n",
        caller.organization, caller.token
    );
    wire.write(head).await.unwrap();
    wire
}

/// Returns whether the server has neither sent anything nor closed the connection.
fn is_unanswered(wire: &Wire) -> bool {
    wire.0.try_read(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
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

/// An attack: many connections, each with the head of a request and no body. The server waits for as many bodies as a
/// token may send concurrently, and rejects the other requests.
#[tokio::test]
async fn heavy_fourteen_hundred_slow_bodies_do_not_delay_others() {
    let (_database, pool) = TestDatabase::create().await;
    let server = slow_clients::start_with(&pool, Duration::from_secs(15), slow_clients::patient()).await;
    let (owner, hostile) = (server.organization("acme").await, server.organization("globex").await);
    let viewer = server.member(&hostile, "globex", "viewer").await;
    let mut attack = join_all((0..1_400).map(|_| head_only(&server, &viewer))).await;
    let started = Instant::now();
    let mut samples = Vec::new();
    while started.elapsed() < MEASURED_TIME {
        let began = Instant::now();
        server.get(&owner, "/pipelines").await;
        samples.push(began.elapsed());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(samples.len() >= MIN_SAMPLES, "only {} samples: {samples:?}", samples.len());
    let slowest = samples.iter().max().unwrap();
    assert!(*slowest < Duration::from_secs(2), "{slowest:?}");
    // Otherwise some of the samples would have been taken without an attack.
    let unanswered = attack.iter().filter(|wire| is_unanswered(wire)).count();
    let expected = usize::try_from(LimitSettings::default().token_in_flight).unwrap();
    assert!(unanswered >= expected, "the server still waited for {unanswered} bodies only");
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
    assert_eq!((reply.status, reply.json()["limit"].as_str()), (429, Some("token_bodies")));
    // What has no body, or one that arrives, is served.
    server.get(&owner, "/pipelines").await;
    for upload in uploads {
        assert_eq!(upload.finish().await.status, 201);
    }
    server.end().await;
}

#[tokio::test]
async fn waits_a_body_below_the_minimum_rate_is_ended() {
    let (_database, pool) = TestDatabase::create().await;
    let server = slow_clients::start(&pool).await;
    let owner = server.organization("acme").await;
    let send = async |bytes_per_interval: usize| {
        let definition =
            format!("{}#{}", crate::support::DEFINITION, "x".repeat(bytes_per_interval * INTERVALS));
        let body = json!({ "name": "Slow", "definition": definition }).to_string();
        let mut wire = Wire::connect(&server).await;
        let head = format!(
            "POST /api/v1/organizations/acme/pipelines HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
             Authorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            owner.token,
            body.len()
        );
        wire.write(head).await.unwrap();
        for chunk in body.as_bytes().chunks(bytes_per_interval) {
            if wire.write(chunk).await.is_err() {
                break;
            }
            tokio::time::sleep(BODY_WINDOW / INTERVALS_PER_WINDOW).await;
        }
        wire.reply().await.status
    };
    // 300 bytes and 8 KiB per second.
    let (trickle, flow) = tokio::join!(send(60), send(1_640));
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
