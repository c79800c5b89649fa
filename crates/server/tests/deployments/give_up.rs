//! Giving up jobs, deployments and teardowns without their runner, by an admin or an operator.

use greenroom_server::give_up::{Common, EnvironmentName, GiveUpCommand, give_up};
use reqwest::Method;
use serde_json::{Value, json};

use crate::environments::SHOP;
use crate::fixture::DeploymentFixture;
use crate::runs::DIAMOND;
use crate::support::database::TestDatabase;

#[tokio::test]
async fn an_admin_gives_up_a_job_and_the_deployment_continues_without_it() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DIAMOND).await;
    let id = fixture.start().await;
    fixture.run_next_job(&id, 0).await;
    let job = fixture.take(&fixture.advance(&id).await).await;
    let path = format!("/deployments/{id}/stages/left/give-up");
    assert_eq!(fixture.call(Method::POST, &path, json!({})).await.0, 422, "a reason is required");
    let (status, response) =
        fixture.call(Method::POST, &path, json!({ "reason": "its machine burned" })).await;
    assert_eq!(status, 202, "{response}");
    assert_eq!(fixture.stages(&id).await, ["succeeded", "canceled", "queued", "skipped"]);
    assert_eq!(fixture.report(&job, "/heartbeat", json!({})).await.0, 410);
    let event = fixture.event("deployment.stage.given_up").await;
    assert_eq!(event["data"]["reason"], "its machine burned", "{event}");
    assert_eq!(event["data"]["actor"]["id"], fixture.owner.user.as_str());
    // Later reports of the runner change nothing.
    assert_eq!(fixture.report(&job, "/complete", json!({})).await.0, 200);
    assert!(fixture.run_next_job(&id, 0).await.ended);
    let record = fixture.deployment(&id).await;
    assert_eq!((record["status"].as_str(), record["reason"].as_str()), (Some("canceled"), Some("given_up")));
    fixture.end().await;
}

#[tokio::test]
async fn giving_up_a_deployment_frees_its_work_slot_immediately() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let mate = fixture.server.member(&fixture.owner, "acme", "developer").await;
    let (_, old) = fixture.claim("qa-1", &fixture.owner, "sessions").await;
    let job = fixture.take(&fixture.advance(&old).await).await;
    let (_, new) = fixture.claim("qa-1", &mate, "force-claim").await;
    let path = format!("/deployments/{old}/give-up");
    let (status, response) = fixture.call(Method::POST, &path, json!({ "reason": "stuck" })).await;
    assert_eq!((status, &response["data"]["status"]), (202, &json!("canceled")), "{response}");
    assert_eq!(response["data"]["reason"], "given_up");
    // The engine has not advanced it in between.
    assert_eq!(fixture.advance(&new).await.dispatch.len(), 1);
    assert_eq!(fixture.report(&job, "/heartbeat", json!({})).await.0, 410);
    fixture.end().await;
}

fn common(reason: &str) -> Common {
    Common { organization: "acme".to_owned(), reason: reason.to_owned() }
}

fn qa_1(fixture: &DeploymentFixture) -> EnvironmentName {
    EnvironmentName { pipeline: fixture.pipeline.clone(), environment: "qa-1".to_owned() }
}

#[tokio::test]
async fn an_operator_frees_a_slot_and_gives_up_a_teardown_and_a_job() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let store = fixture.server.server.app.store.clone();
    let (session, first) = fixture.claim("qa-1", &fixture.owner, "sessions").await;
    assert!(fixture.run_next_job(&first, 0).await.ended);
    fixture.release("qa-1", &fixture.owner, &session).await;
    let teardown = fixture.teardown().await;
    let job = fixture.take(&fixture.advance(&teardown).await).await;

    let slot = GiveUpCommand::Slot { common: common("hangs"), environment: qa_1(&fixture) };
    let done = give_up(&store, &slot).await.unwrap();
    assert_eq!(done["givenUp"]["deploymentId"], teardown.as_str(), "{done}");
    assert_eq!(fixture.report(&job, "/heartbeat", json!({})).await.0, 410);
    let path = format!("/pipelines/{}/ephemeral-environments/qa-1", fixture.pipeline);
    let (_, record) = fixture.call(Method::GET, &path, Value::Null).await;
    let failed = &record["data"]["cleanupFailed"];
    assert_eq!((&failed["deploymentId"], &failed["reason"]), (&json!(teardown), &json!("given_up")));
    assert!(give_up(&store, &slot).await.is_err(), "the slot is free");

    let teardown = GiveUpCommand::Teardown { common: common("removed by hand"), environment: qa_1(&fixture) };
    give_up(&store, &teardown).await.unwrap();
    let (_, record) = fixture.call(Method::GET, &path, Value::Null).await;
    assert_eq!(record["data"]["cleanupFailed"], Value::Null);
    let event = fixture.event("environment.cleanup_given_up").await;
    assert_eq!(
        (&event["data"]["actor"]["kind"], &event["data"]["reason"]),
        (&json!("operator"), &json!("removed by hand"))
    );

    let id = fixture.start().await;
    let job = fixture.take(&fixture.advance(&id).await).await;
    let command =
        GiveUpCommand::Job { common: common("gone"), deployment: id.clone(), stage: "deploy".to_owned() };
    give_up(&store, &command).await.unwrap();
    assert_eq!(fixture.report(&job, "/heartbeat", json!({})).await.0, 410);
    assert_eq!(fixture.status(&id).await, "canceled");
    fixture.end().await;
}
