//! `environments.NAME.deploy`: who may start and retry stages in a lasting environment.

use reqwest::Method;
use serde_json::{Value, json};

use crate::fixture::DeploymentFixture;
use crate::support::Caller;
use crate::support::database::TestDatabase;

/// The stage has a condition, so that a deployment by anyone is accepted.
const CONDITIONAL: &str = "environments:
  production: { deploy: { groups: [ops], roles: [maintainer] } }
stages:
  build: { if: 'true', steps: [{ image: a, run: b }] }
  release: { needs: [build], environment: production, steps: [{ image: a, run: b }] }
";

async fn call(
    fixture: &DeploymentFixture,
    by: &Caller,
    method: Method,
    path: &str,
    body: Value,
) -> (u16, Value) {
    let body = (!body.is_null()).then_some(body);
    let path = format!("/organizations/acme{path}");
    let (status, response) = fixture.server.json(method, &path, &by.token, body).await;
    (status.as_u16(), response)
}

async fn start(fixture: &DeploymentFixture, by: &Caller) -> (u16, Value) {
    call(fixture, by, Method::POST, "/pipelines/shop/deployments", json!({ "commitId": "0123abc" })).await
}

async fn accepted(fixture: &DeploymentFixture, by: &Caller) -> String {
    let (status, made) = start(fixture, by).await;
    assert_eq!(status, 202, "{made}");
    made["data"]["id"].as_str().unwrap().to_owned()
}

/// Creates the group and adds the user to it. Returns the path of the group.
async fn ops(fixture: &DeploymentFixture, user: &Caller) -> String {
    let (status, made) = fixture.call(Method::POST, "/groups", json!({ "name": "ops" })).await;
    assert_eq!(status, 201, "{made}");
    let group = format!("/groups/{}", made["data"]["id"].as_str().unwrap());
    let (status, _) = fixture.call(Method::PUT, &format!("{group}/members/{}", user.user), Value::Null).await;
    assert_eq!(status, 200);
    group
}

/// Returns status and reason of the stage `release`.
async fn release(fixture: &DeploymentFixture, id: &str) -> (Value, Value) {
    let stage = fixture.deployment(id).await["stages"][1].clone();
    (stage["status"].clone(), stage["reason"].clone())
}

fn denied() -> (Value, Value) {
    (json!("failed"), json!("deploy_denied"))
}

#[tokio::test]
async fn only_those_whom_the_rule_names_deploy() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, CONDITIONAL).await;
    let developer = fixture.server.member(&fixture.owner, "acme", "developer").await;
    let member = fixture.server.member(&fixture.owner, "acme", "developer").await;
    let maintainer = fixture.server.member(&fixture.owner, "acme", "maintainer").await;
    let granted = fixture.server.member(&fixture.owner, "acme", "developer").await;
    ops(&fixture, &member).await;
    let grant = format!("/pipelines/shop/grants/users/{}", granted.user);
    assert_eq!(fixture.call(Method::PUT, &grant, json!({ "role": "maintainer" })).await.0, 200);
    for (who, may) in [(&member, true), (&maintainer, true), (&granted, true), (&developer, false)] {
        let id = accepted(&fixture, who).await;
        let after = fixture.run_next_job(&id, 0).await;
        assert_eq!(after.dispatch.len(), usize::from(may));
        if may {
            assert!(fixture.run_next_job(&id, 0).await.ended);
            assert_eq!(fixture.status(&id).await, "succeeded");
        } else {
            assert!(after.ended);
            assert_eq!(release(&fixture, &id).await, denied());
            let detail = fixture.deployment(&id).await["stages"][1]["detail"].clone();
            assert!(detail.as_str().unwrap().contains("`production`"), "{detail}");
        }
    }
    fixture.end().await;
}

/// The right is lost after the stage was queued, and after the runner got the job.
#[tokio::test]
async fn the_rule_is_checked_again_when_the_first_step_starts() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, CONDITIONAL).await;
    let member = fixture.server.member(&fixture.owner, "acme", "developer").await;
    let group = ops(&fixture, &member).await;
    let id = accepted(&fixture, &member).await;
    let advance = fixture.run_next_job(&id, 0).await;
    let job = fixture.take(&advance).await;
    let path = format!("{group}/members/{}", member.user);
    assert_eq!(fixture.call(Method::DELETE, &path, Value::Null).await.0, 200);
    let (status, refused) = fixture.report(&job, &format!("/steps/{}/start", job.steps[0]), json!({})).await;
    assert_eq!((status, &refused["code"]), (410, &json!("job_gone")), "{refused}");
    assert!(fixture.advance(&id).await.ended);
    assert_eq!(release(&fixture, &id).await, denied());
    fixture.end().await;
}

/// A deleted group, and one that has another name now, has no members for the definition.
#[tokio::test]
async fn a_group_that_is_gone_permits_no_user() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, CONDITIONAL).await;
    for way in ["renamed", "deleted", "removed"] {
        let member = fixture.server.member(&fixture.owner, "acme", "developer").await;
        let group = ops(&fixture, &member).await;
        let id = accepted(&fixture, &member).await;
        let job = fixture.take(&fixture.advance(&id).await).await;
        let (method, path, body) = match way {
            "renamed" => (Method::PATCH, group.clone(), json!({ "name": "former-ops" })),
            "deleted" => (Method::DELETE, group.clone(), Value::Null),
            _ => (Method::DELETE, format!("/members/{}", member.user), Value::Null),
        };
        assert_eq!(fixture.call(method, &path, body).await.0, 200);
        fixture.run_job(&job, 0).await;
        assert!(fixture.advance(&id).await.ended, "{way}");
        assert_eq!(release(&fixture, &id).await, denied(), "{way}");
        fixture.call(Method::DELETE, &group, Value::Null).await;
    }
    fixture.end().await;
}

/// The user who retries the stage counts, and a retry by a user who may not deploy is refused.
#[tokio::test]
async fn a_retry_by_one_whom_the_rule_names_deploys() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, CONDITIONAL).await;
    let developer = fixture.server.member(&fixture.owner, "acme", "developer").await;
    let member = fixture.server.member(&fixture.owner, "acme", "developer").await;
    ops(&fixture, &member).await;
    let id = accepted(&fixture, &developer).await;
    assert!(fixture.run_next_job(&id, 0).await.ended);
    let retry = format!("/deployments/{id}/stages/release/retry");
    let (status, refused) = call(&fixture, &developer, Method::POST, &retry, json!({})).await;
    assert_eq!((status, &refused["code"]), (403, &json!("deploy_denied")), "{refused}");
    assert_eq!((&refused["groups"], &refused["roles"]), (&json!(["ops"]), &json!(["maintainer"])));
    assert_eq!(call(&fixture, &member, Method::POST, &retry, json!({})).await.0, 202);
    assert!(fixture.run_next_job(&id, 0).await.ended);
    assert_eq!(fixture.status(&id).await, "succeeded");
    fixture.end().await;
}

#[tokio::test]
async fn a_deployment_that_would_certainly_fail_is_refused() {
    let (_database, pool) = TestDatabase::create().await;
    let certain = CONDITIONAL.replace("if: 'true', ", "");
    let fixture = DeploymentFixture::new(&pool, &certain).await;
    let developer = fixture.server.member(&fixture.owner, "acme", "developer").await;
    let (status, refused) = start(&fixture, &developer).await;
    assert_eq!((status, &refused["code"]), (403, &json!("deploy_denied")), "{refused}");
    assert_eq!(refused["environment"], "production");
    let detail = refused["detail"].as_str().unwrap();
    assert!(detail.contains("`ops`") && detail.contains("maintainer"), "{detail}");
    fixture.start().await;
    fixture.end().await;
}

/// A deployment from before the rule was added does not evade it: neither when it goes on, nor when it is retried.
#[tokio::test]
async fn an_older_deployment_does_not_evade_a_rule_that_was_added_since() {
    let (_database, pool) = TestDatabase::create().await;
    let open = CONDITIONAL.replace("{ deploy: { groups: [ops], roles: [maintainer] } }", "{}");
    let fixture = DeploymentFixture::new(&pool, &open).await;
    let developer = fixture.server.member(&fixture.owner, "acme", "developer").await;
    let id = accepted(&fixture, &developer).await;
    let job = fixture.take(&fixture.advance(&id).await).await;
    let (status, saved) =
        fixture.call(Method::PUT, "/pipelines/shop", json!({ "definition": CONDITIONAL })).await;
    assert_eq!(status, 200, "{saved}");
    fixture.run_job(&job, 0).await;
    assert!(fixture.advance(&id).await.ended);
    assert_eq!(release(&fixture, &id).await, denied());
    let retry = format!("/deployments/{id}/stages/release/retry");
    let (status, refused) =
        call(&fixture, &developer, Method::POST, &retry, json!({ "inputs": "same" })).await;
    assert_eq!((status, &refused["code"]), (403, &json!("deploy_denied")), "{refused}");
    fixture.end().await;
}
