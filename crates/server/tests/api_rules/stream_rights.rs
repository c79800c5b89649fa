//! An open stream ends when the right to it ends, and not earlier.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::json;

use crate::requests::{problem, success};
use crate::sse::{Read, Stream};
use crate::support::database::TestDatabase;
use crate::support::{Caller, TestServer, eventually, record_large_events};

const TIMEOUT: Duration = Duration::from_millis(1_500);

async fn second_token(server: &TestServer, caller: &Caller, body: serde_json::Value) -> Caller {
    let made = server.post(caller, "/api-tokens", body).await;
    let text = |name: &str| made[name].as_str().unwrap().to_owned();
    Caller { token: text("token"), token_id: text("id"), ..caller.clone() }
}

/// A server caches a token for half a second.
async fn refused_within_a_second(
    server: &TestServer,
    caller: &Caller,
    path: &str,
    (status, code): (u16, &str),
) {
    let refused = eventually(Duration::from_secs(1), || async {
        server.request(caller, Method::GET, path).send().await.unwrap().status() == status
    });
    assert!(refused.await, "{path} is still served");
    problem(server.request(caller, Method::GET, path).send().await.unwrap(), status, code).await;
}

#[tokio::test]
async fn a_stream_ends_with_its_token() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let second = second_token(&server, &owner, json!({ "name": "second" })).await;
    let third = second_token(&server, &second, json!({ "name": "made by the second" })).await;
    let mut kept = Stream::open(&server, &owner, "?type=pipeline.created").await;
    let mut ending = [
        Stream::open(&server, &second, "").await,
        Stream::open(&server, &second, "").await,
        Stream::open(&server, &third, "").await,
    ];
    let revoke = server
        .request(&owner, Method::DELETE, &format!("/api-tokens/{}", second.token_id))
        .send()
        .await
        .unwrap();
    success(revoke, 200).await;
    let ended = join_all(ending.iter_mut().map(|stream| stream.ends(TIMEOUT))).await;
    assert_eq!(ended, [true; 3]);
    refused_within_a_second(&server, &second, "/events/stream", (401, "unauthenticated")).await;
    server.pipeline(&owner, "Web").await;
    assert_eq!(kept.message().await.event, "pipeline.created");
    server.end().await;
}

#[tokio::test]
async fn a_stream_ends_with_the_role_of_its_user() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let admin = server.member(&owner, "acme", "admin").await;
    let gone = server.member(&owner, "acme", "viewer").await;
    let (mut demoted, mut removed) =
        (Stream::open(&server, &admin, "").await, Stream::open(&server, &gone, "").await);
    let change = server
        .request(&owner, Method::PATCH, &format!("/members/{}", admin.user))
        .json(&json!({ "role": "viewer" }));
    success(change.send().await.unwrap(), 200).await;
    let remove = server.request(&owner, Method::DELETE, &format!("/members/{}", gone.user));
    success(remove.send().await.unwrap(), 200).await;
    let (demoted, removed) = tokio::join!(demoted.ends(TIMEOUT), removed.ends(TIMEOUT));
    assert!(demoted && removed, "{demoted} {removed}");
    // A new stream is authorized again.
    refused_within_a_second(&server, &admin, "/events/stream?category=audit", (403, "forbidden")).await;
    let mut back = Stream::open(&server, &admin, "").await;
    server.post(&owner, "/api-tokens", json!({ "name": "audit" })).await;
    server.pipeline(&owner, "Web").await;
    assert_eq!(back.message().await.event, "pipeline.created");
    refused_within_a_second(&server, &gone, "/events/stream", (401, "unauthenticated")).await;
    server.end().await;
}

#[tokio::test]
async fn a_stream_ends_when_its_token_expires() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let soon = "select to_char((clock_timestamp() + interval '2 s') at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')";
    let soon: String = sqlx::query_scalar(soon).fetch_one(&pool).await.unwrap();
    let short = second_token(&server, &owner, json!({ "name": "short", "expiresAt": soon })).await;
    let (opened, mut stream) = (Instant::now(), Stream::open(&server, &short, "").await);
    assert!(stream.ends(Duration::from_secs(2) + TIMEOUT).await);
    assert!(opened.elapsed() > Duration::from_secs(1), "not before its time: {:?}", opened.elapsed());
    server.end().await;
}

/// Race: the watcher queries the tokens of open streams; a stream that is opened meanwhile is not in the
/// result.
#[tokio::test]
async fn a_stream_opened_during_a_check_is_not_ended() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let newcomer = second_token(&server, &owner, json!({ "name": "newcomer" })).await;
    let _watched = Stream::open(&server, &owner, "").await;
    let checking = || async {
        let waiting = "select count(*) from pg_stat_activity
                       where datname = current_database() and wait_event_type = 'Lock' and query like '%t.id = any(%'";
        sqlx::query_scalar::<_, i64>(waiting).fetch_one(&pool).await.unwrap() == 1
    };
    for _ in 0..20 {
        // From here on the server has the new token in its cache for half a second.
        server.get(&newcomer, "").await;
        let mut holding = pool.begin().await.unwrap();
        sqlx::query("lock table api_tokens in access exclusive mode").execute(&mut *holding).await.unwrap();
        if !eventually(Duration::from_millis(300), checking).await {
            holding.rollback().await.unwrap();
            continue;
        }
        let request = server.request(&newcomer, Method::GET, "/events/stream?type=pipeline.created");
        let Ok(opened) = tokio::time::timeout(Duration::from_millis(500), request.send()).await else {
            // The cache entry expired too early.
            holding.rollback().await.unwrap();
            continue;
        };
        let mut stream = Stream::of(opened.unwrap()).await;
        holding.rollback().await.unwrap();
        assert_eq!(stream.read(TIMEOUT).await, Read::Silent, "a stream with a valid token was ended");
        server.pipeline(&owner, "Web").await;
        assert_eq!(stream.message().await.event, "pipeline.created");
        server.end().await;
        return;
    }
    assert!(eventually(Duration::ZERO, checking).await, "the test never ran during a query of the watcher");
}

/// A reader that does not read keeps its connection, but receives no event from after the revocation.
#[tokio::test]
async fn a_stream_ends_for_a_reader_that_does_not_read() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let second = second_token(&server, &owner, json!({ "name": "second" })).await;
    let mut stream = Stream::open(&server, &second, "").await;
    let mut reading = Stream::open(&server, &second, "?type=runner_pool.updated").await;
    // Fills the buffers between the server and a reader that does not read.
    record_large_events(&pool, "acme", 6_000, 4_000).await;
    server.events_are_sequenced(&pool).await;
    let revoke = server
        .request(&owner, Method::DELETE, &format!("/api-tokens/{}", second.token_id))
        .send()
        .await
        .unwrap();
    success(revoke, 200).await;
    assert!(reading.ends(TIMEOUT).await);
    server.pipeline(&owner, "Secret").await;
    server.events_are_sequenced(&pool).await;
    // The server has to have detected the revocation by now: this lock blocks further checks.
    let mut holding = pool.begin().await.unwrap();
    sqlx::query("lock table memberships in access exclusive mode").execute(&mut *holding).await.unwrap();
    loop {
        match stream.read(Duration::from_secs(5)).await {
            Read::Message(message) => {
                assert_ne!(message.event, "pipeline.created", "sent after the revocation")
            }
            Read::Comment => {}
            end => {
                assert_eq!(end, Read::Ended);
                break;
            }
        }
    }
    holding.rollback().await.unwrap();
    server.end().await;
}
