//! Who may cancel and retry a deployment: the holder of its session, a maintainer whose token may force, and
//! for a deployment of the whole pipeline every developer.

use reqwest::Method;
use serde_json::{Value, json};

use crate::environments::SHOP;
use crate::fixture::DeploymentFixture;
use crate::support::Caller;
use crate::support::database::TestDatabase;

/// A deployment in the session of a holder, with the paths that change it.
struct SessionDeployment {
    holder: Caller,
    deployment: String,
}

impl SessionDeployment {
    async fn running(fixture: &DeploymentFixture) -> Self {
        let holder = fixture.server.member(&fixture.owner, "acme", "developer").await;
        let (_, deployment) = fixture.claim("qa-1", &holder, "sessions").await;
        let job = fixture.take(&fixture.advance(&deployment).await).await;
        let start = format!("/steps/{}/start", job.steps[0]);
        assert_eq!(fixture.report(&job, &start, json!({})).await.0, 200);
        Self { holder, deployment }
    }

    async fn failed(fixture: &DeploymentFixture) -> Self {
        let holder = fixture.server.member(&fixture.owner, "acme", "developer").await;
        let (_, deployment) = fixture.claim("qa-1", &holder, "sessions").await;
        assert!(fixture.run_next_job(&deployment, 1).await.ended);
        Self { holder, deployment }
    }

    fn cancel(&self) -> String {
        format!("/deployments/{}/cancel", self.deployment)
    }

    fn stage(&self, verb: &str) -> String {
        format!("/deployments/{}/stages/deploy/{verb}", self.deployment)
    }
}

async fn post(fixture: &DeploymentFixture, by: &str, path: &str) -> (u16, Value) {
    let path = format!("/organizations/acme{path}");
    let (status, response) = fixture.server.json(Method::POST, &path, by, Some(json!({}))).await;
    (status.as_u16(), response)
}

/// Creates a token of this caller that may not force.
async fn without_force(fixture: &DeploymentFixture, caller: &Caller) -> String {
    let body = json!({ "name": "no force", "allowForce": false });
    let path = "/organizations/acme/api-tokens";
    let (status, made) = fixture.server.json(Method::POST, path, &caller.token, Some(body)).await;
    assert_eq!(status, 201, "{made}");
    made["data"]["token"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn other_developers_cannot_cancel_or_retry_the_deployment_of_a_session() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let other = fixture.server.member(&fixture.owner, "acme", "developer").await;
    let running = SessionDeployment::running(&fixture).await;
    for path in [running.cancel(), running.stage("cancel"), running.stage("retry")] {
        let (status, response) = post(&fixture, &other.token, &path).await;
        assert_eq!((status, response["code"].as_str()), (403, Some("forbidden")), "{path} {response}");
        assert_eq!(response["requiredRole"], "maintainer", "{response}");
        assert_eq!(response["holder"]["id"].as_str(), Some(running.holder.user.as_str()), "{response}");
        assert!(response["detail"].as_str().unwrap().contains("holder"), "{response}");
    }
    let record = fixture.deployment(&running.deployment).await;
    assert_eq!((record["status"].as_str(), &record["canceledBy"]), (Some("running"), &Value::Null));
    fixture.end().await;
}

#[tokio::test]
async fn other_developers_cannot_retry_a_failed_stage_of_a_session() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let other = fixture.server.member(&fixture.owner, "acme", "developer").await;
    let failed = SessionDeployment::failed(&fixture).await;
    let (status, response) = post(&fixture, &other.token, &failed.stage("retry")).await;
    assert_eq!((status, response["code"].as_str()), (403, Some("forbidden")), "{response}");
    assert_eq!(fixture.status(&failed.deployment).await, "failed");

    let (status, response) = post(&fixture, &failed.holder.token, &failed.stage("retry")).await;
    assert_eq!(status, 202, "{response}");
    let person =
        json!({ "id": failed.holder.user, "name": response["data"]["retriedBy"]["name"], "kind": "user" });
    assert_eq!(response["data"]["retriedBy"], person);
    let record = fixture.deployment(&failed.deployment).await;
    assert_eq!((&record["retriedBy"], &record["stages"][0]["retriedBy"]), (&person, &person));
    fixture.end().await;
}

#[tokio::test]
async fn the_holder_cancels_and_the_record_names_the_holder() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let running = SessionDeployment::running(&fixture).await;
    let (status, response) = post(&fixture, &running.holder.token, &running.cancel()).await;
    assert_eq!(status, 202, "{response}");
    let canceled_by = &fixture.deployment(&running.deployment).await["canceledBy"];
    assert_eq!((&canceled_by["id"], &canceled_by["kind"]), (&json!(running.holder.user), &json!("user")));
    // A second cancel by another user does not change `canceledBy`.
    assert_eq!(post(&fixture, &fixture.owner.token, &running.cancel()).await.0, 202);
    assert_eq!(&fixture.deployment(&running.deployment).await["canceledBy"], canceled_by);
    fixture.end().await;
}

#[tokio::test]
async fn a_maintainer_cancels_in_others_sessions_only_with_a_token_that_may_force() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let maintainer = fixture.server.member(&fixture.owner, "acme", "maintainer").await;
    let running = SessionDeployment::running(&fixture).await;
    let weak = without_force(&fixture, &maintainer).await;
    let (status, response) = post(&fixture, &weak, &running.cancel()).await;
    assert_eq!((status, response["code"].as_str()), (403, Some("forbidden")), "{response}");
    assert!(response["detail"].as_str().unwrap().contains("allowForce"), "{response}");
    let (status, response) = post(&fixture, &maintainer.token, &running.stage("cancel")).await;
    assert_eq!(status, 202, "{response}");
    let record = fixture.deployment(&running.deployment).await;
    assert_eq!(record["stages"][0]["canceledBy"]["id"].as_str(), Some(maintainer.user.as_str()), "{record}");
    assert_eq!(record["canceledBy"], Value::Null, "one stage was canceled, not the deployment");
    assert_eq!(post(&fixture, &maintainer.token, &running.cancel()).await.0, 202);
    let record = fixture.deployment(&running.deployment).await;
    assert_eq!(record["canceledBy"]["id"].as_str(), Some(maintainer.user.as_str()));
    fixture.end().await;
}

#[tokio::test]
async fn the_holder_may_cancel_with_a_token_that_may_not_force() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let running = SessionDeployment::running(&fixture).await;
    let weak = without_force(&fixture, &running.holder).await;
    assert_eq!(post(&fixture, &weak, &running.cancel()).await.0, 202);
    fixture.end().await;
}

#[tokio::test]
async fn every_developer_cancels_and_retries_deployments_of_the_whole_pipeline() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let other = fixture.server.member(&fixture.owner, "acme", "developer").await;
    let id = fixture.start().await;
    fixture.advance(&id).await;
    assert_eq!(post(&fixture, &other.token, &format!("/deployments/{id}/cancel")).await.0, 202);
    assert!(fixture.advance(&id).await.ended);
    let (status, response) =
        post(&fixture, &other.token, &format!("/deployments/{id}/stages/deploy/retry")).await;
    assert_eq!(status, 202, "{response}");
    let record = fixture.deployment(&id).await;
    assert_eq!(record["retriedBy"]["id"].as_str(), Some(other.user.as_str()));
    assert_eq!(record["canceledBy"], Value::Null, "the retry clears it");
    fixture.end().await;
}

#[tokio::test]
async fn a_teardown_is_canceled_by_maintainers_only() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let holder = fixture.server.member(&fixture.owner, "acme", "developer").await;
    let maintainer = fixture.server.member(&fixture.owner, "acme", "maintainer").await;
    let (session, first) = fixture.claim("qa-1", &holder, "sessions").await;
    assert!(fixture.run_next_job(&first, 0).await.ended);
    fixture.release("qa-1", &holder, &session).await;
    let teardown = fixture.teardown().await;
    for path in ["cancel", "stages/teardown/cancel", "stages/teardown/retry"] {
        let (status, response) =
            post(&fixture, &holder.token, &format!("/deployments/{teardown}/{path}")).await;
        assert_eq!((status, response["code"].as_str()), (403, Some("forbidden")), "{path} {response}");
    }
    let weak = without_force(&fixture, &maintainer).await;
    assert_eq!(post(&fixture, &weak, &format!("/deployments/{teardown}/cancel")).await.0, 202);
    assert_eq!(fixture.status(&teardown).await, "canceled");
    fixture.end().await;
}

#[tokio::test]
async fn ending_a_session_is_recorded_as_canceling_its_deployment() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let running = SessionDeployment::running(&fixture).await;
    let taker = fixture.server.member(&fixture.owner, "acme", "developer").await;
    fixture.claim("qa-1", &taker, "force-claim").await;
    let record = fixture.deployment(&running.deployment).await;
    assert_eq!(record["canceledBy"]["id"].as_str(), Some(taker.user.as_str()), "{record}");
    fixture.end().await;
}
