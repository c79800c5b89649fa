//! An open stream ends soon after the right to it has, however much it has still to show.

use std::time::{Duration, Instant};

use reqwest::{Method, Response};
use serde_json::json;
use sqlx::PgPool;

use crate::support::{Caller, eventually};
use crate::world::World;

/// Streams are checked every second; then it takes a moment.
const CHECKED: Duration = Duration::from_millis(1_500);
const BACKLOG: i64 = 4_000;

async fn open(world: &World, token: &str, query: &str) -> Response {
    let path = format!("/organizations/acme/events/stream{query}");
    let stream = world.server.send(Method::GET, &path, Some(token), None).await;
    assert_eq!(stream.status(), 200);
    stream
}

/// Reads to the end. The end has to come within that time.
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

/// Reads for as long as it takes to be checked, and longer.
async fn stays_open(stream: &mut Response) {
    let reading = async { while stream.chunk().await.unwrap().is_some() {} };
    assert!(tokio::time::timeout(CHECKED, reading).await.is_err(), "the stream was ended");
}

async fn revoke(world: &World, victim: &Caller) {
    let path = format!("/organizations/acme/api-tokens/{}", victim.token_id);
    world.server.delete(&path, &world.owner.token).await.succeeded(200);
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_stream_ends_with_its_token(pool: PgPool) {
    let world = World::new(&pool).await;
    let victim = world.member("viewer").await;
    let mut stream = open(&world, &victim.token, "").await;
    revoke(&world, &victim).await;
    read_out(&mut stream, CHECKED).await;
    world.server.stop().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_stream_ends_with_the_membership_or_the_role(pool: PgPool) {
    let world = World::new(&pool).await;
    let (demoted, removed, other) =
        (world.member("owner").await, world.member("admin").await, world.member("viewer").await);
    let (mut first, mut second) =
        (open(&world, &demoted.token, "").await, open(&world, &removed.token, "").await);
    let mut stays = open(&world, &other.token, "").await;
    let path = |victim: &Caller| format!("/organizations/acme/members/{}", victim.user);
    let changed = world.server.patch(&path(&demoted), &world.owner.token, json!({ "role": "viewer" })).await;
    changed.succeeded(200);
    // What happened before the change was noticed is in it.
    read_out(&mut first, CHECKED).await;
    world.server.delete(&path(&removed), &world.owner.token).await.succeeded(200);
    read_out(&mut second, CHECKED).await;
    // Nobody else's stream is touched by that.
    stays_open(&mut stays).await;
    drop(stays);
    world.server.stop().await;
}

/// A check is under way while a stream is opened: that one is for the next check.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_check_spares_a_stream_that_it_did_not_ask_about(pool: PgPool) {
    let world = World::new(&pool).await;
    let watched = world.member("viewer").await;
    let first = open(&world, &watched.token, "").await;
    let mut opened = None;
    for _ in 0..20 {
        // Somebody new, whom the server knows for the next half second without asking the database.
        let member = world.member("viewer").await;
        world.server.get("/me", &member.token).await.succeeded(200);
        let mut lock = pool.begin().await.unwrap();
        sqlx::query("lock table api_tokens in access exclusive mode").execute(&mut *lock).await.unwrap();
        let asking = eventually(Duration::from_millis(300), async || {
            let sql = "select count(*) from pg_stat_activity where datname = current_database()
                       and wait_event_type = 'Lock' and query like '%m.role from api_tokens%'";
            sqlx::query_scalar::<_, i64>(sql).fetch_one(&pool).await.unwrap() > 0
        });
        if asking.await {
            let path = "/organizations/acme/events/stream";
            let stream = world.server.send(Method::GET, path, Some(&member.token), None).await;
            opened = Some(stream).filter(|stream| stream.status() == 200);
        }
        lock.rollback().await.unwrap();
        if opened.is_some() {
            break;
        }
    }
    assert!(opened.is_some(), "no stream could be opened while a check was under way");
    stays_open(opened.as_mut().unwrap()).await;
    drop((first, opened));
    world.server.stop().await;
}

/// The reader is slow and the history long: the stream is always in the middle of sending.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_busy_stream_ends_with_its_token(pool: PgPool) {
    let world = World::new(&pool).await;
    let victim = world.member("viewer").await;
    sqlx::query(
        "insert into event_intake (organization_id, type, category, subject, data)
         select o.id, 'pipeline.updated', 'deployment', 'pipelines/x', jsonb_build_object('reason', repeat('x', 10000))
         from organizations o cross join generate_series(1, $1) where o.slug = 'acme'",
    )
    .bind(BACKLOG)
    .execute(&pool)
    .await
    .unwrap();
    let sequenced = eventually(Duration::from_secs(20), async || {
        let waiting: i64 =
            sqlx::query_scalar("select count(*) from event_intake").fetch_one(&pool).await.unwrap();
        waiting == 0
    });
    assert!(sequenced.await);

    let mut stream = open(&world, &victim.token, "?after=0").await;
    stream.chunk().await.unwrap().unwrap();
    revoke(&world, &victim).await;
    let since = Instant::now();
    while since.elapsed() < CHECKED {
        stream.chunk().await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // What was on its way may still come; all the rest may not.
    let seen = read_out(&mut stream, Duration::from_secs(20)).await.matches("\nevent: ").count();
    let backlog = usize::try_from(BACKLOG).unwrap();
    assert!(seen < backlog / 2, "{seen} of {backlog} events were sent long after the revocation");
    world.server.stop().await;
}
