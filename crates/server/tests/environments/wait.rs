//! `Prefer: wait=N`: a claim that waits for its turn within the request, and leaves no trace in the queue if it was in vain.

use std::time::{Duration, Instant};

use greenroom_server::http::Limits;
use reqwest::RequestBuilder;
use serde_json::{Value, json};
use sqlx::{ConnectOptions, PgPool};

use crate::site::{DEFINITION, Reply, Site};
use crate::support::{Caller, TestServer, eventually};

const SOON: Duration = Duration::from_secs(5);

fn asked(site: &Site, caller: &Caller, path: &str, wait: &str, body: &Value) -> RequestBuilder {
    let base = &site.server.base;
    let url = format!("{base}/organizations/acme/pipelines/{}/ephemeral-environments/{path}", site.pipeline);
    site.server.client.post(url).bearer_auth(&caller.token).header("prefer", wait).json(body)
}

async fn reply(request: RequestBuilder) -> (Reply, String) {
    let answer = request.send().await.unwrap();
    let applied = answer.headers().get("preference-applied");
    let applied = applied.map_or_else(String::new, |value| value.to_str().unwrap().to_owned());
    (Reply { status: answer.status().as_u16(), json: answer.json().await.unwrap() }, applied)
}

async fn waits(site: &Site, caller: &Caller, wait: &str, body: Value) -> (Reply, String) {
    reply(asked(site, caller, "qa-1/sessions", wait, &body)).await
}

async fn queue_length(site: &Site) -> i64 {
    site.get(&site.dev, "").await.is(200)["data"]["lock"]["queueLength"].as_i64().unwrap()
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn the_turn_comes_while_it_waits(pool: PgPool) {
    let site = Site::new(&pool).await;
    let held = site.claim(&site.dev, json!({})).await.session();
    let body = json!({ "commitId": "0123abc" });
    let release = async {
        assert!(eventually(SOON, async || queue_length(&site).await == 1).await);
        site.delete(&site.dev, &format!("/sessions/{held}")).await.is(200);
        Instant::now()
    };
    let ((granted, applied), released) = tokio::join!(waits(&site, &site.mate, "wait=20", body), release);
    assert!(released.elapsed() < SOON, "it was told at once: {:?}", released.elapsed());
    assert_eq!(applied, "wait=20");
    let data = granted.is(201)["data"].clone();
    assert_eq!((&data["status"], &data["fence"]), (&json!("active"), &json!(3)));
    assert_eq!(data["deployments"][0]["commitId"], "0123abc");
    let confirmed: bool = sqlx::query_scalar("select confirmed from environments where name = 'qa-1'")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert!(confirmed, "its turn is taken up");
    site.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn in_vain(pool: PgPool) {
    let site = Site::new(&pool).await;
    site.claim(&site.dev, json!({})).await.is(201);
    let began = Instant::now();
    let (refused, applied) = waits(&site, &site.mate, "wait=1", json!({})).await;
    assert!((1..5).contains(&began.elapsed().as_secs()));
    assert_eq!(applied, "wait=1");
    let refused = refused.is(409);
    assert_eq!((&refused["code"], &refused["queueLength"]), (&json!("environment_locked"), &json!(0)));
    assert_eq!(refused["lock"]["holder"]["id"], site.dev.user.as_str());
    assert_eq!(waits(&site, &site.dev, "wait=1", json!({})).await.0.is(409)["code"], "held_by_you");
    let history = site.get(&site.dev, "/history").await.is(200);
    assert_eq!(history["data"][0]["status"], "canceled");
    // Who asked to be queued stays.
    let (stays, _) = waits(&site, &site.mate, "wait=1", json!({ "queue": true })).await;
    assert_eq!(stays.is(202)["data"]["position"], 1);
    assert_eq!(queue_length(&site).await, 1);
    site.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_key_keeps_what_came_of_it(pool: PgPool) {
    let site = Site::new(&pool).await;
    let keyed = |wait: &str| {
        asked(&site, &site.mate, "qa-1/sessions", wait, &json!({})).header("idempotency-key", "k1")
    };
    let held = site.claim(&site.dev, json!({})).await.session();
    reply(keyed("wait=1")).await.0.is(409);
    let release = async {
        assert!(eventually(SOON, async || queue_length(&site).await == 1).await);
        let early = reply(keyed("wait=1")).await.0.is(202);
        site.delete(&site.dev, &format!("/sessions/{held}")).await.is(200);
        early["data"]["sessionId"].clone()
    };
    // The refusal was not kept, so the same key waits again; meanwhile it is answered as queued, and then as granted.
    let ((granted, _), early) = tokio::join!(reply(keyed("wait=20")), release);
    let session = granted.is(201)["data"]["sessionId"].clone();
    assert_eq!(session, early);
    assert_eq!(reply(keyed("wait=20")).await.0.is(201)["data"]["sessionId"], session);
    site.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn who_hangs_up_leaves(pool: PgPool) {
    let site = Site::new(&pool).await;
    let held = site.claim(&site.dev, json!({})).await.session();
    let request = asked(&site, &site.mate, "qa-1/sessions", "wait=30", &json!({}));
    let hung_up = request.header("idempotency-key", "k2").timeout(Duration::from_millis(700)).send().await;
    assert!(hung_up.is_err());
    assert!(eventually(SOON, async || queue_length(&site).await == 0).await, "it still waits");
    let kept: i64 =
        sqlx::query_scalar("select count(*) from idempotency_keys").fetch_one(&pool).await.unwrap();
    assert_eq!(kept, 0);
    site.delete(&site.dev, &format!("/sessions/{held}")).await.is(200);
    site.claim(&site.owner, json!({})).await.is(201);
    site.end().await;
}

/// The release and the end of the wait at the same moment: whoever is told 201 holds it, whoever is told 409 does not.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn granted_just_when_the_wait_ends(pool: PgPool) {
    let site = Site::new(&pool).await;
    for round in 0..5_u64 {
        let held = site.claim(&site.dev, json!({})).await.session();
        let release = async {
            tokio::time::sleep(Duration::from_millis(960 + 20 * round)).await;
            site.delete(&site.dev, &format!("/sessions/{held}")).await.is(200)
        };
        let ((answer, _), _) = tokio::join!(waits(&site, &site.mate, "wait=1", json!({})), release);
        let lock = site.get(&site.dev, "").await.is(200)["data"]["lock"].clone();
        assert_eq!(lock["queueLength"], 0);
        if answer.status == 201 {
            assert_eq!(lock["sessionId"], answer.session().as_str());
            site.delete(&site.mate, &format!("/sessions/{}", answer.session())).await.is(200);
        } else {
            assert_eq!((answer.status, &lock["status"]), (409, &json!("free")), "{}", answer.json);
        }
    }
    site.end().await;
}

/// Those who wait take nothing from those who work, and a server that stops sends them home.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn waiting_costs_no_place_and_ends_with_the_server(pool: PgPool) {
    let url = pool.connect_options().to_url_lossy();
    // Less time than the wait, and three requests at a time.
    let server = TestServer::start_on(url.as_str(), Limits::new(Duration::from_secs(2), 3)).await;
    let site = Site::on(server, &pool, DEFINITION).await;
    site.claim(&site.dev, json!({})).await.is(201);
    let bot = site.token(&site.mate, json!({ "name": "bot", "kind": "ci" })).await;
    let requests: Vec<RequestBuilder> =
        (0..6).map(|_| asked(&site, &bot, "qa-1/sessions", "wait=30", &json!({}))).collect();
    let mut waiting = tokio::task::JoinSet::new();
    for (number, request) in requests.into_iter().enumerate() {
        waiting.spawn(reply(request));
        let queued = eventually(SOON, async || queue_length(&site).await == number as i64 + 1).await;
        assert!(queued, "number {number} does not wait");
    }
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    assert_eq!(queue_length(&site).await, 6, "nobody was cut off");
    let began = Instant::now();
    site.end().await;
    for (answer, _) in waiting.join_all().await {
        assert_eq!(answer.is(409)["code"], "environment_locked");
    }
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn for_one_of_a_pool(pool: PgPool) {
    let definition = DEFINITION.replace("qa-1: {", "qa-1: { labels: [web],");
    let site = Site::with(&pool, &definition).await;
    let held = site.claim(&site.dev, json!({})).await.session();
    let body = json!({ "labels": ["web"] });
    let (refused, applied) = reply(asked(&site, &site.mate, "claim", "wait=1", &body)).await;
    assert_eq!((refused.is(409)["code"].as_str(), applied.as_str()), (Some("pool_exhausted"), "wait=1"));
    let release = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        site.delete(&site.dev, &format!("/sessions/{held}")).await.is(200);
        Instant::now()
    };
    let ((granted, _), released) =
        tokio::join!(reply(asked(&site, &site.mate, "claim", "wait=20", &body)), release);
    assert_eq!(granted.is(201)["data"]["envName"], "qa-1");
    assert!(released.elapsed() < SOON);
    site.end().await;
}
