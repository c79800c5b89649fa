//! What an admin or an operator ends without its runner.

use greenroom_server::give_up::{Common, EnvironmentName, GiveUpCommand, give_up};
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::environments::SHOP;
use crate::runs::DIAMOND;
use crate::yard::Yard;

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn an_admin_gives_up_a_job_and_the_deployment_goes_on_without_it(pool: PgPool) {
    let yard = Yard::new(&pool, DIAMOND).await;
    let id = yard.start().await;
    yard.pass(&id, 0).await;
    let job = yard.take(&yard.advance(&id).await).await;
    let path = format!("/deployments/{id}/stages/left/give-up");
    assert_eq!(yard.call(Method::POST, &path, json!({})).await.0, 422, "a reason is required");
    let (status, answer) = yard.call(Method::POST, &path, json!({ "reason": "its machine burned" })).await;
    assert_eq!(status, 202, "{answer}");
    assert_eq!(yard.stages(&id).await, ["succeeded", "canceled", "queued", "skipped"]);
    assert_eq!(yard.say(&job, "/heartbeat", json!({})).await.0, 410);
    let event = yard.event("deployment.stage.given_up").await;
    assert_eq!(event["data"]["reason"], "its machine burned", "{event}");
    assert_eq!(event["data"]["actor"]["id"], yard.owner.user.as_str());
    // What the runner says afterwards changes nothing.
    assert_eq!(yard.say(&job, "/complete", json!({})).await.0, 200);
    assert!(yard.pass(&id, 0).await.ended);
    let shown = yard.deployment(&id).await;
    assert_eq!((shown["status"].as_str(), shown["reason"].as_str()), (Some("canceled"), Some("given_up")));
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_deployment_that_is_given_up_frees_its_work_slot_at_once(pool: PgPool) {
    let yard = Yard::new(&pool, SHOP).await;
    let mate = yard.server.member(&yard.owner, "acme", "developer").await;
    let (_, old) = yard.claim("qa-1", &yard.owner, "sessions").await;
    let job = yard.take(&yard.advance(&old).await).await;
    let (_, new) = yard.claim("qa-1", &mate, "force-claim").await;
    let path = format!("/deployments/{old}/give-up");
    let (status, answer) = yard.call(Method::POST, &path, json!({ "reason": "stuck" })).await;
    assert_eq!((status, &answer["data"]["status"]), (202, &json!("canceled")), "{answer}");
    assert_eq!(answer["data"]["reason"], "given_up");
    // No engine was asked in between.
    assert_eq!(yard.advance(&new).await.dispatch.len(), 1);
    assert_eq!(yard.say(&job, "/heartbeat", json!({})).await.0, 410);
    yard.end().await;
}

fn common(reason: &str) -> Common {
    Common { organization: "acme".to_owned(), reason: reason.to_owned() }
}

fn qa_1(yard: &Yard) -> EnvironmentName {
    EnvironmentName { pipeline: yard.pipeline.clone(), environment: "qa-1".to_owned() }
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn an_operator_frees_a_slot_and_gives_up_a_teardown_and_a_job(pool: PgPool) {
    let yard = Yard::new(&pool, SHOP).await;
    let store = yard.server.server.app.store.clone();
    let (session, first) = yard.claim("qa-1", &yard.owner, "sessions").await;
    assert!(yard.pass(&first, 0).await.ended);
    yard.release("qa-1", &yard.owner, &session).await;
    let teardown = yard.teardown().await;
    let job = yard.take(&yard.advance(&teardown).await).await;

    let slot = GiveUpCommand::Slot { common: common("hangs"), environment: qa_1(&yard) };
    let done = give_up(&store, &slot).await.unwrap();
    assert_eq!(done["givenUp"]["deploymentId"], teardown.as_str(), "{done}");
    assert_eq!(yard.say(&job, "/heartbeat", json!({})).await.0, 410);
    let path = format!("/pipelines/{}/ephemeral-environments/qa-1", yard.pipeline);
    let (_, shown) = yard.call(Method::GET, &path, Value::Null).await;
    let failed = &shown["data"]["cleanupFailed"];
    assert_eq!((&failed["deploymentId"], &failed["reason"]), (&json!(teardown), &json!("given_up")));
    assert!(give_up(&store, &slot).await.is_err(), "the slot is free");

    let teardown = GiveUpCommand::Teardown { common: common("removed by hand"), environment: qa_1(&yard) };
    give_up(&store, &teardown).await.unwrap();
    let (_, shown) = yard.call(Method::GET, &path, Value::Null).await;
    assert_eq!(shown["data"]["cleanupFailed"], Value::Null);
    let event = yard.event("environment.cleanup_given_up").await;
    assert_eq!(
        (&event["data"]["actor"]["kind"], &event["data"]["reason"]),
        (&json!("operator"), &json!("removed by hand"))
    );

    let id = yard.start().await;
    let job = yard.take(&yard.advance(&id).await).await;
    let command =
        GiveUpCommand::Job { common: common("gone"), deployment: id.clone(), stage: "deploy".to_owned() };
    give_up(&store, &command).await.unwrap();
    assert_eq!(yard.say(&job, "/heartbeat", json!({})).await.0, 410);
    assert_eq!(yard.status(&id).await, "canceled");
    yard.end().await;
}
