//! What environments and pipelines say of their deployments: which was the last, and which is live.

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::environments::SHOP;
use crate::yard::Yard;

async fn read(yard: &Yard, path: &str) -> Value {
    let (status, shown) = yard.call(Method::GET, path, Value::Null).await;
    assert_eq!(status, 200, "{shown}");
    shown["data"].clone()
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_teardown_is_never_the_last_deployment_and_clears_what_is_live(pool: PgPool) {
    let yard = Yard::new(&pool, SHOP).await;
    let environment = format!("/pipelines/{}/ephemeral-environments/qa-1", yard.pipeline);
    assert_eq!(read(&yard, &environment).await["deployed"], Value::Null);
    let (session, first) = yard.claim("qa-1", &yard.owner, "sessions").await;
    assert!(yard.pass(&first, 0).await.ended);
    let ended = yard.deployment(&first).await["endedAt"].clone();
    let live = json!({ "deploymentId": first, "commitId": "0123abc", "at": ended });
    assert_eq!(read(&yard, &environment).await["deployed"], live);

    // One that fails changes nothing about what is live.
    let deploy = format!("{environment}/sessions/{session}/deploy");
    let (_, made) = yard.call(Method::POST, &deploy, json!({ "commitId": "4567def" })).await;
    let second = made["data"]["id"].as_str().unwrap();
    assert_eq!(made["data"]["purpose"], "session");
    assert!(yard.pass(second, 1).await.ended);
    let shown = read(&yard, &environment).await;
    assert_eq!((&shown["deployed"], &shown["lastDeployment"]["id"]), (&live, &json!(second)));

    yard.release("qa-1", &yard.owner, &session).await;
    let teardown = yard.teardown().await;
    assert!(yard.pass(&teardown, 0).await.ended);
    let shown = read(&yard, &environment).await;
    assert_eq!(shown["deployed"], Value::Null);
    assert_eq!(shown["lastDeployment"]["id"], second);
    assert_eq!(shown["lastDeployment"]["purpose"], "session");
    let listed = read(&yard, &format!("/pipelines/{}/ephemeral-environments", yard.pipeline)).await;
    assert_eq!(listed[0]["lastDeployment"]["id"], second);
    let last = read(&yard, &format!("/pipelines/{}", yard.pipeline)).await["lastDeployment"].clone();
    assert_eq!((&last["id"], &last["purpose"]), (&json!(second), &json!("session")));

    let purposes = |deployments: &Value| {
        let all = deployments.as_array().unwrap().iter();
        all.map(|one| one["purpose"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let shown = read(&yard, &format!("{environment}/sessions/{session}")).await;
    assert_eq!(purposes(&shown["deployments"]), ["teardown", "session", "session"]);
    let history = read(&yard, &format!("{environment}/history")).await;
    assert_eq!(purposes(&history[0]["deployments"]), ["teardown", "session", "session"]);
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_change_of_a_pipeline_answers_what_a_read_of_it_does(pool: PgPool) {
    let yard = Yard::new(&pool, SHOP).await;
    yard.start().await;
    let path = format!("/pipelines/{}", yard.pipeline);
    for (method, verb, body) in [
        (Method::PUT, "", json!({ "name": "Other" })),
        (Method::POST, "/stop", json!({})),
        (Method::POST, "/resume", json!({})),
    ] {
        let (status, changed) = yard.call(method.clone(), &format!("{path}{verb}"), body).await;
        assert_eq!(status, 200, "{changed}");
        assert_eq!(changed["data"], read(&yard, &path).await, "{method} {verb}");
        assert!(changed["data"]["lastDeployment"].is_object(), "{method} {verb}");
    }
    let (status, archived) = yard.call(Method::DELETE, &path, Value::Null).await;
    assert_eq!(
        (status, &archived["data"]["lastDeployment"]),
        (200, &read(&yard, &path).await["lastDeployment"])
    );
    yard.end().await;
}
