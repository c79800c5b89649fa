//! A pipeline's `concurrency`: the oldest begin first, and whatever makes room wakes as many as there is room for.

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::yard::Yard;

fn definition(concurrency: &str) -> String {
    format!("{concurrency}\nstages: {{ a: {{ steps: [{{ image: a, run: 'true' }}] }} }}")
}

/// The deployments that were woken since the last call, each once, oldest first.
async fn woken(pool: &PgPool) -> Vec<String> {
    let taken = "with taken as (delete from wakes returning deployment_id)
                 select distinct 'dep_' || deployment_id::text as id from taken order by id";
    sqlx::query_scalar(taken).fetch_all(pool).await.unwrap()
}

/// Starts so many, and forgets that starting each has woken it.
async fn waiting(yard: &Yard, pool: &PgPool, number: usize) -> Vec<String> {
    let mut ids = Vec::new();
    for _ in 0..number {
        ids.push(yard.start().await);
    }
    woken(pool).await;
    ids
}

async fn began(yard: &Yard, id: &str) -> bool {
    !yard.advance(id).await.dispatch.is_empty()
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn the_oldest_begin_first_in_whatever_order_the_engine_looks(pool: PgPool) {
    let yard = Yard::new(&pool, &definition("concurrency: 2")).await;
    let ids = waiting(&yard, &pool, 4).await;
    assert!(!began(&yard, &ids[3]).await && !began(&yard, &ids[2]).await);
    assert_eq!(yard.deployment(&ids[2]).await["waitingOn"], json!([{ "kind": "concurrency" }]));
    assert_eq!(yard.deployment(&ids[1]).await["waitingOn"], json!([{ "kind": "engine" }]));
    assert!(began(&yard, &ids[1]).await && began(&yard, &ids[0]).await);
    assert!(!began(&yard, &ids[2]).await);
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn two_ends_leave_no_free_place(pool: PgPool) {
    let yard = Yard::new(&pool, &definition("concurrency: 2")).await;
    let ids = waiting(&yard, &pool, 5).await;
    let (first, second) = (yard.advance(&ids[0]).await, yard.advance(&ids[1]).await);
    yard.carry_out(&yard.take(&first).await, 0).await;
    yard.carry_out(&yard.take(&second).await, 0).await;
    woken(&pool).await;
    let (first, second) = tokio::join!(yard.advance(&ids[0]), yard.advance(&ids[1]));
    assert!(first.ended && second.ended && (first.woke || second.woke));
    assert_eq!(woken(&pool).await, ids[2..4]);
    for id in &ids[2..4] {
        assert!(began(&yard, id).await);
    }
    assert!(!began(&yard, &ids[4]).await);
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn an_edit_that_raises_it_wakes_as_many_as_there_is_room_for(pool: PgPool) {
    let yard = Yard::new(&pool, &definition("concurrency: 1")).await;
    let ids = waiting(&yard, &pool, 5).await;
    assert!(began(&yard, &ids[0]).await);
    let edit = json!({ "definition": definition("concurrency: 3") });
    assert_eq!(yard.call(Method::PUT, "/pipelines/shop", edit).await.0, 200);
    assert_eq!(woken(&pool).await, ids[1..3]);
    assert!(began(&yard, &ids[1]).await && began(&yard, &ids[2]).await && !began(&yard, &ids[3]).await);
    let edit = json!({ "definition": definition("concurrency: 2") });
    assert_eq!(yard.call(Method::PUT, "/pipelines/shop", edit).await.0, 200);
    assert_eq!(woken(&pool).await, [""; 0]);
    let edit = json!({ "definition": definition("") });
    assert_eq!(yard.call(Method::PUT, "/pipelines/shop", edit).await.0, 200);
    assert_eq!(woken(&pool).await, ids[3..]);
    assert!(began(&yard, &ids[3]).await && began(&yard, &ids[4]).await);
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_resume_wakes_what_was_held_and_as_many_as_there_is_room_for(pool: PgPool) {
    let yard = Yard::new(&pool, &definition("concurrency: 2")).await;
    let ids = waiting(&yard, &pool, 4).await;
    assert!(began(&yard, &ids[0]).await);
    assert_eq!(yard.call(Method::POST, "/pipelines/shop/stop", json!({ "mode": "pause" })).await.0, 200);
    woken(&pool).await;
    assert_eq!(yard.call(Method::POST, "/pipelines/shop/resume", Value::Null).await.0, 200);
    assert_eq!(woken(&pool).await, ids[..2]);
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn the_cancellation_of_one_that_was_next_wakes_the_one_behind_it(pool: PgPool) {
    let yard = Yard::new(&pool, &definition("concurrency: 1")).await;
    let ids = waiting(&yard, &pool, 3).await;
    // The engine looks at the second before it looks at the first, which is then canceled.
    assert!(!began(&yard, &ids[1]).await);
    assert_eq!(yard.call(Method::POST, &format!("/deployments/{}/cancel", ids[0]), json!({})).await.0, 202);
    assert_eq!(woken(&pool).await, ids[1..2]);
    assert!(began(&yard, &ids[1]).await);
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn the_end_of_a_session_whose_deployment_was_next_wakes_the_one_behind_it(pool: PgPool) {
    let ephemeral = "concurrency: 1\nephemeralEnvironments: { qa-1: {}, qa-2: {} }";
    let yard = Yard::new(&pool, &definition(ephemeral)).await;
    let owner = yard.owner.clone();
    let (session, first) = yard.claim("qa-1", &owner, "sessions").await;
    let (_, second) = yard.claim("qa-2", &owner, "sessions").await;
    assert!(!began(&yard, &second).await);
    woken(&pool).await;
    yard.release("qa-1", &owner, &session).await;
    assert_eq!(yard.status(&first).await, "canceled");
    assert_eq!(woken(&pool).await, [second.as_str()]);
    assert!(began(&yard, &second).await);
    yard.end().await;
}
