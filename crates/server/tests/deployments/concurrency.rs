//! A pipeline's `concurrency`: the oldest deployments begin first, and when places become free, as many
//! waiting deployments are woken.

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::fixture::DeploymentFixture;
use crate::support::database::TestDatabase;

fn definition(concurrency: &str) -> String {
    format!("{concurrency}\nstages: {{ a: {{ steps: [{{ image: a, run: 'true' }}] }} }}")
}

/// Returns the deployments that were woken since the last call, each once, oldest first.
async fn woken(pool: &PgPool) -> Vec<String> {
    let taken = "with taken as (delete from wakes returning deployment_id)
                 select distinct 'dep_' || deployment_id::text as id from taken order by id";
    sqlx::query_scalar(taken).fetch_all(pool).await.unwrap()
}

/// Starts this many deployments and discards the wake-ups of their starts.
async fn waiting(fixture: &DeploymentFixture, pool: &PgPool, number: usize) -> Vec<String> {
    let mut ids = Vec::new();
    for _ in 0..number {
        ids.push(fixture.start().await);
    }
    woken(pool).await;
    ids
}

async fn began(fixture: &DeploymentFixture, id: &str) -> bool {
    !fixture.advance(id).await.dispatch.is_empty()
}

#[tokio::test]
async fn the_oldest_begin_first_in_whatever_order_the_engine_advances_them() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, &definition("concurrency: 2")).await;
    let ids = waiting(&fixture, &pool, 4).await;
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
    let ids = waiting(&fixture, &pool, 5).await;
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
    let ids = waiting(&fixture, &pool, 5).await;
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
    let ids = waiting(&fixture, &pool, 4).await;
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
    let ids = waiting(&fixture, &pool, 3).await;
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
