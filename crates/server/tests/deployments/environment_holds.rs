//! Holds of lasting environments: only deployments of the holder begin.

use jiff::Timestamp;
use reqwest::Method;
use serde_json::{Value, json};

use crate::fixture::DeploymentFixture;
use crate::support::database::TestDatabase;
use crate::support::{Caller, in_hours};

const RELEASE: &str = "environments: { production: {} }
stages:
  release: { environment: production, steps: [{ image: a, run: b }] }
";
const HOLD: &str = "/organizations/acme/pipelines/shop/environments/production/hold";

async fn hold(fixture: &DeploymentFixture, by: &Caller, until: Timestamp) -> (u16, Value) {
    let body = json!({ "reason": "incident", "until": until });
    let (status, response) = fixture.server.json(Method::POST, HOLD, &by.token, Some(body)).await;
    (status.as_u16(), response)
}

async fn end(fixture: &DeploymentFixture, by: &Caller) -> u16 {
    fixture.server.json(Method::DELETE, HOLD, &by.token, None).await.0.as_u16()
}

/// Starts a deployment as this user.
async fn start(fixture: &DeploymentFixture, by: &Caller) -> String {
    let path = "/organizations/acme/pipelines/shop/deployments";
    let body = json!({ "commitId": "0123abc" });
    let (status, made) = fixture.server.json(Method::POST, path, &by.token, Some(body)).await;
    assert_eq!(status, 202, "{made}");
    made["data"]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn only_deployments_of_the_holder_begin() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, RELEASE).await;
    let holder = fixture.server.member(&fixture.owner, "acme", "maintainer").await;
    // The first one is queued for a runner when the hold begins, and taken back.
    let queued = fixture.start().await;
    assert_eq!(fixture.advance(&queued).await.dispatch.len(), 1);
    let (status, held) = hold(&fixture, &holder, in_hours(1)).await;
    assert_eq!((status, &held["data"]["hold"]["reason"]), (200, &json!("incident")), "{held}");
    assert!(fixture.advance(&queued).await.dispatch.is_empty());
    let waiting = fixture.deployment(&queued).await["waitingOn"][0].clone();
    assert_eq!((&waiting["kind"], &waiting["reason"]), (&json!("hold"), &json!("incident")));
    assert_eq!((&waiting["stage"], &waiting["environment"]), (&json!("release"), &json!("production")));
    assert!(waiting["by"]["id"].is_string() && waiting["until"].is_string(), "{waiting}");
    let own = start(&fixture, &holder).await;
    assert!(fixture.run_next_job(&own, 0).await.ended);
    assert_eq!(fixture.status(&own).await, "succeeded");
    // The holder's deployment is newer and live now.
    let after = fixture.start().await;
    fixture.advance(&after).await;
    assert_eq!(end(&fixture, &holder).await, 200);
    assert!(fixture.advance(&queued).await.ended);
    assert_eq!(fixture.status(&queued).await, "superseded");
    assert_eq!(fixture.advance(&after).await.dispatch.len(), 1);
    assert_eq!(fixture.event("environment.held").await["data"]["after"]["environment"], "production");
    assert!(fixture.event("environment.hold_ended").await["data"]["before"]["heldBy"].is_object());
    fixture.end().await;
}

/// The hold begins after the runner got the job, and before it starts the first step.
#[tokio::test]
async fn a_hold_is_checked_when_the_first_step_is_to_start() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, RELEASE).await;
    let holder = fixture.server.member(&fixture.owner, "acme", "maintainer").await;
    let id = fixture.start().await;
    let job = fixture.take(&fixture.advance(&id).await).await;
    assert_eq!(hold(&fixture, &holder, in_hours(1)).await.0, 200);
    let start = format!("/steps/{}/start", job.steps[0]);
    let (status, refused) = fixture.report(&job, &start, json!({})).await;
    assert_eq!((status, &refused["code"]), (410, &json!("job_gone")), "{refused}");
    assert!(fixture.advance(&id).await.dispatch.is_empty());
    let stage = fixture.deployment(&id).await["stages"][0].clone();
    assert_eq!((&stage["status"], &stage["attempt"]), (&json!("waiting"), &json!(1)));
    let path = format!("/deployments/{id}/stages/release/attempts");
    let attempts = fixture.call(Method::GET, &path, Value::Null);
    let attempt = attempts.await.1["data"][0].clone();
    assert_eq!((&attempt["status"], &attempt["reason"]), (&json!("errored"), &json!("gate_closed")));
    // A deployment that has begun goes on when a hold begins.
    assert_eq!(end(&fixture, &holder).await, 200);
    let job = fixture.take(&fixture.advance(&id).await).await;
    let start = format!("/steps/{}/start", job.steps[0]);
    assert_eq!(fixture.report(&job, &start, json!({})).await.0, 200);
    assert_eq!(hold(&fixture, &holder, in_hours(1)).await.0, 200);
    fixture.run_job(&job, 0).await;
    assert!(fixture.advance(&id).await.ended);
    assert_eq!(fixture.status(&id).await, "succeeded");
    fixture.end().await;
}

#[tokio::test]
async fn a_hold_has_one_holder_and_an_end() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, RELEASE).await;
    let first = fixture.server.member(&fixture.owner, "acme", "maintainer").await;
    let second = fixture.server.member(&fixture.owner, "acme", "maintainer").await;
    for hours in [-1, 0, 25] {
        let (status, refused) = hold(&fixture, &first, in_hours(hours)).await;
        assert_eq!((status, &refused["errors"][0]["pointer"]), (422, &json!("/until")), "{hours} {refused}");
    }
    assert_eq!(hold(&fixture, &first, in_hours(1)).await.0, 200);
    assert_eq!(hold(&fixture, &first, in_hours(2)).await.0, 200, "the holder prolongs it");
    let (status, refused) = hold(&fixture, &second, in_hours(1)).await;
    assert_eq!((status, &refused["code"]), (409, &json!("invalid_state")), "{refused}");
    assert!(refused["heldBy"]["name"].is_string() && refused["until"].is_string(), "{refused}");
    assert_eq!(end(&fixture, &second).await, 409);
    let developer = fixture.server.member(&fixture.owner, "acme", "developer").await;
    assert_eq!(hold(&fixture, &developer, in_hours(1)).await.0, 403);
    assert_eq!(hold(&fixture, &fixture.owner, in_hours(1)).await.0, 200, "an admin takes it over");
    assert_eq!(end(&fixture, &first).await, 409);
    assert_eq!(end(&fixture, &fixture.owner).await, 200);
    assert_eq!(end(&fixture, &second).await, 200, "there is none");
    let other = HOLD.replace("production", "nowhere");
    let body = json!({ "reason": "incident", "until": in_hours(1) });
    let (status, _) = fixture.server.json(Method::POST, &other, &first.token, Some(body.clone())).await;
    assert_eq!(status, 404);
    let mistyped = HOLD.replace("production", "prodution");
    let (status, refused) = fixture.server.json(Method::POST, &mistyped, &first.token, Some(body)).await;
    assert_eq!((status.as_u16(), &refused["suggestion"]), (404, &json!("production")), "{refused}");
    assert!(refused["detail"].as_str().unwrap().contains("Did you mean `production`?"), "{refused}");
    fixture.end().await;
}

#[tokio::test]
async fn a_hold_ends_with_the_right_to_hold() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, RELEASE).await;
    let demoted = fixture.server.member(&fixture.owner, "acme", "maintainer").await;
    let removed = fixture.server.member(&fixture.owner, "acme", "maintainer").await;
    let waiting = fixture.start().await;
    for (holder, method, body) in
        [(&demoted, Method::PATCH, json!({ "role": "developer" })), (&removed, Method::DELETE, Value::Null)]
    {
        assert_eq!(hold(&fixture, holder, in_hours(1)).await.0, 200);
        assert!(fixture.advance(&waiting).await.dispatch.is_empty());
        sqlx::query("delete from wakes").execute(&pool).await.unwrap();
        let path = format!("/organizations/acme/members/{}", holder.user);
        let body = Some(body).filter(|body| !body.is_null());
        let (status, _) = fixture.server.json(method, &path, &fixture.owner.token, body).await;
        assert!(status.is_success(), "{status}");
        let woken: i64 = sqlx::query_scalar("select count(*) from wakes").fetch_one(&pool).await.unwrap();
        assert_eq!(woken, 1);
        assert_eq!(fixture.event("environment.hold_ended").await["data"]["before"]["reason"], "incident");
        assert_eq!(fixture.advance(&waiting).await.dispatch.len(), 1);
    }
    fixture.end().await;
}
