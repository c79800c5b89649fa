//! A pipeline's `concurrency`: the oldest deployments begin first, and when places become free, as many
//! waiting deployments are woken.

use reqwest::Method;
use serde_json::{Value, json};

use crate::fixture::{DeploymentFixture, started, woken};
use crate::support::database::TestDatabase;
use crate::support::in_hours;

fn definition(concurrency: &str) -> String {
    format!("{concurrency}\nstages: {{ a: {{ steps: [{{ image: a, run: 'true' }}] }} }}")
}

async fn began(fixture: &DeploymentFixture, id: &str) -> bool {
    !fixture.advance(id).await.dispatch.is_empty()
}

#[tokio::test]
async fn the_oldest_begin_first_in_whatever_order_the_engine_advances_them() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, &definition("concurrency: 2")).await;
    let ids = started(&fixture, &pool, 4).await;
    assert!(!began(&fixture, &ids[3]).await && !began(&fixture, &ids[2]).await);
    assert_eq!(fixture.deployment(&ids[2]).await["waitingOn"], json!([{ "kind": "concurrency" }]));
    assert_eq!(fixture.deployment(&ids[1]).await["waitingOn"], json!([{ "kind": "engine" }]));
    assert!(began(&fixture, &ids[1]).await && began(&fixture, &ids[0]).await);
    assert!(!began(&fixture, &ids[2]).await);
    fixture.end().await;
}

#[tokio::test]
async fn two_concurrent_ends_wake_two_waiting_deployments() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, &definition("concurrency: 2")).await;
    let ids = started(&fixture, &pool, 5).await;
    let (first, second) = (fixture.advance(&ids[0]).await, fixture.advance(&ids[1]).await);
    fixture.run_job(&fixture.take(&first).await, 0).await;
    fixture.run_job(&fixture.take(&second).await, 0).await;
    woken(&pool).await;
    let (first, second) = tokio::join!(fixture.advance(&ids[0]), fixture.advance(&ids[1]));
    assert!(first.ended && second.ended && (first.has_wake_ups || second.has_wake_ups));
    assert_eq!(woken(&pool).await, ids[2..4]);
    for id in &ids[2..4] {
        assert!(began(&fixture, id).await);
    }
    assert!(!began(&fixture, &ids[4]).await);
    fixture.end().await;
}

#[tokio::test]
async fn raising_the_limit_wakes_as_many_as_there_is_room_for() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, &definition("concurrency: 1")).await;
    let ids = started(&fixture, &pool, 5).await;
    assert!(began(&fixture, &ids[0]).await);
    let edit = json!({ "definition": definition("concurrency: 3") });
    assert_eq!(fixture.call(Method::PUT, "/pipelines/shop", edit).await.0, 200);
    assert_eq!(woken(&pool).await, ids[1..3]);
    assert!(
        began(&fixture, &ids[1]).await && began(&fixture, &ids[2]).await && !began(&fixture, &ids[3]).await
    );
    let edit = json!({ "definition": definition("concurrency: 2") });
    assert_eq!(fixture.call(Method::PUT, "/pipelines/shop", edit).await.0, 200);
    assert_eq!(woken(&pool).await, [""; 0]);
    let edit = json!({ "definition": definition("") });
    assert_eq!(fixture.call(Method::PUT, "/pipelines/shop", edit).await.0, 200);
    assert_eq!(woken(&pool).await, ids[3..]);
    assert!(began(&fixture, &ids[3]).await && began(&fixture, &ids[4]).await);
    fixture.end().await;
}

#[tokio::test]
async fn a_resume_wakes_paused_and_waiting_deployments() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, &definition("concurrency: 2")).await;
    let ids = started(&fixture, &pool, 4).await;
    assert!(began(&fixture, &ids[0]).await);
    assert_eq!(fixture.call(Method::POST, "/pipelines/shop/stop", json!({ "mode": "pause" })).await.0, 200);
    woken(&pool).await;
    assert_eq!(fixture.call(Method::POST, "/pipelines/shop/resume", Value::Null).await.0, 200);
    assert_eq!(woken(&pool).await, ids[..2]);
    fixture.end().await;
}

#[tokio::test]
async fn canceling_the_next_deployment_wakes_the_one_behind_it() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, &definition("concurrency: 1")).await;
    let ids = started(&fixture, &pool, 3).await;
    // The engine advances the second before the first, which is then canceled.
    assert!(!began(&fixture, &ids[1]).await);
    assert_eq!(
        fixture.call(Method::POST, &format!("/deployments/{}/cancel", ids[0]), json!({})).await.0,
        202
    );
    assert_eq!(woken(&pool).await, ids[1..2]);
    assert!(began(&fixture, &ids[1]).await);
    fixture.end().await;
}

#[tokio::test]
async fn the_end_of_a_session_wakes_the_deployment_behind_its_own() {
    let (_database, pool) = TestDatabase::create().await;
    let ephemeral = "concurrency: 1\nephemeralEnvironments: { qa-1: {}, qa-2: {} }";
    let fixture = DeploymentFixture::new(&pool, &definition(ephemeral)).await;
    let owner = fixture.owner.clone();
    let (session, first) = fixture.claim("qa-1", &owner, "sessions").await;
    let (_, second) = fixture.claim("qa-2", &owner, "sessions").await;
    assert!(!began(&fixture, &second).await);
    woken(&pool).await;
    fixture.release("qa-1", &owner, &session).await;
    assert_eq!(fixture.status(&first).await, "canceled");
    assert_eq!(woken(&pool).await, [second.as_str()]);
    assert!(began(&fixture, &second).await);
    fixture.end().await;
}

#[tokio::test]
async fn sessions_and_deployments_of_the_whole_pipeline_do_not_count_against_each_other() {
    let (_database, pool) = TestDatabase::create().await;
    let ephemeral = "concurrency: 1\nephemeralEnvironments: { qa-1: {}, qa-2: {} }";
    let fixture = DeploymentFixture::new(&pool, &definition(ephemeral)).await;
    let owner = fixture.owner.clone();
    let (_, session) = fixture.claim("qa-1", &owner, "sessions").await;
    assert!(began(&fixture, &session).await);
    let whole = started(&fixture, &pool, 2).await;
    assert_eq!(fixture.deployment(&whole[0]).await["waitingOn"], json!([{ "kind": "engine" }]));
    fixture.server.server.app.store.scan_engine_waits(None, 100).await.unwrap();
    let waits = "select 'dep_' || deployment_id::text from engine_waits";
    let waits: Vec<String> = sqlx::query_scalar(waits).fetch_all(&pool).await.unwrap();
    assert_eq!(waits, whole[..1], "the watchdog counts them separately too");
    assert!(began(&fixture, &whole[0]).await, "a session does not count");
    assert!(!began(&fixture, &whole[1]).await, "one of the pipeline does");
    let (_, second) = fixture.claim("qa-2", &owner, "sessions").await;
    assert!(!began(&fixture, &second).await, "another session does");
    assert_eq!(fixture.deployment(&second).await["waitingOn"], json!([{ "kind": "concurrency" }]));
    woken(&pool).await;
    assert!(fixture.run_next_job(&whole[0], 0).await.ended);
    let woken = woken(&pool).await;
    assert!(woken.contains(&whole[1]) && !woken.contains(&second), "{woken:?}");
    assert!(began(&fixture, &whole[1]).await);
    fixture.end().await;
}

#[tokio::test]
async fn a_deployment_that_only_waits_does_not_count_and_is_checked_again_when_it_goes_on() {
    let (_database, pool) = TestDatabase::create().await;
    let release = "concurrency: 1
environments: { production: {} }
stages:
  build: { steps: [{ image: a, run: b }] }
  release: { needs: [build], environment: production, steps: [{ image: a, run: b }] }
";
    let fixture = DeploymentFixture::new(&pool, release).await;
    let holder = fixture.server.member(&fixture.owner, "acme", "maintainer").await;
    let hold = "/organizations/acme/pipelines/shop/environments/production/hold";
    let reason = json!({ "reason": "incident", "until": in_hours(1) });
    assert_eq!(fixture.server.json(Method::POST, hold, &holder.token, Some(reason)).await.0, 200);
    let ids = started(&fixture, &pool, 3).await;
    fixture.run_next_job(&ids[0], 0).await;
    assert_eq!(fixture.status(&ids[0]).await, "waiting");
    assert_eq!(woken(&pool).await, ids[..2], "its wait makes room");
    let build = fixture.advance(&ids[1]).await;
    assert_eq!(build.dispatch.len(), 1);
    assert!(!began(&fixture, &ids[2]).await);
    // The hold ends while the second one runs.
    assert_eq!(fixture.server.json(Method::DELETE, hold, &holder.token, None).await.0, 200);
    assert_eq!(woken(&pool).await, ids[..1]);
    assert!(!began(&fixture, &ids[0]).await);
    assert_eq!(fixture.deployment(&ids[0]).await["waitingOn"], json!([{ "kind": "concurrency" }]));
    fixture.server.server.app.store.scan_engine_waits(None, 100).await.unwrap();
    let waits: i64 = sqlx::query_scalar("select count(*) from engine_waits").fetch_one(&pool).await.unwrap();
    assert_eq!(waits, 0);
    fixture.run_job(&fixture.take(&build).await, 1).await;
    woken(&pool).await;
    assert!(fixture.advance(&ids[1]).await.ended);
    assert_eq!(woken(&pool).await, ids[..1], "the oldest is next");
    assert_eq!(fixture.deployment(&ids[2]).await["waitingOn"], json!([{ "kind": "concurrency" }]));
    assert!(!began(&fixture, &ids[2]).await);
    fixture.server.server.app.store.scan_engine_waits(None, 100).await.unwrap();
    let waits: Vec<String> = sqlx::query_scalar("select 'dep_' || deployment_id::text from engine_waits")
        .fetch_all(&pool)
        .await
        .unwrap();
    assert_eq!(waits, ids[..1], "the watchdog knows the order too");
    assert!(fixture.run_next_job(&ids[0], 0).await.ended);
    assert_eq!(fixture.status(&ids[0]).await, "succeeded");
    fixture.end().await;
}
