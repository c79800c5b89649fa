//! Asking a holder to let go.

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::site::{Reply, Site};
use crate::support::Caller;

async fn ask(site: &Site, by: &Caller, session: &str, body: Value) -> Reply {
    site.send(by, Method::POST, &format!("/sessions/{session}/request-handover"), body).await
}

async fn answer(site: &Site, by: &Caller, session: &str, word: &str) -> Reply {
    site.send(by, Method::POST, &format!("/sessions/{session}/handover/{word}"), json!({})).await
}

async fn told(pool: &PgPool, event_type: &str) -> i64 {
    sqlx::query_scalar(
        "select (select count(*) from event_intake where type = $1) + (select count(*) from events where type = $1)",
    )
    .bind(event_type)
    .fetch_one(pool)
    .await
    .unwrap()
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn asked_and_accepted(pool: PgPool) {
    let site = Site::new(&pool).await;
    let held = site.claim(&site.dev, json!({ "commitId": "0123abc" })).await.session();
    let asked = ask(&site, &site.mate, &held, json!({ "context": "hotfix", "graceSeconds": 60 })).await;
    let waiting = asked.session();
    let asked = asked.is(202)["data"].clone();
    assert_eq!(
        (&asked["status"], &asked["position"], &asked["handover"]),
        (&json!("queued"), &json!(1), &Value::Null)
    );
    let shown = site.get(&site.dev, &format!("/sessions/{held}")).await.is(200)["data"].clone();
    assert_eq!(shown["handover"], shown["lock"]["handover"]);
    assert_eq!(shown["handover"]["requestedBy"]["id"], site.mate.user.as_str());
    assert_eq!(shown["handover"]["onSilence"], "accept", "a developer could also force");
    assert_eq!(
        (&shown["handover"]["context"], &shown["handover"]["sessionId"]),
        (&json!("hotfix"), &json!(waiting))
    );

    let pending = ask(&site, &site.owner, &held, json!({})).await.is(409);
    assert_eq!((&pending["code"], &pending["handover"]), (&json!("handover_pending"), &shown["handover"]));
    assert_eq!(ask(&site, &site.dev, &held, json!({})).await.is(409)["code"], "held_by_you");
    answer(&site, &site.mate, &held, "accept").await.is(403);
    for grace in [59, 3_601] {
        let refused = ask(&site, &site.owner, &held, json!({ "graceSeconds": grace })).await.is(422);
        assert_eq!(refused["errors"][0]["pointer"], "/graceSeconds");
    }

    let released = answer(&site, &site.dev, &held, "accept").await.is(200)["data"].clone();
    assert_eq!(
        (&released["status"], &released["endedBy"]["id"]),
        (&json!("released"), &json!(site.dev.user))
    );
    assert_eq!(released["deployments"][0]["status"], "canceled");
    assert_eq!(released["lock"]["sessionId"], waiting.as_str());
    assert_eq!(released["lock"]["handover"], Value::Null);
    assert_eq!(answer(&site, &site.dev, &held, "accept").await.is(409)["code"], "session_released");
    assert_eq!(
        (told(&pool, "session.handover_requested").await, told(&pool, "session.granted").await),
        (1, 1)
    );
    site.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn declined_or_withdrawn(pool: PgPool) {
    let site = Site::new(&pool).await;
    let held = site.claim(&site.dev, json!({})).await.session();
    assert_eq!(answer(&site, &site.dev, &held, "decline").await.is(409)["code"], "handover_not_requested");
    let waiting = ask(&site, &site.mate, &held, json!({})).await.session();
    let path = format!("/sessions/{held}/handover/decline");
    let no = json!({ "context": "a demo runs" });
    let kept = site.send(&site.dev, Method::POST, &path, no).await.is(200)["data"].clone();
    assert_eq!((&kept["status"], &kept["handover"]), (&json!("active"), &Value::Null));
    assert_eq!(kept["lock"]["queueLength"], 1, "who asked stays");
    let declined = site.get(&site.mate, &format!("/sessions/{waiting}")).await.is(200)["data"].clone();
    let declined = &declined["handoverDeclined"];
    assert_eq!((&declined["by"]["id"], &declined["context"]), (&json!(site.dev.user), &json!("a demo runs")));
    assert!(declined["at"].is_string());
    assert_eq!(told(&pool, "session.handover_declined").await, 1);
    // Who waits already asks with what they wait with.
    assert_eq!(ask(&site, &site.mate, &held, json!({})).await.session(), waiting);
    site.delete(&site.mate, &format!("/sessions/{waiting}")).await.is(200);
    assert_eq!(answer(&site, &site.dev, &held, "accept").await.is(409)["code"], "handover_not_requested");
    site.age(600).await;
    site.sweep().await;
    let shown = site.get(&site.dev, &format!("/sessions/{held}")).await.is(200);
    assert_eq!(shown["data"]["status"], "active", "nobody asks any more");
    site.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn silence_accepts_and_the_first_in_line_gets_it(pool: PgPool) {
    let site = Site::new(&pool).await;
    let held = site.claim(&site.dev, json!({})).await.session();
    let first = site.claim(&site.owner, json!({ "queue": true })).await.session();
    let asked = ask(&site, &site.mate, &held, json!({ "graceSeconds": 60 })).await.is(202);
    assert_eq!(asked["data"]["position"], 2);
    // Renewing is no answer.
    site.send(&site.dev, Method::POST, &format!("/sessions/{held}/renew"), json!({})).await.is(200);
    assert_eq!(site.sweep().await, 0, "not yet");
    site.age(61).await;
    assert_eq!(site.sweep().await, 1, "the sweeper looks in time");
    let ended = site.get(&site.dev, &format!("/sessions/{held}")).await.is(200)["data"].clone();
    assert_eq!((&ended["status"], &ended["endedBy"]), (&json!("released"), &Value::Null));
    assert_eq!(ended["lock"]["sessionId"], first.as_str());
    assert_eq!(ended["lock"]["queueLength"], 1);
    let late = site.send(&site.dev, Method::POST, &format!("/sessions/{held}/renew"), json!({})).await;
    assert_eq!(late.is(409)["code"], "session_released");
    site.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn who_asks_and_falls_silent_asks_for_nothing(pool: PgPool) {
    let site = Site::new(&pool).await;
    let held = site.claim(&site.dev, json!({})).await.session();
    ask(&site, &site.mate, &held, json!({ "graceSeconds": 600 })).await.is(202);
    site.age(121).await;
    site.sweep().await;
    let shown = site.get(&site.dev, &format!("/sessions/{held}")).await.is(200)["data"].clone();
    assert_eq!((&shown["handover"], &shown["lock"]["queueLength"]), (&Value::Null, &json!(0)));
    site.age(600).await;
    site.sweep().await;
    assert_eq!(site.get(&site.dev, &format!("/sessions/{held}")).await.is(200)["data"]["status"], "active");
    site.end().await;
}

/// The moment has come, and the holder lets go in the same moment: it ends once, and is granted once.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn due_while_the_holder_releases(pool: PgPool) {
    let site = Site::new(&pool).await;
    for round in 1..=5 {
        let held = site.claim(&site.dev, json!({})).await.session();
        let waiting = ask(&site, &site.mate, &held, json!({ "graceSeconds": 60 })).await.session();
        site.age(61).await;
        let path = format!("/sessions/{held}");
        let (released, _, accepted) = tokio::join!(
            site.delete(&site.dev, &path),
            site.sweep(),
            answer(&site, &site.dev, &held, "accept")
        );
        released.is(200);
        assert!(matches!(accepted.status, 200 | 409), "{}", accepted.json);
        let lock = site.get(&site.owner, "").await.is(200)["data"]["lock"].clone();
        assert_eq!((&lock["sessionId"], &lock["queueLength"]), (&json!(waiting), &json!(0)));
        assert_eq!(told(&pool, "session.granted").await, round);
        assert_eq!(told(&pool, "session.released").await, 2 * round - 1);
        site.delete(&site.mate, &format!("/sessions/{waiting}")).await.is(200);
    }
    site.end().await;
}

/// The definition's grace time is the default, and nobody asks for less.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn the_definition_has_a_grace_time(pool: PgPool) {
    let definition = crate::site::DEFINITION.replace("qa-1: {", "qa-1: { handover: { grace: 10m },");
    let site = Site::with(&pool, &definition).await;
    let held = site.claim(&site.dev, json!({})).await.session();
    let refused = ask(&site, &site.mate, &held, json!({ "graceSeconds": 599 })).await.is(422);
    assert_eq!(refused["errors"][0]["pointer"], "/graceSeconds");
    ask(&site, &site.mate, &held, json!({})).await.is(202);
    let asked = site.get(&site.dev, &format!("/sessions/{held}")).await.is(200)["data"]["handover"].clone();
    let at = |field: &str| asked[field].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    assert_eq!(at("dueAt").duration_since(at("requestedAt")).as_secs(), 600);
    site.end().await;
}
