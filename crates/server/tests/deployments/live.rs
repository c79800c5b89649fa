//! The last and the live deployment in the records of environments and pipelines.

use reqwest::Method;
use serde_json::{Value, json};

use crate::environments::SHOP;
use crate::fixture::DeploymentFixture;
use crate::support::database::TestDatabase;

async fn read(fixture: &DeploymentFixture, path: &str) -> Value {
    let (status, record) = fixture.call(Method::GET, path, Value::Null).await;
    assert_eq!(status, 200, "{record}");
    record["data"].clone()
}

#[tokio::test]
async fn a_teardown_is_never_the_last_deployment_and_clears_the_live_one() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let environment = format!("/pipelines/{}/ephemeral-environments/qa-1", fixture.pipeline);
    assert_eq!(read(&fixture, &environment).await["deployed"], Value::Null);
    let (session, first) = fixture.claim("qa-1", &fixture.owner, "sessions").await;
    assert!(fixture.run_next_job(&first, 0).await.ended);
    let ended = fixture.deployment(&first).await["endedAt"].clone();
    let live = json!({ "deploymentId": first, "commitId": "0123abc", "at": ended });
    assert_eq!(read(&fixture, &environment).await["deployed"], live);

    // A failed deployment does not change the live one.
    let deploy = format!("{environment}/sessions/{session}/deploy");
    let (_, made) = fixture.call(Method::POST, &deploy, json!({ "commitId": "4567def" })).await;
    let second = made["data"]["id"].as_str().unwrap();
    assert_eq!(made["data"]["purpose"], "session");
    assert!(fixture.run_next_job(second, 1).await.ended);
    let record = read(&fixture, &environment).await;
    assert_eq!((&record["deployed"], &record["lastDeployment"]["id"]), (&live, &json!(second)));

    fixture.release("qa-1", &fixture.owner, &session).await;
    let teardown = fixture.teardown().await;
    assert!(fixture.run_next_job(&teardown, 0).await.ended);
    let record = read(&fixture, &environment).await;
    assert_eq!(record["deployed"], Value::Null);
    assert_eq!(record["lastDeployment"]["id"], second);
    assert_eq!(record["lastDeployment"]["purpose"], "session");
    let list = read(&fixture, &format!("/pipelines/{}/ephemeral-environments", fixture.pipeline)).await;
    assert_eq!(list[0]["lastDeployment"]["id"], second);
    let last = read(&fixture, &format!("/pipelines/{}", fixture.pipeline)).await["lastDeployment"].clone();
    assert_eq!((&last["id"], &last["purpose"]), (&json!(second), &json!("session")));

    let purposes = |deployments: &Value| {
        let all = deployments.as_array().unwrap().iter();
        all.map(|one| one["purpose"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let record = read(&fixture, &format!("{environment}/sessions/{session}")).await;
    assert_eq!(purposes(&record["deployments"]), ["teardown", "session", "session"]);
    let history = read(&fixture, &format!("{environment}/history")).await;
    assert_eq!(purposes(&history[0]["deployments"]), ["teardown", "session", "session"]);
    fixture.end().await;
}

#[tokio::test]
async fn an_environment_shows_what_acts_on_it_and_since_when_it_is_free() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let environment = format!("/pipelines/{}/ephemeral-environments/qa-1", fixture.pipeline);
    let fresh = read(&fixture, &environment).await;
    assert_eq!((&fresh["freeSince"], &fresh["workSlot"]), (&Value::Null, &Value::Null), "never held");

    let (session, id) = fixture.claim("qa-1", &fixture.owner, "sessions").await;
    let held = read(&fixture, &environment).await;
    let slot = json!({ "deploymentId": id, "purpose": "session", "commitId": "0123abc" });
    assert_eq!((&held["freeSince"], &held["workSlot"]), (&Value::Null, &slot));
    assert!(fixture.run_next_job(&id, 0).await.ended);
    assert_eq!(read(&fixture, &environment).await["workSlot"], Value::Null);

    fixture.release("qa-1", &fixture.owner, &session).await;
    let ended = read(&fixture, &format!("{environment}/sessions/{session}")).await["endedAt"].clone();
    let teardown = fixture.teardown().await;
    let slot = json!({ "deploymentId": teardown, "purpose": "teardown", "commitId": "0123abc" });
    let free = read(&fixture, &environment).await;
    assert_eq!((&free["freeSince"], &free["workSlot"]), (&ended, &slot), "free, and being cleaned up");
    assert_eq!(read(&fixture, &environment).await, free, "two reads are equal");
    assert!(fixture.run_next_job(&teardown, 0).await.ended);
    let list = read(&fixture, &format!("/pipelines/{}/ephemeral-environments", fixture.pipeline)).await;
    assert_eq!((&list[0]["freeSince"], &list[0]["workSlot"]), (&ended, &Value::Null));

    // A version without the column grants and releases the lock.
    let sql = "update environments set used_at = clock_timestamp()";
    sqlx::query(sql).execute(&pool).await.unwrap();
    assert_eq!(read(&fixture, &environment).await["freeSince"], Value::Null, "not known");
    fixture.end().await;
}

#[tokio::test]
async fn changing_a_pipeline_returns_the_same_record_as_reading_it() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    fixture.start().await;
    let path = format!("/pipelines/{}", fixture.pipeline);
    for (method, verb, body) in [
        (Method::PUT, "", json!({ "name": "Other" })),
        (Method::POST, "/stop", json!({})),
        (Method::POST, "/resume", json!({})),
    ] {
        let (status, changed) = fixture.call(method.clone(), &format!("{path}{verb}"), body).await;
        assert_eq!(status, 200, "{changed}");
        assert_eq!(changed["data"], read(&fixture, &path).await, "{method} {verb}");
        assert!(changed["data"]["lastDeployment"].is_object(), "{method} {verb}");
    }
    let (status, archived) = fixture.call(Method::DELETE, &path, Value::Null).await;
    assert_eq!(
        (status, &archived["data"]["lastDeployment"]),
        (200, &read(&fixture, &path).await["lastDeployment"])
    );
    fixture.end().await;
}
