//! One person with many tokens and browser sessions does not affect the other members of the organization, nor its
//! runners.

use std::time::Duration;

use futures_util::future::join_all;
use greenroom_app::limits::LimitSettings;
use reqwest::{Method, Response};
use serde_json::json;
use tokio::task::JoinSet;

use crate::rate_limits::{keep_sending, limited, start, until_limited};
use crate::requests::new_pipeline;
use crate::slow_bodies::head_only;
use crate::slow_clients;
use crate::sse::Stream;
use crate::support::database::TestDatabase;
use crate::support::{Caller, DEFINITION, TestServer};

const TOKENS: usize = 6;
const CONCURRENT_2: &str = "q=2;qu=\"concurrent-requests\"";

/// Returns the caller with other tokens of the same person.
async fn with_tokens(server: &TestServer, caller: &Caller, count: usize) -> Vec<Caller> {
    let mut callers = Vec::new();
    for number in 0..count {
        let made = server.post(caller, "/api-tokens", json!({ "name": format!("Token {number}") })).await;
        callers.push(Caller { token: made["token"].as_str().unwrap().to_owned(), ..caller.clone() });
    }
    callers
}

/// Sends a request in a browser in which the person is signed in.
async fn in_browser(server: &TestServer, caller: &Caller, path: &str) -> Response {
    let cookie = server.browser(&caller.user).await;
    let path = format!("/organizations/{}{path}", caller.organization);
    server.send(Method::GET, &path, Some(&cookie), None).await
}

/// Sends a request with a body that arrives.
async fn validate(server: &TestServer, caller: &Caller) -> Response {
    let body = json!({ "definition": DEFINITION });
    server.request(caller, Method::POST, "/pipelines/validate").json(&body).send().await.unwrap()
}

/// An attack: a viewer with several tokens opens as many connections as each token may, sends the head of a request on
/// each, and no body.
#[tokio::test]
async fn heavy_slow_bodies_of_one_person_refuse_neither_other_members_nor_runners() {
    let (_database, pool) = TestDatabase::create().await;
    let server = slow_clients::start_with(&pool, Duration::from_secs(15), slow_clients::patient()).await;
    let owner = server.organization("acme").await;
    let runner = server.post(&owner, "/runners", json!({ "name": "one" })).await;
    let runner = runner["token"].as_str().unwrap();
    let viewer = server.member(&owner, "acme", "viewer").await;
    let tokens = with_tokens(&server, &viewer, TOKENS).await;
    let each = usize::try_from(LimitSettings::default().token_in_flight).unwrap();
    let attack =
        join_all((0..TOKENS * each).map(|number| head_only(&server, &tokens[number % TOKENS]))).await;
    until_limited(|| validate(&server, &viewer), "person_bodies", "q=80;qu=\"concurrent-requests\"").await;
    for number in 0..12 {
        server.get(&owner, "/pipelines").await;
        server.post(&owner, "/pipelines", new_pipeline(&format!("Of others {number}"))).await;
        // The person's own requests that have no body are served, too.
        server.get(&viewer, "/pipelines").await;
        let acquire = server.client.post(format!("{}/runner/jobs/acquire", server.base)).bearer_auth(runner);
        let acquired = acquire.json(&json!({ "waitSeconds": 0 })).send().await.unwrap();
        assert_eq!(acquired.status(), 204);
    }
    // Otherwise these requests would have been served without an attack.
    until_limited(|| validate(&server, &viewer), "person_bodies", "q=80;qu=\"concurrent-requests\"").await;
    drop(attack);
    server.end().await;
}

#[tokio::test]
async fn streams_of_all_tokens_and_browsers_of_a_person_are_limited() {
    let (_database, pool) = TestDatabase::create().await;
    let server = start(&pool, LimitSettings { person_streams: 2, ..LimitSettings::default() }).await;
    let owner = server.organization("acme").await;
    let viewer = server.member(&owner, "acme", "viewer").await;
    let mut streams = Vec::new();
    for caller in with_tokens(&server, &viewer, 2).await {
        streams.push(Stream::open(&server, &caller, "").await);
    }
    limited(in_browser(&server, &viewer, "/events/stream").await, "person_streams", CONCURRENT_2).await;
    streams.push(Stream::open(&server, &owner, "").await);
    server.end().await;
}

#[tokio::test]
async fn requests_of_all_tokens_and_browsers_of_a_person_are_limited() {
    let (_database, pool) = TestDatabase::create().await;
    let server = start(&pool, LimitSettings { person_in_flight: 2, ..LimitSettings::default() }).await;
    let owner = server.organization("acme").await;
    let viewer = server.member(&owner, "acme", "viewer").await;
    let tokens = with_tokens(&server, &viewer, 2).await;
    // Every request for events waits for this lock.
    let mut holding = pool.begin().await.unwrap();
    sqlx::query("lock table events in access exclusive mode").execute(&mut *holding).await.unwrap();
    let mut at_work = JoinSet::new();
    for caller in &tokens {
        at_work.spawn(keep_sending(server.request(caller, Method::GET, "/events")));
    }
    until_limited(|| in_browser(&server, &viewer, "/pipelines"), "person_in_flight", CONCURRENT_2).await;
    server.get(&owner, "/pipelines").await;
    drop(at_work);
    holding.rollback().await.unwrap();
    server.end().await;
}

#[tokio::test]
async fn the_tokens_of_a_person_share_a_rate() {
    let (_database, pool) = TestDatabase::create().await;
    let settings = LimitSettings { person_rate: 2, person_burst: 20, ..LimitSettings::default() };
    let server = start(&pool, settings).await;
    let owner = server.organization("acme").await;
    let viewer = server.member(&owner, "acme", "viewer").await;
    let tokens = with_tokens(&server, &viewer, 3).await;
    let mut refused = Vec::new();
    for number in 0..60 {
        let response = server.request(&tokens[number % 3], Method::GET, "/pipelines").send().await.unwrap();
        if response.status() != 200 {
            refused.push(response);
        }
    }
    assert!(refused.len() >= 20, "only {} of 60 were refused", refused.len());
    limited(refused.remove(0), "person_rate", "q=2;w=1").await;
    server.get(&owner, "/pipelines").await;
    server.end().await;
}
