//! Who may cancel and retry a deployment: the holder of its session, a maintainer whose token may force, and for a
//! deployment of the whole pipeline every developer.

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::environments::SHOP;
use crate::support::Caller;
use crate::yard::Yard;

/// A running deployment in a session of its own holder, with the paths that change it.
struct Held {
    holder: Caller,
    deployment: String,
}

impl Held {
    async fn running(yard: &Yard) -> Self {
        let holder = yard.server.member(&yard.owner, "acme", "developer").await;
        let (_, deployment) = yard.claim("qa-1", &holder, "sessions").await;
        let job = yard.take(&yard.advance(&deployment).await).await;
        let start = format!("/steps/{}/start", job.steps[0]);
        assert_eq!(yard.say(&job, &start, json!({})).await.0, 200);
        Self { holder, deployment }
    }

    async fn failed(yard: &Yard) -> Self {
        let holder = yard.server.member(&yard.owner, "acme", "developer").await;
        let (_, deployment) = yard.claim("qa-1", &holder, "sessions").await;
        assert!(yard.pass(&deployment, 1).await.ended);
        Self { holder, deployment }
    }

    fn cancel(&self) -> String {
        format!("/deployments/{}/cancel", self.deployment)
    }

    fn stage(&self, verb: &str) -> String {
        format!("/deployments/{}/stages/deploy/{verb}", self.deployment)
    }
}

async fn post(yard: &Yard, by: &str, path: &str) -> (u16, Value) {
    let path = format!("/organizations/acme{path}");
    let (status, answer) = yard.server.json(Method::POST, &path, by, Some(json!({}))).await;
    (status.as_u16(), answer)
}

/// A token of this caller's that may not force.
async fn without_force(yard: &Yard, caller: &Caller) -> String {
    let body = json!({ "name": "no force", "allowForce": false });
    let path = "/organizations/acme/api-tokens";
    let (status, made) = yard.server.json(Method::POST, path, &caller.token, Some(body)).await;
    assert_eq!(status, 201, "{made}");
    made["data"]["token"].as_str().unwrap().to_owned()
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_session_s_deployment_is_not_canceled_or_retried_by_other_developers(pool: PgPool) {
    let yard = Yard::new(&pool, SHOP).await;
    let other = yard.server.member(&yard.owner, "acme", "developer").await;
    let running = Held::running(&yard).await;
    for path in [running.cancel(), running.stage("cancel"), running.stage("retry")] {
        let (status, answer) = post(&yard, &other.token, &path).await;
        assert_eq!((status, answer["code"].as_str()), (403, Some("forbidden")), "{path} {answer}");
        assert_eq!(answer["requiredRole"], "maintainer", "{answer}");
        assert_eq!(answer["holder"]["id"].as_str(), Some(running.holder.user.as_str()), "{answer}");
        assert!(answer["detail"].as_str().unwrap().contains("holder"), "{answer}");
    }
    let shown = yard.deployment(&running.deployment).await;
    assert_eq!((shown["status"].as_str(), &shown["canceledBy"]), (Some("running"), &Value::Null));
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_failed_stage_in_a_session_is_not_retried_by_other_developers(pool: PgPool) {
    let yard = Yard::new(&pool, SHOP).await;
    let other = yard.server.member(&yard.owner, "acme", "developer").await;
    let failed = Held::failed(&yard).await;
    let (status, answer) = post(&yard, &other.token, &failed.stage("retry")).await;
    assert_eq!((status, answer["code"].as_str()), (403, Some("forbidden")), "{answer}");
    assert_eq!(yard.status(&failed.deployment).await, "failed");

    let (status, answer) = post(&yard, &failed.holder.token, &failed.stage("retry")).await;
    assert_eq!(status, 202, "{answer}");
    let person =
        json!({ "id": failed.holder.user, "name": answer["data"]["retriedBy"]["name"], "kind": "user" });
    assert_eq!(answer["data"]["retriedBy"], person);
    let shown = yard.deployment(&failed.deployment).await;
    assert_eq!((&shown["retriedBy"], &shown["stages"][0]["retriedBy"]), (&person, &person));
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn the_holder_cancels_and_the_record_says_so(pool: PgPool) {
    let yard = Yard::new(&pool, SHOP).await;
    let running = Held::running(&yard).await;
    let (status, answer) = post(&yard, &running.holder.token, &running.cancel()).await;
    assert_eq!(status, 202, "{answer}");
    let canceled_by = &yard.deployment(&running.deployment).await["canceledBy"];
    assert_eq!((&canceled_by["id"], &canceled_by["kind"]), (&json!(running.holder.user), &json!("user")));
    // A second cancel, by somebody else, does not change who canceled it.
    assert_eq!(post(&yard, &yard.owner.token, &running.cancel()).await.0, 202);
    assert_eq!(&yard.deployment(&running.deployment).await["canceledBy"], canceled_by);
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_maintainer_cancels_in_others_sessions_only_with_a_token_that_may_force(pool: PgPool) {
    let yard = Yard::new(&pool, SHOP).await;
    let maintainer = yard.server.member(&yard.owner, "acme", "maintainer").await;
    let running = Held::running(&yard).await;
    let weak = without_force(&yard, &maintainer).await;
    let (status, answer) = post(&yard, &weak, &running.cancel()).await;
    assert_eq!((status, answer["code"].as_str()), (403, Some("forbidden")), "{answer}");
    assert!(answer["detail"].as_str().unwrap().contains("allowForce"), "{answer}");
    let (status, answer) = post(&yard, &maintainer.token, &running.stage("cancel")).await;
    assert_eq!(status, 202, "{answer}");
    let shown = yard.deployment(&running.deployment).await;
    assert_eq!(shown["stages"][0]["canceledBy"]["id"].as_str(), Some(maintainer.user.as_str()), "{shown}");
    assert_eq!(shown["canceledBy"], Value::Null, "one stage was canceled, not the deployment");
    assert_eq!(post(&yard, &maintainer.token, &running.cancel()).await.0, 202);
    let shown = yard.deployment(&running.deployment).await;
    assert_eq!(shown["canceledBy"]["id"].as_str(), Some(maintainer.user.as_str()));
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn the_holder_may_cancel_with_a_token_that_may_not_force(pool: PgPool) {
    let yard = Yard::new(&pool, SHOP).await;
    let running = Held::running(&yard).await;
    let weak = without_force(&yard, &running.holder).await;
    assert_eq!(post(&yard, &weak, &running.cancel()).await.0, 202);
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn every_developer_cancels_and_retries_deployments_of_the_whole_pipeline(pool: PgPool) {
    let yard = Yard::new(&pool, SHOP).await;
    let other = yard.server.member(&yard.owner, "acme", "developer").await;
    let id = yard.start().await;
    yard.advance(&id).await;
    assert_eq!(post(&yard, &other.token, &format!("/deployments/{id}/cancel")).await.0, 202);
    assert!(yard.advance(&id).await.ended);
    let (status, answer) = post(&yard, &other.token, &format!("/deployments/{id}/stages/deploy/retry")).await;
    assert_eq!(status, 202, "{answer}");
    let shown = yard.deployment(&id).await;
    assert_eq!(shown["retriedBy"]["id"].as_str(), Some(other.user.as_str()));
    assert_eq!(shown["canceledBy"], Value::Null, "it goes on");
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_teardown_is_canceled_by_maintainers_only(pool: PgPool) {
    let yard = Yard::new(&pool, SHOP).await;
    let holder = yard.server.member(&yard.owner, "acme", "developer").await;
    let maintainer = yard.server.member(&yard.owner, "acme", "maintainer").await;
    let (session, first) = yard.claim("qa-1", &holder, "sessions").await;
    assert!(yard.pass(&first, 0).await.ended);
    yard.release("qa-1", &holder, &session).await;
    let teardown = yard.teardown().await;
    for path in ["cancel", "stages/teardown/cancel", "stages/teardown/retry"] {
        let (status, answer) = post(&yard, &holder.token, &format!("/deployments/{teardown}/{path}")).await;
        assert_eq!((status, answer["code"].as_str()), (403, Some("forbidden")), "{path} {answer}");
    }
    let weak = without_force(&yard, &maintainer).await;
    assert_eq!(post(&yard, &weak, &format!("/deployments/{teardown}/cancel")).await.0, 202);
    assert_eq!(yard.status(&teardown).await, "canceled");
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn who_ends_a_session_has_canceled_its_deployment(pool: PgPool) {
    let yard = Yard::new(&pool, SHOP).await;
    let running = Held::running(&yard).await;
    let taker = yard.server.member(&yard.owner, "acme", "developer").await;
    yard.claim("qa-1", &taker, "force-claim").await;
    let shown = yard.deployment(&running.deployment).await;
    assert_eq!(shown["canceledBy"]["id"].as_str(), Some(taker.user.as_str()), "{shown}");
    yard.end().await;
}
