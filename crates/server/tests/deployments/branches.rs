//! A branch that is named on a claim or a deploy: conditions use it, and the jobs have to prove it.

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::support::Caller;
use crate::yard::Yard;

const SHOP: &str = r#"
ephemeralEnvironments:
  qa-1: {}
stages:
  deploy: { if: branch == "main", steps: [{ image: a, run: "true" }] }
"#;

async fn post(yard: &Yard, by: &Caller, path: &str, body: Value) -> (u16, Value) {
    let path = format!("/organizations/acme/pipelines/{}/ephemeral-environments/{path}", yard.pipeline);
    let (status, answer) = yard.server.json(Method::POST, &path, &by.token, Some(body)).await;
    (status.as_u16(), answer)
}

async fn newest(yard: &Yard) -> Value {
    let path = format!("/pipelines/{}/deployments", yard.pipeline);
    let (_, listed) = yard.call(Method::GET, &path, Value::Null).await;
    let id = listed["data"][0]["id"].as_str().unwrap().to_owned();
    yard.advance(&id).await;
    yard.deployment(&id).await
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_claim_and_a_deploy_may_name_a_branch(pool: PgPool) {
    let yard = Yard::new(&pool, SHOP).await;
    sqlx::query("update pipelines set repository = 'https://git.test/shop'").execute(&pool).await.unwrap();
    let owner = yard.owner.clone();
    for (body, pointer) in [
        (json!({ "branch": "main" }), "/branch"),
        (json!({ "commitId": "0123abc", "branch": "a b" }), "/branch"),
        (json!({ "commitId": "0123abc", "branch": "a\u{0}" }), "/branch"),
    ] {
        let (status, answer) = post(&yard, &owner, "qa-1/sessions", body).await;
        assert_eq!((status, answer["errors"][0]["pointer"].as_str()), (422, Some(pointer)), "{answer}");
    }
    let claim = json!({ "commitId": "0123abc", "branch": "main" });
    let (status, claimed) = post(&yard, &owner, "qa-1/sessions", claim.clone()).await;
    assert_eq!(status, 201, "{claimed}");
    let shown = newest(&yard).await;
    assert_eq!((&shown["branch"], &shown["stages"][0]["status"]), (&json!("main"), &json!("queued")));

    // Another waits, and its commit is deployed when its turn has come.
    let mate = yard.server.member(&yard.owner, "acme", "developer").await;
    let mut queue = claim.clone();
    queue["queue"] = json!(true);
    let (status, queued) = post(&yard, &mate, "qa-1/sessions", queue).await;
    assert_eq!(status, 202, "{queued}");
    let session = claimed["data"]["sessionId"].as_str().unwrap();
    let (status, deployed) = post(
        &yard,
        &owner,
        &format!("qa-1/sessions/{session}/deploy"),
        json!({ "commitId": "0123abc", "branch": "feature" }),
    )
    .await;
    assert_eq!(status, 202, "{deployed}");
    let id = deployed["data"]["id"].as_str().unwrap();
    assert_eq!(yard.deployment(id).await["branch"], "feature");
    yard.release("qa-1", &owner, session).await;
    assert_eq!(newest(&yard).await["branch"], "main");

    let (status, taken) = post(&yard, &owner, "qa-1/force-claim", claim).await;
    assert_eq!(status, 201, "{taken}");
    assert_eq!(newest(&yard).await["branch"], "main");
    yard.end().await;
}
