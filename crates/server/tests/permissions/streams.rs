//! An open stream ends soon after the right to it, however many events it still has to send.

use std::time::{Duration, Instant};

use reqwest::{Method, Response};
use serde_json::json;

use crate::fixture::PermissionFixture;
use crate::support::database::TestDatabase;
use crate::support::{Caller, eventually, record_large_events};

/// Streams are checked every second; the rest is a margin.
const CHECK_TIMEOUT: Duration = Duration::from_millis(1_500);
const BACKLOG: i64 = 4_000;

async fn open(fixture: &PermissionFixture, token: &str, query: &str) -> Response {
    let path = format!("/organizations/acme/events/stream{query}");
    let stream = fixture.server.send(Method::GET, &path, Some(token), None).await;
    assert_eq!(stream.status(), 200);
    stream
}

/// Reads to the end, which has to come within that time.
async fn read_out(stream: &mut Response, within: Duration) -> String {
    let reading = async {
        let mut text = String::new();
        while let Ok(Some(chunk)) = stream.chunk().await {
            text += &String::from_utf8_lossy(&chunk);
        }
        text
    };
    let text = tokio::time::timeout(within, reading).await;
    assert!(text.is_ok(), "the stream was still open after {within:?}");
    text.unwrap()
}

/// Checks that the stream is still open after the next check.
async fn stays_open(stream: &mut Response) {
    let reading = async { while stream.chunk().await.unwrap().is_some() {} };
    assert!(tokio::time::timeout(CHECK_TIMEOUT, reading).await.is_err(), "the stream was ended");
}

async fn revoke(fixture: &PermissionFixture, victim: &Caller) {
    let path = format!("/organizations/acme/api-tokens/{}", victim.token_id);
    fixture.server.delete(&path, &fixture.owner.token).await.succeeded(200);
}

#[tokio::test]
async fn a_stream_ends_with_its_token() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    let victim = fixture.member("viewer").await;
    let mut stream = open(&fixture, &victim.token, "").await;
    revoke(&fixture, &victim).await;
    read_out(&mut stream, CHECK_TIMEOUT).await;
    fixture.server.stop().await;
}

#[tokio::test]
async fn a_stream_ends_with_the_membership_or_the_role() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    let (demoted, removed, other) =
        (fixture.member("owner").await, fixture.member("admin").await, fixture.member("viewer").await);
    let (mut first, mut second) =
        (open(&fixture, &demoted.token, "").await, open(&fixture, &removed.token, "").await);
    let mut stays = open(&fixture, &other.token, "").await;
    let path = |victim: &Caller| format!("/organizations/acme/members/{}", victim.user);
    let changed =
        fixture.server.patch(&path(&demoted), &fixture.owner.token, json!({ "role": "viewer" })).await;
    changed.succeeded(200);
    // Events from before the change was detected are sent.
    read_out(&mut first, CHECK_TIMEOUT).await;
    fixture.server.delete(&path(&removed), &fixture.owner.token).await.succeeded(200);
    read_out(&mut second, CHECK_TIMEOUT).await;
    // Other streams stay open.
    stays_open(&mut stays).await;
    drop(stays);
    fixture.server.stop().await;
}

/// Race: a stream that is opened while a check runs is left to the next check.
#[tokio::test]
async fn a_check_does_not_end_a_stream_opened_meanwhile() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    let watched = fixture.member("viewer").await;
    let first = open(&fixture, &watched.token, "").await;
    let mut opened = None;
    for _ in 0..20 {
        // A new member, whose token the server has in its cache for half a second.
        let member = fixture.member("viewer").await;
        fixture.server.get("/me", &member.token).await.succeeded(200);
        let mut lock = pool.begin().await.unwrap();
        sqlx::query("lock table api_tokens in access exclusive mode").execute(&mut *lock).await.unwrap();
        let checking = eventually(Duration::from_millis(300), async || {
            let sql = "select count(*) from pg_stat_activity where datname = current_database()
                       and wait_event_type = 'Lock' and query like '%m.role from api_tokens%'";
            sqlx::query_scalar::<_, i64>(sql).fetch_one(&pool).await.unwrap() > 0
        });
        if checking.await {
            let path = "/organizations/acme/events/stream";
            let stream = fixture.server.send(Method::GET, path, Some(&member.token), None).await;
            opened = Some(stream).filter(|stream| stream.status() == 200);
        }
        lock.rollback().await.unwrap();
        if opened.is_some() {
            break;
        }
    }
    assert!(opened.is_some(), "no stream could be opened during a check");
    stays_open(opened.as_mut().unwrap()).await;
    drop((first, opened));
    fixture.server.stop().await;
}

/// With a slow reader and a long history the stream is always sending.
#[tokio::test]
async fn a_busy_stream_ends_with_its_token() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    let victim = fixture.member("viewer").await;
    record_large_events(&pool, "acme", BACKLOG, 10_000).await;
    let sequenced = eventually(Duration::from_secs(20), async || {
        let waiting: i64 =
            sqlx::query_scalar("select count(*) from event_intake").fetch_one(&pool).await.unwrap();
        waiting == 0
    });
    assert!(sequenced.await);

    let mut stream = open(&fixture, &victim.token, "?after=0").await;
    stream.chunk().await.unwrap().unwrap();
    revoke(&fixture, &victim).await;
    let since = Instant::now();
    while since.elapsed() < CHECK_TIMEOUT {
        stream.chunk().await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // Buffered events may still arrive, but no others.
    let received = read_out(&mut stream, Duration::from_secs(20)).await.matches("\nevent: ").count();
    let backlog = usize::try_from(BACKLOG).unwrap();
    assert!(received < backlog / 2, "{received} of {backlog} events were sent long after the revocation");
    fixture.server.stop().await;
}
