//! The branch of a claim or a deployment: conditions use it, and the checkouts of its jobs have to prove it.

use reqwest::Method;
use serde_json::{Value, json};

use crate::fixture::DeploymentFixture;
use crate::support::Caller;
use crate::support::database::TestDatabase;

const SHOP: &str = r#"
ephemeralEnvironments:
  qa-1: {}
stages:
  deploy: { if: branch == "main", steps: [{ image: a, run: "true" }] }
"#;

async fn post(fixture: &DeploymentFixture, by: &Caller, path: &str, body: Value) -> (u16, Value) {
    let path = format!("/organizations/acme/pipelines/{}/ephemeral-environments/{path}", fixture.pipeline);
    let (status, response) = fixture.server.json(Method::POST, &path, &by.token, Some(body)).await;
    (status.as_u16(), response)
}

async fn newest(fixture: &DeploymentFixture) -> Value {
    let path = format!("/pipelines/{}/deployments", fixture.pipeline);
    let (_, list) = fixture.call(Method::GET, &path, Value::Null).await;
    let id = list["data"][0]["id"].as_str().unwrap().to_owned();
    fixture.advance(&id).await;
    fixture.deployment(&id).await
}

#[tokio::test]
async fn a_claim_and_a_deploy_may_name_a_branch() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    sqlx::query("update pipelines set repository = 'https://git.test/shop'").execute(&pool).await.unwrap();
    let owner = fixture.owner.clone();
    for (body, pointer) in [
        (json!({ "branch": "main" }), "/branch"),
        (json!({ "commitId": "0123abc", "branch": "a b" }), "/branch"),
        (json!({ "commitId": "0123abc", "branch": "a\u{0}" }), "/branch"),
    ] {
        let (status, response) = post(&fixture, &owner, "qa-1/sessions", body).await;
        assert_eq!((status, response["errors"][0]["pointer"].as_str()), (422, Some(pointer)), "{response}");
    }
    let claim = json!({ "commitId": "0123abc", "branch": "main" });
    let (status, claimed) = post(&fixture, &owner, "qa-1/sessions", claim.clone()).await;
    assert_eq!(status, 201, "{claimed}");
    let record = newest(&fixture).await;
    assert_eq!((&record["branch"], &record["stages"][0]["status"]), (&json!("main"), &json!("queued")));

    // The commit of a waiting session is deployed when the session is granted.
    let mate = fixture.server.member(&fixture.owner, "acme", "developer").await;
    let mut queue = claim.clone();
    queue["queue"] = json!(true);
    let (status, queued) = post(&fixture, &mate, "qa-1/sessions", queue).await;
    assert_eq!(status, 202, "{queued}");
    let session = claimed["data"]["sessionId"].as_str().unwrap();
    let (status, deployed) = post(
        &fixture,
        &owner,
        &format!("qa-1/sessions/{session}/deploy"),
        json!({ "commitId": "0123abc", "branch": "feature" }),
    )
    .await;
    assert_eq!(status, 202, "{deployed}");
    let id = deployed["data"]["id"].as_str().unwrap();
    assert_eq!(fixture.deployment(id).await["branch"], "feature");
    fixture.release("qa-1", &owner, session).await;
    assert_eq!(newest(&fixture).await["branch"], "main");

    let (status, taken) = post(&fixture, &owner, "qa-1/force-claim", claim).await;
    assert_eq!(status, 201, "{taken}");
    assert_eq!(newest(&fixture).await["branch"], "main");
    fixture.end().await;
}
