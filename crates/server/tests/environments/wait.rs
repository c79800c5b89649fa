//! `Prefer: wait=N`: a claim that waits for its grant within the request, and leaves the queue if the wait
//! times out.

use std::time::{Duration, Instant};

use greenroom_server::http::Limits;
use reqwest::RequestBuilder;
use serde_json::{Value, json};
use sqlx::ConnectOptions;

use crate::fixture::{DEFINITION, EnvironmentFixture, Reply};
use crate::support::database::TestDatabase;
use crate::support::{Caller, TestServer, eventually};

const TIMEOUT: Duration = Duration::from_secs(5);

fn waiting_claim(
    fixture: &EnvironmentFixture,
    caller: &Caller,
    path: &str,
    wait: &str,
    body: &Value,
) -> RequestBuilder {
    let base = &fixture.server.base;
    let url =
        format!("{base}/organizations/acme/pipelines/{}/ephemeral-environments/{path}", fixture.pipeline);
    fixture.server.client.post(url).bearer_auth(&caller.token).header("prefer", wait).json(body)
}

async fn reply(request: RequestBuilder) -> (Reply, String) {
    let response = request.send().await.unwrap();
    let applied = response.headers().get("preference-applied");
    let applied = applied.map_or_else(String::new, |value| value.to_str().unwrap().to_owned());
    (Reply { status: response.status().as_u16(), json: response.json().await.unwrap() }, applied)
}

async fn claim_and_wait(
    fixture: &EnvironmentFixture,
    caller: &Caller,
    wait: &str,
    body: Value,
) -> (Reply, String) {
    reply(waiting_claim(fixture, caller, "qa-1/sessions", wait, &body)).await
}

async fn queue_length(fixture: &EnvironmentFixture) -> i64 {
    fixture.get(&fixture.dev, "").await.is(200)["data"]["lock"]["queueLength"].as_i64().unwrap()
}

#[tokio::test]
async fn a_waiting_claim_is_granted() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let held = fixture.claim(&fixture.dev, json!({})).await.session();
    let body = json!({ "commitId": "0123abc" });
    let release = async {
        assert!(eventually(TIMEOUT, async || queue_length(&fixture).await == 1).await);
        fixture.delete(&fixture.dev, &format!("/sessions/{held}")).await.is(200);
        Instant::now()
    };
    let ((granted, applied), released) =
        tokio::join!(claim_and_wait(&fixture, &fixture.mate, "wait=20", body), release);
    assert!(released.elapsed() < TIMEOUT, "it was notified late: {:?}", released.elapsed());
    assert_eq!(applied, "wait=20");
    let data = granted.is(201)["data"].clone();
    assert_eq!((&data["status"], &data["fence"]), (&json!("active"), &json!(3)));
    assert_eq!(data["deployments"][0]["commitId"], "0123abc");
    let confirmed: bool = sqlx::query_scalar("select confirmed from environments where name = 'qa-1'")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert!(confirmed, "the grant is confirmed");
    fixture.end().await;
}

#[tokio::test]
async fn a_wait_that_times_out_leaves_no_trace() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    fixture.claim(&fixture.dev, json!({})).await.is(201);
    let began = Instant::now();
    let (refused, applied) = claim_and_wait(&fixture, &fixture.mate, "wait=1", json!({})).await;
    assert!((1..5).contains(&began.elapsed().as_secs()));
    assert_eq!(applied, "wait=1");
    let refused = refused.is(409);
    assert_eq!((&refused["code"], &refused["queueLength"]), (&json!("environment_locked"), &json!(0)));
    assert_eq!(refused["lock"]["holder"]["id"], fixture.dev.user.as_str());
    assert_eq!(
        claim_and_wait(&fixture, &fixture.dev, "wait=1", json!({})).await.0.is(409)["code"],
        "held_by_you"
    );
    let history = fixture.get(&fixture.dev, "/history").await.is(200);
    assert_eq!(history["data"][0]["status"], "canceled");
    // A claim with `queue` keeps its place.
    let (stays, _) = claim_and_wait(&fixture, &fixture.mate, "wait=1", json!({ "queue": true })).await;
    assert_eq!(stays.is(202)["data"]["position"], 1);
    assert_eq!(queue_length(&fixture).await, 1);
    fixture.end().await;
}

#[tokio::test]
async fn an_idempotency_key_returns_the_outcome_of_the_wait() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let keyed = |wait: &str| {
        waiting_claim(&fixture, &fixture.mate, "qa-1/sessions", wait, &json!({}))
            .header("idempotency-key", "k1")
    };
    let held = fixture.claim(&fixture.dev, json!({})).await.session();
    reply(keyed("wait=1")).await.0.is(409);
    let release = async {
        assert!(eventually(TIMEOUT, async || queue_length(&fixture).await == 1).await);
        let early = reply(keyed("wait=1")).await.0.is(202);
        fixture.delete(&fixture.dev, &format!("/sessions/{held}")).await.is(200);
        early["data"]["sessionId"].clone()
    };
    // The refusal was not stored, so the same key waits again. A repetition gets `queued` meanwhile, and then
    // the grant.
    let ((granted, _), early) = tokio::join!(reply(keyed("wait=20")), release);
    let session = granted.is(201)["data"]["sessionId"].clone();
    assert_eq!(session, early);
    assert_eq!(reply(keyed("wait=20")).await.0.is(201)["data"]["sessionId"], session);
    fixture.end().await;
}

#[tokio::test]
async fn a_client_that_disconnects_leaves_the_queue() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let held = fixture.claim(&fixture.dev, json!({})).await.session();
    let request = waiting_claim(&fixture, &fixture.mate, "qa-1/sessions", "wait=30", &json!({}));
    let hung_up = request.header("idempotency-key", "k2").timeout(Duration::from_millis(700)).send().await;
    assert!(hung_up.is_err());
    assert!(eventually(TIMEOUT, async || queue_length(&fixture).await == 0).await, "the session still waits");
    let kept: i64 =
        sqlx::query_scalar("select count(*) from idempotency_keys").fetch_one(&pool).await.unwrap();
    assert_eq!(kept, 0);
    fixture.delete(&fixture.dev, &format!("/sessions/{held}")).await.is(200);
    fixture.claim(&fixture.owner, json!({})).await.is(201);
    fixture.end().await;
}

/// The release races the end of the wait: after a 201 the caller is the holder, after a 409 not.
#[tokio::test]
async fn a_grant_races_the_end_of_the_wait() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    for round in 0..5_u64 {
        let held = fixture.claim(&fixture.dev, json!({})).await.session();
        let release = async {
            tokio::time::sleep(Duration::from_millis(960 + 20 * round)).await;
            fixture.delete(&fixture.dev, &format!("/sessions/{held}")).await.is(200)
        };
        let ((response, _), _) =
            tokio::join!(claim_and_wait(&fixture, &fixture.mate, "wait=1", json!({})), release);
        let lock = fixture.get(&fixture.dev, "").await.is(200)["data"]["lock"].clone();
        assert_eq!(lock["queueLength"], 0);
        if response.status == 201 {
            assert_eq!(lock["sessionId"], response.session().as_str());
            fixture.delete(&fixture.mate, &format!("/sessions/{}", response.session())).await.is(200);
        } else {
            assert_eq!((response.status, &lock["status"]), (409, &json!("free")), "{}", response.json);
        }
    }
    fixture.end().await;
}

/// Waiting claims take no request slots from others, and a server that stops ends them.
#[tokio::test]
async fn a_wait_takes_no_request_slot_and_ends_with_the_server() {
    let (_database, pool) = TestDatabase::create().await;
    let url = pool.connect_options().to_url_lossy();
    // The request timeout is shorter than the wait, and there are three request slots.
    let server = TestServer::start_on(url.as_str(), Limits::new(Duration::from_secs(2), 3)).await;
    let fixture = EnvironmentFixture::on(server, &pool, DEFINITION).await;
    fixture.claim(&fixture.dev, json!({})).await.is(201);
    let bot = fixture.token(&fixture.mate, json!({ "name": "bot", "kind": "ci" })).await;
    let requests: Vec<RequestBuilder> =
        (0..6).map(|_| waiting_claim(&fixture, &bot, "qa-1/sessions", "wait=30", &json!({}))).collect();
    let mut waiting = tokio::task::JoinSet::new();
    for (number, request) in requests.into_iter().enumerate() {
        waiting.spawn(reply(request));
        let queued = eventually(TIMEOUT, async || queue_length(&fixture).await == number as i64 + 1).await;
        assert!(queued, "number {number} does not wait");
    }
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    assert_eq!(queue_length(&fixture).await, 6, "no wait was ended");
    let began = Instant::now();
    fixture.end().await;
    for (response, _) in waiting.join_all().await {
        assert_eq!(response.is(409)["code"], "environment_locked");
    }
    assert!(began.elapsed() < TIMEOUT, "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_claim_waits_for_any_environment_of_a_pool() {
    let (_database, pool) = TestDatabase::create().await;
    let definition = DEFINITION.replace("qa-1: {", "qa-1: { labels: [web],");
    let fixture = EnvironmentFixture::with(&pool, &definition).await;
    let held = fixture.claim(&fixture.dev, json!({})).await.session();
    let body = json!({ "labels": ["web"] });
    let (refused, applied) = reply(waiting_claim(&fixture, &fixture.mate, "claim", "wait=1", &body)).await;
    assert_eq!((refused.is(409)["code"].as_str(), applied.as_str()), (Some("pool_exhausted"), "wait=1"));
    let release = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        fixture.delete(&fixture.dev, &format!("/sessions/{held}")).await.is(200);
        Instant::now()
    };
    let ((granted, _), released) =
        tokio::join!(reply(waiting_claim(&fixture, &fixture.mate, "claim", "wait=20", &body)), release);
    assert_eq!(granted.is(201)["data"]["envName"], "qa-1");
    assert!(released.elapsed() < TIMEOUT);
    fixture.end().await;
}
