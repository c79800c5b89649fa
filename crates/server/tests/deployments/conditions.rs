//! Conditions are code of tenants: an endless one fails its own deployment and does not delay others.

use std::time::{Duration, Instant};

use greenroom_domain::id::{DeploymentId, OrganizationId};
use reqwest::Method;
use serde_json::json;

use crate::fixture::DeploymentFixture;
use crate::support::database::TestDatabase;

const SIMPLE: &str = "stages: { build: { steps: [{ image: a, run: b }] } }";

#[tokio::test]
async fn an_endless_condition_ends_its_own_deployment_only() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SIMPLE).await;
    // Stored directly, as before conditions had limits.
    let condition = "variables.all(a,variables.all(b,variables.all(c,variables.all(d,variables.all(e,variables.all(f,true))))))";
    let variables: serde_json::Map<_, _> = (0..100).map(|n| (format!("V{n}"), "x".into())).collect();
    let old = "update pipeline_versions set definition =
                   jsonb_set(jsonb_set(definition, '{stages,0,if}', to_jsonb($1::text)), '{variables}', $2)";
    sqlx::query(old).bind(condition).bind(serde_json::Value::from(variables)).execute(&pool).await.unwrap();
    let endless = fixture.start().await;

    let globex = fixture.server.organization("globex").await;
    let body = json!({ "name": "Web", "definition": SIMPLE });
    let path = "/organizations/globex/pipelines";
    let (status, made) = fixture.server.json(Method::POST, path, &globex.token, Some(body)).await;
    assert_eq!(status, 201, "{made}");
    let path = "/organizations/globex/pipelines/web/deployments";
    let body = Some(json!({ "commitId": "0123abc" }));
    let (status, made) = fixture.server.json(Method::POST, path, &globex.token, body).await;
    assert_eq!(status, 202, "{made}");
    let others: DeploymentId = made["data"]["id"].as_str().unwrap().parse().unwrap();
    let organization: OrganizationId = globex.organization.parse().unwrap();

    let started = Instant::now();
    let store = &fixture.server.server.app.store;
    let (own, other) =
        tokio::join!(fixture.advance(&endless), store.advance_deployment(organization, others));
    assert_eq!(other.unwrap().unwrap().dispatch.len(), 1);
    assert!(own.ended);
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    let record = fixture.deployment(&endless).await;
    assert_eq!(
        (record["status"].as_str(), record["reason"].as_str()),
        (Some("failed"), Some("condition_limit"))
    );
    let detail = record["stages"][0]["detail"].as_str().unwrap();
    assert!(detail.contains("`build`") && detail.contains("takes more than"), "{detail}");
    fixture.end().await;
}

#[tokio::test]
async fn a_pipeline_deployment_skips_stages_for_sessions() {
    let (_database, pool) = TestDatabase::create().await;
    let definition = "ephemeralEnvironments: { qa: {} }
stages:
  build: { steps: [{ image: a, run: b }] }
  seed: { needs: [build], only: ephemeral, if: branch == branch, steps: [{ image: a, run: b }] }
  ship: { needs: [seed], steps: [{ image: a, run: b }] }
";
    let fixture = DeploymentFixture::new(&pool, definition).await;
    let id = fixture.start().await;
    fixture.run_next_job(&id, 0).await;
    assert!(fixture.run_next_job(&id, 0).await.ended);
    assert_eq!(fixture.stages(&id).await, ["succeeded", "skipped", "succeeded"]);
    assert_eq!(fixture.deployment(&id).await["stages"][1]["reason"], "only_ephemeral");
    let (_, id) = fixture.claim("qa", &fixture.owner, "sessions").await;
    for _ in 0..2 {
        fixture.run_next_job(&id, 0).await;
    }
    assert!(fixture.run_next_job(&id, 0).await.ended);
    assert_eq!(fixture.stages(&id).await, ["succeeded", "succeeded", "succeeded"]);
    fixture.end().await;
}

/// Production was not reached, and that is not what a deployment that succeeded looks like.
#[tokio::test]
async fn a_deployment_lists_the_environments_that_it_left_out_because_no_branch_was_known() {
    let (_database, pool) = TestDatabase::create().await;
    let definition = r#"environments: { staging: {}, production: {}, customer: {} }
stages:
  build: { steps: [{ image: a, run: b }] }
  migrate: { needs: [build], if: branch == "main", steps: [{ image: a, run: b }] }
  release: { needs: [migrate], environment: production, steps: [{ image: a, run: b }] }
  preview: { needs: [build], environment: staging, if: branch != "", steps: [{ image: a, run: b }] }
  install: { needs: [build], environment: customer, if: trigger == "fix", steps: [{ image: a, run: b }] }
"#;
    let fixture = DeploymentFixture::new(&pool, definition).await;
    let id = fixture.start().await;
    let running = fixture.deployment(&id).await;
    assert_eq!(running["skippedEnvironments"], json!([]), "it has not ended");
    assert!(fixture.run_next_job(&id, 0).await.ended);
    let record = fixture.deployment(&id).await;
    assert_eq!(record["status"], "succeeded");
    assert_eq!(record["skippedEnvironments"], json!(["production", "staging"]));
    let reasons: Vec<_> = record["stages"].as_array().unwrap().iter().map(|stage| &stage["reason"]).collect();
    assert_eq!(
        json!(reasons),
        json!([null, "branch_unknown", "upstream_skipped", "branch_unknown", "condition_false"])
    );
    for path in ["/deployments", "/pipelines/shop/deployments"] {
        let (_, list) = fixture.call(Method::GET, path, json!(null)).await;
        assert_eq!(list["data"][0]["skippedEnvironments"], json!(["production", "staging"]), "{path}");
    }
    let (_, pipeline) = fixture.call(Method::GET, "/pipelines/shop", json!(null)).await;
    assert_eq!(pipeline["data"]["lastDeployment"]["skippedEnvironments"], json!(["production", "staging"]));
    fixture.end().await;
}
