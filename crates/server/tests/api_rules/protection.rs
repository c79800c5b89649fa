//! A change that weakens the protection of environments needs an admin, and every member can read that it was
//! made.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::database::TestDatabase;
use crate::support::{Caller, TestServer};

const PROTECTED: &str = "
environments: { production: { branches: [main], approval: { roles: [admin] } } }
stages:
  ship: { environment: production, steps: [{ image: a, run: b }] }
";

async fn put(server: &TestServer, caller: &Caller, body: Value) -> (u16, Value) {
    let path = "/organizations/acme/pipelines/shop";
    let (status, response) = server.json(Method::PUT, path, &caller.token, Some(body)).await;
    (status.as_u16(), response)
}

fn pointers(places: &Value) -> Vec<&str> {
    places.as_array().unwrap().iter().map(|place| place["pointer"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_weaker_definition_needs_an_admin() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let maintainer = server.member(&owner, "acme", "maintainer").await;
    let admin = server.member(&owner, "acme", "admin").await;
    let viewer = server.member(&owner, "acme", "viewer").await;
    let new = json!({ "name": "Shop", "slug": "shop", "repository": "https://git.test/acme/shop", "definition": PROTECTED });
    let path = "/organizations/acme/pipelines";
    assert_eq!(server.json(Method::POST, path, &maintainer.token, Some(new)).await.0, 201);

    let weaker = PROTECTED.replace("[main]", "[main, next]").replace(", approval: { roles: [admin] }", "");
    let body = json!({ "definition": weaker, "repository": null });
    let (status, refused) = put(&server, &maintainer, body.clone()).await;
    assert_eq!((status, refused["code"].as_str()), (403, Some("protection_weakened")), "{refused}");
    let expected =
        ["/environments/production/branches/1", "/environments/production/approval", "/repository"];
    assert_eq!(pointers(&refused["errors"]), expected);
    assert_eq!((&refused["requiredRole"], &refused["role"]), (&json!("admin"), &json!("maintainer")));
    let shop = format!("{path}/shop");
    let (_, record) = server.json(Method::GET, &shop, &viewer.token, None).await;
    assert_eq!(record["data"]["definitionVersion"], 1, "nothing was saved");

    // As strong as before, or stronger.
    let stronger = json!({ "definition": PROTECTED.replace("[admin]", "[admin], count: 2") });
    assert_eq!(put(&server, &maintainer, stronger).await.0, 200);
    let same = json!({ "repository": "git@git.test:acme/shop.git", "name": "The shop" });
    assert_eq!(put(&server, &maintainer, same).await.0, 200);
    let events = server.events(&pool, &viewer).await;
    assert!(events.iter().all(|event| event["type"] != "pipeline.protection_weakened"), "{events:?}");

    let (status, saved) = put(&server, &admin, body).await;
    assert_eq!((status, &saved["data"]["definitionVersion"]), (200, &json!(3)), "{saved}");
    let events = server.events(&pool, &viewer).await;
    let weakened = events.iter().find(|event| event["type"] == "pipeline.protection_weakened").unwrap();
    assert_eq!(pointers(&weakened["data"]["after"]["weakened"]), expected);
    server.server.stop(std::time::Duration::ZERO).await;
}
