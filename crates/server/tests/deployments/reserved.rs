//! Requests that keep locks and jobs alive are served while the server is overloaded: they have reserved
//! request slots and database connections, and one organization cannot take all of them.

use std::time::{Duration, Instant};

use greenroom_app::limits::{LimitSettings, Limits};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use sqlx::{ConnectOptions, PgPool};
use tokio::task::JoinSet;

use crate::environments::SHOP;
use crate::fixture::{DeploymentFixture, Job};
use crate::support::database::TestDatabase;
use crate::support::{Caller, TestServer, eventually};

const TIMEOUT: Duration = Duration::from_secs(4);
/// How long a test waits for the effect of the attack. On a busy machine the attackers repeat their requests
/// slowly, and a request may be served in between.
const ATTACK_TIMEOUT: Duration = Duration::from_secs(20);

async fn new_fixture(pool: &PgPool, settings: LimitSettings) -> DeploymentFixture {
    let limits = Limits::with(Duration::from_secs(15), settings);
    let server =
        TestServer::start_with_full_pools(pool.connect_options().to_url_lossy().as_str(), limits).await;
    DeploymentFixture::on(server, SHOP).await
}

/// Repeats a request until the set is dropped.
fn keep_sending(attack: &mut JoinSet<()>, server: &TestServer, caller: &Caller, method: Method, path: &str) {
    let url = format!("{}/organizations/{}{path}", server.base, caller.organization);
    keep_sending_request(attack, server.client.request(method, url).bearer_auth(&caller.token));
}

fn keep_sending_request(attack: &mut JoinSet<()>, request: RequestBuilder) {
    attack.spawn(async move {
        loop {
            let _ = request.try_clone().unwrap().send().await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
}

/// Returns whether at least four of the connections for requests wait for a lock.
async fn connections_wait(pool: &PgPool) -> bool {
    let sql = "select count(*) from pg_stat_activity
               where datname = current_database() and application_name ^@ 'greenroom/' and wait_event_type = 'Lock'";
    sqlx::query_scalar::<_, i64>(sql).fetch_one(pool).await.unwrap() >= 4
}

/// Checks that a request is served in time.
async fn assert_served(what: &str, sent: impl Future<Output = (u16, Value)>) {
    let began = Instant::now();
    let (status, response) = sent.await;
    assert_eq!(status, 200, "{what}: {response}");
    assert!(began.elapsed() < TIMEOUT, "{what} took {:?}", began.elapsed());
}

/// Sends every kind of request that has reserved capacity, in the order of a job's and a session's life
/// cycle.
async fn assert_reserved_requests_are_served(fixture: &DeploymentFixture, job: &Job, session: &str) {
    let of_session =
        format!("/pipelines/{}/ephemeral-environments/qa-1/sessions/{session}", fixture.pipeline);
    let renew = format!("{of_session}/renew");
    for _ in 0..3 {
        assert_served("a job's heartbeat", fixture.report(job, "/heartbeat", json!({}))).await;
        assert_served(
            "a session's heartbeat",
            fixture.call(Method::POST, &format!("{of_session}/heartbeat"), Value::Null),
        )
        .await;
        assert_served("a renewal", fixture.call(Method::POST, &renew, Value::Null)).await;
        tokio::time::sleep(Duration::from_millis(600)).await;
    }
    for step in &job.steps {
        assert_served("a step's start", fixture.report(job, &format!("/steps/{step}/start"), json!({})))
            .await;
        let end = json!({ "status": "succeeded", "exitCode": 0 });
        assert_served("a step's end", fixture.report(job, &format!("/steps/{step}/end"), end)).await;
    }
    assert_served("a job's end", fixture.report(job, "/complete", json!({}))).await;
    assert_served("a release", fixture.call(Method::DELETE, &of_session, Value::Null)).await;
}

#[tokio::test]
async fn heavy_locks_and_jobs_are_served_while_all_request_slots_are_taken() {
    let (_database, pool) = TestDatabase::create().await;
    under_attack(&pool, LimitSettings { max_in_flight: 4, ..LimitSettings::default() }).await;
}

#[tokio::test]
async fn waits_locks_and_jobs_are_served_while_all_connections_are_taken() {
    let (_database, pool) = TestDatabase::create().await;
    // One person may use a quarter of this number, which is all 8 connections of the test server.
    under_attack(&pool, LimitSettings { database_connections: 32, ..LimitSettings::default() }).await;
}

async fn under_attack(pool: &PgPool, settings: LimitSettings) {
    let fixture = new_fixture(pool, settings).await;
    // Two organizations, because one alone may take only half of the capacity.
    let hostile = [fixture.server.organization("globex").await, fixture.server.organization("initech").await];
    let (session, deployment) = fixture.claim("qa-1", &fixture.owner, "sessions").await;
    let job = fixture.take(&fixture.advance(&deployment).await).await;
    // Every request for events waits for this lock and keeps a connection meanwhile.
    let mut holding = pool.begin().await.unwrap();
    sqlx::query("lock table events in access exclusive mode").execute(&mut *holding).await.unwrap();
    let mut attack = JoinSet::new();
    for attacker in hostile.iter().cycle().take(64) {
        keep_sending(&mut attack, &fixture.server, attacker, Method::GET, "/events");
    }
    let full = async || fixture.call(Method::GET, "/pipelines", Value::Null).await.0 == 503;
    assert!(eventually(ATTACK_TIMEOUT, full).await, "the attack does not fill the server");
    assert_reserved_requests_are_served(&fixture, &job, &session).await;
    assert!(eventually(ATTACK_TIMEOUT, full).await, "the attack ended too early");
    drop(attack);
    holding.rollback().await.unwrap();
    fixture.end().await;
}

#[tokio::test]
async fn waits_an_organization_can_use_half_of_the_connections() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture =
        new_fixture(&pool, LimitSettings { database_connections: 8, ..LimitSettings::default() }).await;
    let hostile = fixture.server.organization("globex").await;
    let mut holding = pool.begin().await.unwrap();
    sqlx::query("lock table events in access exclusive mode").execute(&mut *holding).await.unwrap();
    let mut attack = JoinSet::new();
    for _ in 0..32 {
        keep_sending(&mut attack, &fixture.server, &hostile, Method::GET, "/events");
    }
    let waiting = async || connections_wait(&pool).await;
    assert!(eventually(ATTACK_TIMEOUT, waiting).await, "the attack waits for nothing");
    for _ in 0..10 {
        assert_served("a read", fixture.call(Method::GET, "/pipelines", Value::Null)).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    assert!(eventually(ATTACK_TIMEOUT, waiting).await, "the attack ended too early");
    drop(attack);
    holding.rollback().await.unwrap();
    fixture.end().await;
}

/// Claims that wait for their turn have given up their slot, and still use the database.
#[tokio::test]
async fn waits_waiting_claims_of_an_organization_use_half_of_the_connections() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture =
        new_fixture(&pool, LimitSettings { database_connections: 8, ..LimitSettings::default() }).await;
    let other = fixture.server.organization("globex").await;
    fixture.claim("qa-1", &fixture.owner, "sessions").await;
    let mut holding = pool.begin().await.unwrap();
    sqlx::query("select 1 from environments for update").execute(&mut *holding).await.unwrap();
    let mut attack = JoinSet::new();
    let claim = format!(
        "{}/organizations/{}/pipelines/{}/ephemeral-environments/qa-1/sessions",
        fixture.server.base, fixture.owner.organization, fixture.pipeline
    );
    let claim = fixture.server.client.post(claim).bearer_auth(&fixture.owner.token);
    let claim = claim.header("prefer", "wait=5").json(&json!({}));
    for _ in 0..40 {
        keep_sending_request(&mut attack, claim.try_clone().unwrap());
    }
    let waiting = async || connections_wait(&pool).await;
    assert!(eventually(ATTACK_TIMEOUT, waiting).await, "no claim waits for the lock");
    for _ in 0..10 {
        let path = "/organizations/globex/pipelines";
        let (status, response) = fixture.server.json(Method::GET, path, &other.token, None).await;
        assert_eq!(status, 200, "{response}");
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    assert!(eventually(ATTACK_TIMEOUT, waiting).await, "the claims ended too early");
    drop(attack);
    holding.rollback().await.unwrap();
    fixture.end().await;
}

/// An attacker locks the row of their own environment and sends renewals that wait for it.
#[tokio::test]
async fn waits_another_organization_cannot_fill_the_reserved_capacity() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = new_fixture(&pool, LimitSettings { max_in_flight: 16, ..LimitSettings::default() }).await;
    let hostile = fixture.server.organization("globex").await;
    let body = json!({ "name": "Shop", "slug": "shop", "definition": SHOP });
    let (status, made) = fixture
        .server
        .json(Method::POST, "/organizations/globex/pipelines", &hostile.token, Some(body))
        .await;
    assert_eq!(status, 201, "{made}");
    let claim = "/organizations/globex/pipelines/shop/ephemeral-environments/qa-1/sessions";
    let (status, made) = fixture.server.json(Method::POST, claim, &hostile.token, Some(json!({}))).await;
    assert_eq!(status, 201, "{made}");
    let theirs = made["data"]["sessionId"].as_str().unwrap().to_owned();
    let (session, deployment) = fixture.claim("qa-1", &fixture.owner, "sessions").await;
    let job = fixture.take(&fixture.advance(&deployment).await).await;

    let mut holding = pool.begin().await.unwrap();
    let lock = "select 1 from environments where 'org_' || organization_id = $1 for update";
    sqlx::query(lock).bind(&hostile.organization).execute(&mut *holding).await.unwrap();
    let mut attack = JoinSet::new();
    let renew = format!("/pipelines/shop/ephemeral-environments/qa-1/sessions/{theirs}/renew");
    for _ in 0..60 {
        keep_sending(&mut attack, &fixture.server, &hostile, Method::POST, &renew);
    }
    // One person has half of what an organization may use of the reserved connections.
    let waiting = async || {
        let sql = "select count(*) from pg_stat_activity
                   where datname = current_database() and application_name ^@ 'greenroom-reserved/' and wait_event_type = 'Lock'";
        sqlx::query_scalar::<_, i64>(sql).fetch_one(&pool).await.unwrap() >= 2
    };
    assert!(eventually(ATTACK_TIMEOUT, waiting).await, "no renewal waits for the lock");
    assert_reserved_requests_are_served(&fixture, &job, &session).await;
    assert!(eventually(ATTACK_TIMEOUT, waiting).await, "the attack ended too early");
    drop(attack);
    holding.rollback().await.unwrap();
    fixture.end().await;
}
