//! Limits by token, organization and address, and that clients over a limit do not affect others.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use greenroom_app::limits::LimitSettings;
use greenroom_server::http::Limits;
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};
use sqlx::{ConnectOptions, PgPool};
use tokio::task::JoinSet;

use crate::requests::{header, problem, success};
use crate::sse::Stream;
use crate::support::database::TestDatabase;
use crate::support::{Caller, DEFINITION, TestServer, eventually};
use crate::wire::{Upload, Wire};

const TIMEOUT: Duration = Duration::from_secs(5);
/// Between two requests of a loop, which would exceed the rates otherwise.
const PAUSE: Duration = Duration::from_millis(20);
const CONCURRENT_3: &str = "q=3;qu=\"concurrent-requests\"";

pub async fn start(pool: &PgPool, settings: LimitSettings) -> TestServer {
    let limits = Limits::with(Duration::from_secs(15), settings);
    TestServer::start_on(pool.connect_options().to_url_lossy().as_str(), limits).await
}

/// Checks a refusal by this limit, with everything that a client needs.
pub async fn limited(response: Response, limit: &str, policy: &str) -> Value {
    let (retry, found) = (header(&response, "retry-after"), header(&response, "ratelimit"));
    assert_eq!(header(&response, "ratelimit-policy"), format!("\"{limit}\";{policy}"));
    assert!(retry.parse::<u64>().is_ok_and(|seconds| seconds >= 1), "{retry}");
    assert_eq!(found, format!("\"{limit}\";r=0;t={retry}"));
    let body = problem(response, 429, "rate_limited").await;
    assert_eq!(body["limit"], limit);
    assert_eq!(body["retryAfterSeconds"].to_string(), retry);
    body
}

#[tokio::test]
async fn a_token_over_its_rate_limit_does_not_affect_others() {
    let (_database, pool) = TestDatabase::create().await;
    let server =
        start(&pool, LimitSettings { token_rate: 2, token_burst: 20, ..LimitSettings::default() }).await;
    let owner = server.organization("acme").await;
    let viewer = server.member(&owner, "acme", "viewer").await;
    let mut refused = Vec::new();
    for _ in 0..60 {
        let response = server.request(&viewer, Method::GET, "/pipelines").send().await.unwrap();
        match response.status().as_u16() {
            200 => {}
            _ => refused.push(response),
        }
    }
    assert!(refused.len() >= 20, "only {} of 60 were refused", refused.len());
    limited(refused.remove(0), "token_rate", "q=2;w=1").await;
    // Another token of the same organization has its own limit.
    server.get(&owner, "/pipelines").await;
    let again =
        || async { server.request(&viewer, Method::GET, "/pipelines").send().await.unwrap().status() == 200 };
    assert!(eventually(TIMEOUT, again).await);
    server.end().await;
}

#[tokio::test]
async fn the_tokens_of_an_organization_share_its_rate() {
    let (_database, pool) = TestDatabase::create().await;
    let settings = LimitSettings { organization_rate: 5, organization_burst: 30, ..LimitSettings::default() };
    let server = start(&pool, settings).await;
    let (owner, other) = (server.organization("acme").await, server.organization("other").await);
    let viewer = server.member(&owner, "acme", "viewer").await;
    let mut refused = Vec::new();
    for number in 0..90 {
        let caller = if number % 2 == 0 { &owner } else { &viewer };
        let response = server.request(caller, Method::GET, "/pipelines").send().await.unwrap();
        match response.status().as_u16() {
            200 => {}
            _ => refused.push(response),
        }
    }
    assert!(!refused.is_empty());
    limited(refused.remove(0), "organization_rate", "q=5;w=1").await;
    server.get(&other, "/pipelines").await;
    server.end().await;
}

/// Starts a request whose body is incomplete.
async fn begin(server: &TestServer, caller: &Caller) -> Upload {
    Upload::begin(server, caller, "/pipelines/validate", &json!({ "definition": DEFINITION })).await
}

#[tokio::test]
async fn incomplete_bodies_are_limited_by_token_and_organization() {
    let (_database, pool) = TestDatabase::create().await;
    let settings =
        LimitSettings { token_in_flight: 3, organization_in_flight: 5, ..LimitSettings::default() };
    let server = start(&pool, settings).await;
    let (owner, other) = (server.organization("acme").await, server.organization("other").await);
    let viewer = server.member(&owner, "acme", "viewer").await;
    let mut uploads = Vec::new();
    for caller in [&owner, &owner, &owner] {
        uploads.push(begin(&server, caller).await);
    }
    let validate = |caller: &Caller| {
        let body = json!({ "definition": DEFINITION });
        server.request(caller, Method::POST, "/pipelines/validate").json(&body).send()
    };
    limited(validate(&owner).await.unwrap(), "token_bodies", CONCURRENT_3).await;
    for caller in [&viewer, &viewer] {
        uploads.push(begin(&server, caller).await);
    }
    limited(validate(&viewer).await.unwrap(), "organization_bodies", "q=5;qu=\"concurrent-requests\"").await;
    // All others are served, and so are requests without a body.
    assert_eq!(validate(&other).await.unwrap().status(), 200);
    for caller in [&owner, &viewer] {
        server.get(caller, "/pipelines").await;
    }
    for upload in uploads {
        assert_eq!(upload.finish().await.status, 200);
    }
    assert_eq!(validate(&owner).await.unwrap().status(), 200);
    server.end().await;
}

#[tokio::test]
async fn concurrent_requests_are_limited_by_token_and_organization() {
    let (_database, pool) = TestDatabase::create().await;
    let settings =
        LimitSettings { token_in_flight: 3, organization_in_flight: 4, ..LimitSettings::default() };
    let server = start(&pool, settings).await;
    let (owner, other) = (server.organization("acme").await, server.organization("other").await);
    let viewer = server.member(&owner, "acme", "viewer").await;
    // Every request for events waits for this lock.
    let mut holding = pool.begin().await.unwrap();
    sqlx::query("lock table events in access exclusive mode").execute(&mut *holding).await.unwrap();
    let list_events = |caller: &Caller| server.request(caller, Method::GET, "/events");
    let mut at_work = JoinSet::new();
    for _ in 0..3 {
        at_work.spawn(keep_sending(list_events(&owner)));
    }
    let read =
        async |caller: &Caller| server.request(caller, Method::GET, "/pipelines").send().await.unwrap();
    until_limited(|| read(&owner), "token_in_flight", CONCURRENT_3).await;
    assert_eq!(read(&viewer).await.status(), 200);
    at_work.spawn(keep_sending(list_events(&viewer)));
    until_limited(|| read(&viewer), "organization_in_flight", "q=4;qu=\"concurrent-requests\"").await;
    // All others are served.
    server.get(&other, "/pipelines").await;
    drop(at_work);
    holding.rollback().await.unwrap();
    assert!(eventually(TIMEOUT, async || read(&owner).await.status() == 200).await);
    server.end().await;
}

/// Sends a request again and again until the task is aborted.
pub async fn keep_sending(request: RequestBuilder) {
    loop {
        let _ = request.try_clone().unwrap().send().await;
        tokio::time::sleep(PAUSE).await;
    }
}

/// Waits until the request is refused by this limit, and checks the refusal.
pub async fn until_limited<F: Future<Output = Response>>(send: impl Fn() -> F, limit: &str, policy: &str) {
    let mut refusal = None;
    let started = Instant::now();
    while refusal.is_none() && started.elapsed() < TIMEOUT {
        let response = send().await;
        refusal = (response.status() == 429).then_some(response);
        tokio::time::sleep(PAUSE).await;
    }
    limited(refusal.unwrap(), limit, policy).await;
}

#[tokio::test]
async fn open_streams_are_limited() {
    let (_database, pool) = TestDatabase::create().await;
    let settings = LimitSettings { token_streams: 2, organization_streams: 3, ..LimitSettings::default() };
    let server = start(&pool, settings).await;
    let (owner, other) = (server.organization("acme").await, server.organization("other").await);
    let viewer = server.member(&owner, "acme", "viewer").await;
    let mut streams = vec![Stream::open(&server, &owner, "").await, Stream::open(&server, &owner, "").await];
    let open = |caller: &Caller| server.request(caller, Method::GET, "/events/stream").send();
    limited(open(&owner).await.unwrap(), "token_streams", "q=2;qu=\"concurrent-requests\"").await;
    let third = Stream::open(&server, &viewer, "").await;
    limited(open(&viewer).await.unwrap(), "organization_streams", "q=3;qu=\"concurrent-requests\"").await;
    drop(Stream::open(&server, &other, "").await);
    streams.pop();
    assert!(eventually(TIMEOUT, async || open(&owner).await.unwrap().status() == 200).await);
    drop(third);
    server.end().await;
}

/// Retries a request that is refused because another one was admitted first.
async fn until_admitted(request: RequestBuilder) {
    let admitted = async || request.try_clone().unwrap().send().await.unwrap().status() != 429;
    assert!(eventually(TIMEOUT, admitted).await);
}

#[tokio::test]
async fn a_runner_has_one_more_poll_than_job_slots() {
    let (_database, pool) = TestDatabase::create().await;
    let server = start(&pool, LimitSettings { organization_polls: 3, ..LimitSettings::default() }).await;
    let (acme, other) = (server.organization("acme").await, server.organization("other").await);
    let runner = async |owner: &Caller, name: &str| {
        let made = server.post(owner, "/runners", json!({ "name": name })).await;
        made["token"].as_str().unwrap().to_owned()
    };
    let request = |token: &str, seconds: u32| {
        let url = format!("{}/runner/jobs/acquire", server.base);
        let request = server.client.post(url).bearer_auth(token).header("x-greenroom-concurrency", "1");
        request.json(&json!({ "waitSeconds": seconds }))
    };
    let poll = |token: &str, seconds: u32| request(token, seconds).send();
    let (one, two, theirs) =
        (runner(&acme, "one").await, runner(&acme, "two").await, runner(&other, "theirs").await);
    let mut waiting = JoinSet::new();
    waiting.spawn(until_admitted(request(&one, 20)));
    waiting.spawn(until_admitted(request(&one, 20)));
    let refused = async || poll(&one, 0).await.unwrap().status() == 429;
    assert!(eventually(TIMEOUT, refused).await);
    limited(poll(&one, 0).await.unwrap(), "token_polls", "q=2;qu=\"concurrent-requests\"").await;
    waiting.spawn(until_admitted(request(&two, 20)));
    let full = async || {
        header(&poll(&two, 0).await.unwrap(), "ratelimit-policy").starts_with("\"runners_polls\";q=3")
    };
    assert!(eventually(TIMEOUT, full).await);
    assert_eq!(poll(&theirs, 0).await.unwrap().status(), 204);
    waiting.abort_all();
    server.end().await;
}

#[tokio::test]
async fn connections_of_an_address_are_limited() {
    let (_database, pool) = TestDatabase::create().await;
    let server = start(&pool, LimitSettings { address_connections: 5, ..LimitSettings::default() }).await;
    let mut open = join_all((0..5).map(|_| Wire::connect(&server))).await;
    for wire in &mut open {
        wire.write("GET /livez HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    }
    let started = Instant::now();
    assert!(Wire::connect(&server).await.closed(TIMEOUT).await.is_some(), "one more was not closed");
    assert!(started.elapsed() < TIMEOUT);
    open.pop();
    let served = async || Wire::get(&server, "/livez", "").await.status == 200;
    assert!(eventually(TIMEOUT, served).await);
    drop(open);
    server.end().await;
}

#[tokio::test]
async fn without_limits_no_request_is_refused() {
    let (_database, pool) = TestDatabase::create().await;
    let settings = LimitSettings { limits: greenroom_app::limits::Switch::Off, ..LimitSettings::default() };
    let server = start(&pool, LimitSettings { token_rate: 1, token_burst: 1, ..settings }).await;
    let owner = server.organization("acme").await;
    for response in join_all((0..50).map(|_| server.request(&owner, Method::GET, "").send())).await {
        success(response.unwrap(), 200).await;
    }
    server.end().await;
}
