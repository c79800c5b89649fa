//! A pool's network, as an admin sets it.

use reqwest::{Method, Response};
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::ask::{good, header, problem, wrong_field};
use crate::support::{Caller, TestServer};

async fn set(server: &TestServer, caller: &Caller, body: &Value) -> Response {
    server.ask(caller, Method::PATCH, "/runner-pools/big").json(body).send().await.unwrap()
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_pools_network_is_set_and_told(pool: PgPool) {
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    server.post(&owner, "/runners", json!({ "name": "one", "pool": "big" })).await;
    assert_eq!(server.get(&owner, "/runner-pools/big").await["data"]["network"], "bridge");

    let changed = set(&server, &owner, &json!({ "network": "none" })).await;
    assert_eq!(header(&changed, "etag"), "\"2.1-0-0\"");
    let changed = good(changed, 200).await;
    assert_eq!((&changed["data"]["network"], &changed["data"]["runners"]), (&json!("none"), &json!(1)));
    assert_eq!(server.get(&owner, "/runner-pools").await["data"][0], changed["data"]);
    // What changes nothing tells nothing.
    for body in [json!({ "network": "none" }), json!({})] {
        let same = set(&server, &owner, &body).await;
        assert_eq!(header(&same, "etag"), "\"2.1-0-0\"", "{body}");
        good(same, 200).await;
    }
    let told: Vec<Value> = server
        .events(&pool, &owner)
        .await
        .into_iter()
        .filter(|event| event["type"] == "runner_pool.updated")
        .collect();
    assert_eq!(told.len(), 1, "{told:?}");
    let (category, subject, data) = (&told[0]["category"], &told[0]["subject"], &told[0]["data"]);
    assert_eq!((category, subject), (&json!("audit"), &json!("runner-pools/big")));
    assert_eq!(data["before"], json!({ "network": "bridge" }));
    assert_eq!(data["after"], json!({ "network": "none" }));
    server.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn what_is_no_network_or_no_pool_is_refused(pool: PgPool) {
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    problem(set(&server, &owner, &json!({ "network": "none" })).await, 404, "not_found").await;
    server.post(&owner, "/runners", json!({ "name": "one", "pool": "big" })).await;
    for (body, pointer) in [
        (json!({ "network": "None" }), "/network"),
        (json!({ "network": "internet" }), "/network"),
        (json!({ "name": "small" }), "/name"),
    ] {
        wrong_field(set(&server, &owner, &body).await, pointer).await;
    }
    assert_eq!(server.get(&owner, "/runner-pools/big").await["data"]["network"], "bridge");
    server.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_repeated_change_is_answered_as_before_and_a_late_one_refused(pool: PgPool) {
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    server.post(&owner, "/runners", json!({ "name": "one", "pool": "big" })).await;
    let seen = server.ask(&owner, Method::GET, "/runner-pools/big").send().await.unwrap();
    let etag = header(&seen, "etag");
    let change = async |network: &str, key: &str| {
        let request =
            server.ask(&owner, Method::PATCH, "/runner-pools/big").json(&json!({ "network": network }));
        request.header("if-match", &etag).header("idempotency-key", key).send().await.unwrap()
    };
    let first = good(change("host", "one").await, 200).await;
    assert_eq!(good(change("host", "one").await, 200).await, first);
    problem(change("none", "two").await, 412, "precondition_failed").await;
    problem(change("none", "one").await, 422, "idempotency_key_reused").await;
    server.end().await;
}
