//! The addresses of records in the dashboard.

use reqwest::Method;
use serde_json::{Value, json};

use crate::environments::SHOP;
use crate::fixture::DeploymentFixture;
use crate::support::TestServer;
use crate::support::database::TestDatabase;

#[tokio::test]
async fn every_record_has_its_page_in_the_dashboard() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start_at(&pool, "https://greenroom.example.com").await;
    let fixture = DeploymentFixture::on(server, SHOP).await;
    let read = async |path: &str| {
        let (status, record) = fixture.call(Method::GET, path, Value::Null).await;
        assert_eq!(status, 200, "{path}: {record}");
        record["data"].clone()
    };
    let (session, deployment) = fixture.claim("qa-1", &fixture.owner, "sessions").await;
    let home = "https://greenroom.example.com/o/acme";
    let pipeline = format!("{home}/pipelines/{}", fixture.pipeline);
    let environment = format!("{pipeline}/environments/qa-1");
    let of_session = format!("{environment}/sessions/{session}");
    let of_deployment = format!("{home}/deployments/{deployment}");

    // The address is the same whether the request names the pipeline by its id or by its slug.
    for name in [fixture.pipeline.as_str(), "shop"] {
        assert_eq!(read(&format!("/pipelines/{name}")).await["webUrl"], pipeline);
        let base = format!("/pipelines/{name}/ephemeral-environments");
        let record = read(&format!("{base}/qa-1")).await;
        assert_eq!(
            (&record["webUrl"], &record["lastDeployment"]["webUrl"]),
            (&json!(environment), &json!(of_deployment))
        );
        assert_eq!(read(&base).await[0]["webUrl"], environment);
        let record = read(&format!("{base}/qa-1/sessions/{session}")).await;
        assert_eq!(
            (&record["webUrl"], &record["deployments"][0]["webUrl"]),
            (&json!(of_session), &json!(of_deployment))
        );
    }
    assert_eq!(read("/pipelines").await[0]["webUrl"], pipeline);
    assert_eq!(read("/ephemeral-environments").await[0]["webUrl"], environment);
    assert_eq!(read("/sessions").await[0]["webUrl"], of_session);
    assert_eq!(read("/deployments").await[0]["webUrl"], of_deployment);
    assert_eq!(read(&format!("/deployments/{deployment}")).await["webUrl"], of_deployment);
    // The fast path of a release, and of the next claim.
    let path = format!("/pipelines/shop/ephemeral-environments/qa-1/sessions/{session}");
    let (_, released) = fixture.call(Method::DELETE, &path, Value::Null).await;
    assert_eq!(released["data"]["webUrl"], of_session);
    let (_, stopped) = fixture.call(Method::POST, "/pipelines/shop/stop", json!({})).await;
    assert_eq!(stopped["data"]["webUrl"], pipeline);
    fixture.end().await;
}

/// The address never comes from the request: a forged host must not end up in a link that others follow.
#[tokio::test]
async fn without_a_public_url_records_have_no_address() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let url = format!("{}/organizations/acme/pipelines/shop", fixture.server.base);
    let request = fixture.server.client.get(url).bearer_auth(&fixture.owner.token);
    let request = request.header("host", "evil.example.com").header("x-forwarded-host", "evil.example.com");
    let record: Value = request.send().await.unwrap().json().await.unwrap();
    assert_eq!(record["data"]["webUrl"], Value::Null);
    assert!(!record.to_string().contains("evil"), "{record}");
    fixture.end().await;
}
