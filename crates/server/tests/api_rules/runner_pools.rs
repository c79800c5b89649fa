//! Runner pools: their network and their restrictions, which admins set.

use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::requests::{header, problem, success, wrong_field};
use crate::support::database::TestDatabase;
use crate::support::{Caller, TestServer};

async fn set(server: &TestServer, caller: &Caller, body: &Value) -> Response {
    server.request(caller, Method::PATCH, "/runner-pools/big").json(body).send().await.unwrap()
}

#[tokio::test]
async fn setting_the_network_of_a_pool_records_an_event() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    server.post(&owner, "/runners", json!({ "name": "one", "pool": "big" })).await;
    assert_eq!(server.get(&owner, "/runner-pools/big").await["data"]["network"], "bridge");

    let changed = set(&server, &owner, &json!({ "network": "none" })).await;
    assert_eq!(header(&changed, "etag"), "\"2.1-0-0\"");
    let changed = success(changed, 200).await;
    assert_eq!((&changed["data"]["network"], &changed["data"]["runners"]), (&json!("none"), &json!(1)));
    assert_eq!(server.get(&owner, "/runner-pools").await["data"][0], changed["data"]);
    // A request without a change records no event.
    for body in [json!({ "network": "none" }), json!({})] {
        let same = set(&server, &owner, &body).await;
        assert_eq!(header(&same, "etag"), "\"2.1-0-0\"", "{body}");
        success(same, 200).await;
    }
    let events: Vec<Value> = server
        .events(&pool, &owner)
        .await
        .into_iter()
        .filter(|event| event["type"] == "runner_pool.updated")
        .collect();
    assert_eq!(events.len(), 1, "{events:?}");
    let (category, subject, data) = (&events[0]["category"], &events[0]["subject"], &events[0]["data"]);
    assert_eq!((category, subject), (&json!("audit"), &json!("runner-pools/big")));
    let state = |network: &str| json!({ "network": network, "pipelines": null, "environments": null });
    assert_eq!((&data["before"], &data["after"]), (&state("bridge"), &state("none")));
    server.end().await;
}

#[tokio::test]
async fn a_pool_is_restricted_and_the_restriction_lifted() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    server.post(&owner, "/runners", json!({ "name": "one", "pool": "big" })).await;
    let definition = "stages: { build: { steps: [{ image: a, run: b }] } }";
    let made = server.post(&owner, "/pipelines", json!({ "name": "Shop", "definition": definition })).await;
    let shop = made["id"].as_str().unwrap().to_owned();
    let unknown = "pip_0190a0b0-0000-7000-8000-000000000001";
    for (body, pointer) in [
        (json!({ "pipelines": [] }), "/pipelines"),
        (json!({ "pipelines": ["shop"] }), "/pipelines/0"),
        (json!({ "pipelines": [unknown] }), "/pipelines"),
        (json!({ "environments": ["production"] }), "/environments"),
        (json!({ "pipelines": [shop], "environments": [] }), "/environments"),
        (json!({ "pipelines": [shop], "environments": ["Production"] }), "/environments"),
        (json!({ "pipelines": [shop], "environments": ["*"] }), "/environments"),
        (json!({ "pipelines": "all" }), "/pipelines"),
    ] {
        wrong_field(set(&server, &owner, &body).await, pointer).await;
    }
    let restriction = json!({ "pipelines": [shop], "environments": ["production", "pr-*"] });
    let changed = success(set(&server, &owner, &restriction).await, 200).await;
    let expected = json!(["pr-*", "production"]);
    assert_eq!(
        (&changed["data"]["pipelines"], &changed["data"]["environments"]),
        (&json!([shop]), &expected)
    );
    assert_eq!(server.get(&owner, "/runner-pools/big").await["data"], changed["data"]);
    // The pipeline has no environments yet.
    let warnings: Vec<_> =
        changed["warnings"].as_array().unwrap().iter().map(|warning| &warning["path"]).collect();
    assert_eq!(warnings, ["/environments", "/environments"], "{changed}");
    // Omitted fields are kept, and a restriction to environments needs one to pipelines.
    let changed = success(set(&server, &owner, &json!({ "network": "none" })).await, 200).await;
    assert_eq!(changed["data"]["environments"], expected);
    wrong_field(set(&server, &owner, &json!({ "pipelines": null })).await, "/environments").await;
    let lifted = json!({ "pipelines": null, "environments": null });
    let changed = success(set(&server, &owner, &lifted).await, 200).await;
    assert_eq!(changed["warnings"], json!([]));
    assert_eq!(
        (&changed["data"]["pipelines"], &changed["data"]["environments"]),
        (&Value::Null, &Value::Null)
    );
    let events: Vec<Value> = server
        .events(&pool, &owner)
        .await
        .into_iter()
        .filter(|event| event["type"] == "runner_pool.updated")
        .map(|event| event["data"]["after"].clone())
        .collect();
    assert_eq!(events.len(), 3, "{events:?}");
    assert!(events.contains(&json!({ "network": "bridge", "pipelines": [shop], "environments": expected })));

    // Only admins restrict pools.
    let maintainer = server.member(&owner, "acme", "maintainer").await;
    problem(set(&server, &maintainer, &restriction).await, 403, "forbidden").await;
    server.end().await;
}

#[tokio::test]
async fn unknown_networks_and_pools_are_refused() {
    let (_database, pool) = TestDatabase::create().await;
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

#[tokio::test]
async fn a_repeated_change_gets_the_first_response_and_a_stale_one_is_refused() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    server.post(&owner, "/runners", json!({ "name": "one", "pool": "big" })).await;
    let response = server.request(&owner, Method::GET, "/runner-pools/big").send().await.unwrap();
    let etag = header(&response, "etag");
    let change = async |network: &str, key: &str| {
        let request =
            server.request(&owner, Method::PATCH, "/runner-pools/big").json(&json!({ "network": network }));
        request.header("if-match", &etag).header("idempotency-key", key).send().await.unwrap()
    };
    let first = success(change("host", "one").await, 200).await;
    assert_eq!(success(change("host", "one").await, 200).await, first);
    problem(change("none", "two").await, 412, "precondition_failed").await;
    problem(change("none", "one").await, 422, "idempotency_key_reused").await;
    server.end().await;
}
