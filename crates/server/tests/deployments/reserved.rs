//! What keeps locks and jobs alive is served while everything else is full: it has slots and database connections of its own,
//! and another organization can't have all of them.

use std::time::{Duration, Instant};

use greenroom_server::limits::{LimitSettings, Limits};
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{ConnectOptions, PgPool};
use tokio::task::JoinSet;

use crate::environments::SHOP;
use crate::support::{Caller, TestServer, eventually};
use crate::yard::{Job, Yard};

const SOON: Duration = Duration::from_secs(4);

async fn yard(pool: &PgPool, settings: LimitSettings) -> Yard {
    let limits = Limits::with(Duration::from_secs(15), settings);
    let server = TestServer::start_on(pool.connect_options().to_url_lossy().as_str(), limits).await;
    Yard::on(server, SHOP).await
}

/// Sends a request again and again until the set is dropped.
fn keep_sending(attack: &mut JoinSet<()>, server: &TestServer, caller: &Caller, method: Method, path: &str) {
    let url = format!("{}/organizations/{}{path}", server.base, caller.organization);
    let request = server.client.request(method, url).bearer_auth(&caller.token);
    attack.spawn(async move {
        loop {
            let _ = request.try_clone().unwrap().send().await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
}

/// What was sent is served, and soon.
async fn served(what: &str, sent: impl Future<Output = (u16, Value)>) {
    let began = Instant::now();
    let (status, answer) = sent.await;
    assert_eq!(status, 200, "{what}: {answer}");
    assert!(began.elapsed() < SOON, "{what} took {:?}", began.elapsed());
}

/// Everything that has reserved capacity, in the order of a job's and a session's life.
async fn live(yard: &Yard, job: &Job, session: &str) {
    let of_session = format!("/pipelines/{}/ephemeral-environments/qa-1/sessions/{session}", yard.pipeline);
    let renew = format!("{of_session}/renew");
    for _ in 0..3 {
        served("a job's heartbeat", yard.say(job, "/heartbeat", json!({}))).await;
        served(
            "a session's heartbeat",
            yard.call(Method::POST, &format!("{of_session}/heartbeat"), Value::Null),
        )
        .await;
        served("a renewal", yard.call(Method::POST, &renew, Value::Null)).await;
        tokio::time::sleep(Duration::from_millis(600)).await;
    }
    for step in &job.steps {
        served("a step's start", yard.say(job, &format!("/steps/{step}/start"), json!({}))).await;
        let end = json!({ "status": "succeeded", "exitCode": 0 });
        served("a step's end", yard.say(job, &format!("/steps/{step}/end"), end)).await;
    }
    served("a job's end", yard.say(job, "/complete", json!({}))).await;
    served("a release", yard.call(Method::DELETE, &of_session, Value::Null)).await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn heavy_full_slots_keep_no_lock_or_job_from_living(pool: PgPool) {
    under_attack(&pool, LimitSettings { max_in_flight: 4, ..LimitSettings::default() }).await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn heavy_used_up_connections_keep_no_lock_or_job_from_living(pool: PgPool) {
    // So that half of the connections are all that there are.
    under_attack(&pool, LimitSettings { database_connections: 16, ..LimitSettings::default() }).await;
}

async fn under_attack(pool: &PgPool, settings: LimitSettings) {
    let yard = yard(pool, settings).await;
    // Two, because one alone cannot use up all connections.
    let hostile = [yard.server.organization("globex").await, yard.server.organization("initech").await];
    let (session, deployment) = yard.claim("qa-1", &yard.owner, "sessions").await;
    let job = yard.take(&yard.advance(&deployment).await).await;
    // Every request for events waits for this lock and keeps a connection while it does.
    let mut holding = pool.begin().await.unwrap();
    sqlx::query("lock table events in access exclusive mode").execute(&mut *holding).await.unwrap();
    let mut attack = JoinSet::new();
    for attacker in hostile.iter().cycle().take(64) {
        keep_sending(&mut attack, &yard.server, attacker, Method::GET, "/events");
    }
    let full = async || yard.call(Method::GET, "/pipelines", Value::Null).await.0 == 503;
    assert!(eventually(SOON, full).await, "the attack does not fill the server");
    live(&yard, &job, &session).await;
    assert!(eventually(SOON, full).await, "the attack was over too soon");
    drop(attack);
    holding.rollback().await.unwrap();
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn heavy_an_organization_can_use_half_of_the_connections(pool: PgPool) {
    let yard = yard(&pool, LimitSettings { database_connections: 8, ..LimitSettings::default() }).await;
    let hostile = yard.server.organization("globex").await;
    let mut holding = pool.begin().await.unwrap();
    sqlx::query("lock table events in access exclusive mode").execute(&mut *holding).await.unwrap();
    let mut attack = JoinSet::new();
    for _ in 0..32 {
        keep_sending(&mut attack, &yard.server, &hostile, Method::GET, "/events");
    }
    let waiting = async || {
        let sql = "select count(*) from pg_stat_activity
                   where datname = current_database() and application_name = 'greenroom' and wait_event_type = 'Lock'";
        sqlx::query_scalar::<_, i64>(sql).fetch_one(&pool).await.unwrap() >= 4
    };
    assert!(eventually(SOON, waiting).await, "the attack waits for nothing");
    for _ in 0..10 {
        served("a read", yard.call(Method::GET, "/pipelines", Value::Null)).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    assert!(eventually(SOON, waiting).await, "the attack was over too soon");
    drop(attack);
    holding.rollback().await.unwrap();
    yard.end().await;
}

/// An attacker keeps a lock of their own busy and sends renewals that wait for it.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn heavy_another_organization_cannot_fill_the_reserved_capacity(pool: PgPool) {
    let yard = yard(&pool, LimitSettings { max_in_flight: 16, ..LimitSettings::default() }).await;
    let hostile = yard.server.organization("globex").await;
    let body = json!({ "name": "Shop", "slug": "shop", "definition": SHOP });
    let (status, made) =
        yard.server.json(Method::POST, "/organizations/globex/pipelines", &hostile.token, Some(body)).await;
    assert_eq!(status, 201, "{made}");
    let claim = "/organizations/globex/pipelines/shop/ephemeral-environments/qa-1/sessions";
    let (status, made) = yard.server.json(Method::POST, claim, &hostile.token, Some(json!({}))).await;
    assert_eq!(status, 201, "{made}");
    let theirs = made["data"]["sessionId"].as_str().unwrap().to_owned();
    let (session, deployment) = yard.claim("qa-1", &yard.owner, "sessions").await;
    let job = yard.take(&yard.advance(&deployment).await).await;

    let mut holding = pool.begin().await.unwrap();
    let lock = "select 1 from environments where 'org_' || organization_id = $1 for update";
    sqlx::query(lock).bind(&hostile.organization).execute(&mut *holding).await.unwrap();
    let mut attack = JoinSet::new();
    let renew = format!("/pipelines/shop/ephemeral-environments/qa-1/sessions/{theirs}/renew");
    for _ in 0..60 {
        keep_sending(&mut attack, &yard.server, &hostile, Method::POST, &renew);
    }
    let waiting = async || {
        let sql = "select count(*) from pg_stat_activity
                   where datname = current_database() and application_name = 'greenroom-reserved' and wait_event_type = 'Lock'";
        sqlx::query_scalar::<_, i64>(sql).fetch_one(&pool).await.unwrap() >= 4
    };
    assert!(eventually(SOON, waiting).await, "no renewal waits for the lock");
    live(&yard, &job, &session).await;
    assert!(eventually(SOON, waiting).await, "the attack was over too soon");
    drop(attack);
    holding.rollback().await.unwrap();
    yard.end().await;
}
