//! An open stream lasts as long as the right to it, and no shorter.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::json;
use sqlx::PgPool;

use crate::ask::{good, problem};
use crate::sse::{Read, Stream};
use crate::support::{Caller, TestServer, eventually};

const AT_MOST: Duration = Duration::from_millis(1_500);

async fn second_token(server: &TestServer, caller: &Caller, body: serde_json::Value) -> Caller {
    let made = server.post(caller, "/api-tokens", body).await;
    let text = |name: &str| made[name].as_str().unwrap().to_owned();
    Caller { token: text("token"), token_id: text("id"), ..caller.clone() }
}

/// What a server remembers of a token may be half a second old.
async fn refused_within_a_second(
    server: &TestServer,
    caller: &Caller,
    path: &str,
    (status, code): (u16, &str),
) {
    let refused = eventually(Duration::from_secs(1), || async {
        server.ask(caller, Method::GET, path).send().await.unwrap().status() == status
    });
    assert!(refused.await, "{path} is still answered");
    problem(server.ask(caller, Method::GET, path).send().await.unwrap(), status, code).await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn it_ends_with_its_token(pool: PgPool) {
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
    let revoke =
        server.ask(&owner, Method::DELETE, &format!("/api-tokens/{}", second.token_id)).send().await.unwrap();
    good(revoke, 200).await;
    let ended = join_all(ending.iter_mut().map(|stream| stream.ends(AT_MOST))).await;
    assert_eq!(ended, [true; 3]);
    refused_within_a_second(&server, &second, "/events/stream", (401, "unauthenticated")).await;
    server.pipeline(&owner, "Web").await;
    assert_eq!(kept.message().await.event, "pipeline.created");
    server.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn it_ends_with_its_users_role(pool: PgPool) {
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let admin = server.member(&owner, "acme", "admin").await;
    let gone = server.member(&owner, "acme", "viewer").await;
    let (mut demoted, mut removed) =
        (Stream::open(&server, &admin, "").await, Stream::open(&server, &gone, "").await);
    let change = server
        .ask(&owner, Method::PATCH, &format!("/members/{}", admin.user))
        .json(&json!({ "role": "viewer" }));
    good(change.send().await.unwrap(), 200).await;
    let remove = server.ask(&owner, Method::DELETE, &format!("/members/{}", gone.user));
    good(remove.send().await.unwrap(), 200).await;
    let (demoted, removed) = tokio::join!(demoted.ends(AT_MOST), removed.ends(AT_MOST));
    assert!(demoted && removed, "{demoted} {removed}");
    // Who comes back is judged anew.
    refused_within_a_second(&server, &admin, "/events/stream?category=audit", (403, "forbidden")).await;
    let mut back = Stream::open(&server, &admin, "").await;
    server.post(&owner, "/api-tokens", json!({ "name": "audit" })).await;
    server.pipeline(&owner, "Web").await;
    assert_eq!(back.message().await.event, "pipeline.created");
    refused_within_a_second(&server, &gone, "/events/stream", (401, "unauthenticated")).await;
    server.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn it_ends_when_its_token_expires(pool: PgPool) {
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let soon = "select to_char((clock_timestamp() + interval '2 s') at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')";
    let soon: String = sqlx::query_scalar(soon).fetch_one(&pool).await.unwrap();
    let short = second_token(&server, &owner, json!({ "name": "short", "expiresAt": soon })).await;
    let (opened, mut stream) = (Instant::now(), Stream::open(&server, &short, "").await);
    assert!(stream.ends(Duration::from_secs(2) + AT_MOST).await);
    assert!(opened.elapsed() > Duration::from_secs(1), "not before its time: {:?}", opened.elapsed());
    server.end().await;
}

/// The watcher asks for the tokens of open streams; one that is opened while it asks is not in its answer.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn it_is_not_ended_because_it_is_new(pool: PgPool) {
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let newcomer = second_token(&server, &owner, json!({ "name": "newcomer" })).await;
    let _watched = Stream::open(&server, &owner, "").await;
    let asking = || async {
        let waiting = "select count(*) from pg_stat_activity
                       where datname = current_database() and wait_event_type = 'Lock' and query like '%t.id = any(%'";
        sqlx::query_scalar::<_, i64>(waiting).fetch_one(&pool).await.unwrap() == 1
    };
    for _ in 0..20 {
        // From here on the server knows the newcomer by heart for half a second.
        server.get(&newcomer, "").await;
        let mut holding = pool.begin().await.unwrap();
        sqlx::query("lock table api_tokens in access exclusive mode").execute(&mut *holding).await.unwrap();
        if !eventually(Duration::from_millis(300), asking).await {
            holding.rollback().await.unwrap();
            continue;
        }
        let request = server.ask(&newcomer, Method::GET, "/events/stream?type=pipeline.created");
        let Ok(opened) = tokio::time::timeout(Duration::from_millis(500), request.send()).await else {
            // It was forgotten too soon.
            holding.rollback().await.unwrap();
            continue;
        };
        let mut stream = Stream::of(opened.unwrap()).await;
        holding.rollback().await.unwrap();
        assert_eq!(stream.read(AT_MOST).await, Read::Silent, "a stream with a good token was ended");
        server.pipeline(&owner, "Web").await;
        assert_eq!(stream.message().await.event, "pipeline.created");
        server.end().await;
        return;
    }
    assert!(eventually(Duration::ZERO, asking).await, "the watcher was never caught asking");
}

/// A reader that stands still holds its place, but not its right: what happens after the revocation is not for it.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn it_ends_for_a_reader_who_stands_still(pool: PgPool) {
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let second = second_token(&server, &owner, json!({ "name": "second" })).await;
    let mut stream = Stream::open(&server, &second, "").await;
    let mut reading = Stream::open(&server, &second, "?type=runner_pool.updated").await;
    // Fills what lies between the server and a reader who does not read.
    sqlx::query(
        "insert into event_intake (organization_id, type, category, subject, data)
         select id, 'pipeline.updated', 'deployment', 'pipelines/x', jsonb_build_object('reason', repeat('x', 4000))
         from organizations, generate_series(1, 6000)",
    )
    .execute(&pool)
    .await
    .unwrap();
    server.events_are_sequenced(&pool).await;
    let revoke =
        server.ask(&owner, Method::DELETE, &format!("/api-tokens/{}", second.token_id)).send().await.unwrap();
    good(revoke, 200).await;
    assert!(reading.ends(AT_MOST).await);
    server.pipeline(&owner, "Secret").await;
    server.events_are_sequenced(&pool).await;
    // It was known before this; from here on it can't be found out.
    let mut holding = pool.begin().await.unwrap();
    sqlx::query("lock table memberships in access exclusive mode").execute(&mut *holding).await.unwrap();
    loop {
        match stream.read(Duration::from_secs(5)).await {
            Read::Message(message) => {
                assert_ne!(message.event, "pipeline.created", "told after the revocation")
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
