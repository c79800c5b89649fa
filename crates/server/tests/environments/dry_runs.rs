//! `dryRun` on what ends a session or takes an environment over: it returns what would happen, and nothing happens.

use reqwest::Method;
use serde_json::json;

use crate::fixture::EnvironmentFixture;
use crate::support::database::TestDatabase;

#[tokio::test]
async fn a_dry_run_neither_releases_nor_takes_over() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let session = fixture.claim(&fixture.dev, json!({})).await.session();
    let waiting = fixture.claim(&fixture.mate, json!({ "queue": true })).await.session();
    let before = fixture.get(&fixture.dev, &format!("/sessions/{session}")).await.is(200);
    let events = events(&fixture).await;

    let would = fixture.delete(&fixture.dev, &format!("/sessions/{session}?dryRun=true")).await.is(200);
    assert_eq!((&would["data"]["status"], &would["data"]["holding"]), (&json!("released"), &json!(false)));
    assert_eq!(would["data"]["lock"]["sessionId"], waiting, "the next in the queue would get it");

    let force = "/force-claim?dryRun=true";
    let would = fixture.send(&fixture.owner, Method::POST, force, json!({})).await.is(200);
    assert_eq!(would["data"]["displaced"]["sessionId"], session);
    assert_eq!(would["data"]["holding"], true);

    let after = fixture.get(&fixture.dev, &format!("/sessions/{session}")).await.is(200);
    for field in ["status", "holding", "fence", "expiresAt"] {
        assert_eq!(after["data"][field], before["data"][field], "{field}");
    }
    assert_eq!(self::events(&fixture).await, events, "no event was recorded");
    // Rights are those of the request itself.
    let refused = fixture.delete(&fixture.mate, &format!("/sessions/{session}?dryRun=true")).await;
    assert_eq!(refused.is(403)["code"], "forbidden");
    fixture.end().await;
}

async fn events(fixture: &EnvironmentFixture) -> i64 {
    let sql = "select (select count(*) from events) + (select count(*) from event_intake)";
    sqlx::query_scalar(sql).fetch_one(&fixture.pool).await.unwrap()
}
