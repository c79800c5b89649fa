//! Repeated requests with the same `Idempotency-Key`: they take effect once, and return the record as it is now. A job that is
//! run again must not take a session that has ended for one that it holds.

use reqwest::Method;
use serde_json::{Value, json};

use crate::fixture::EnvironmentFixture;
use crate::support::database::TestDatabase;

#[tokio::test]
async fn a_repeated_claim_shows_that_its_session_has_ended() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let first = fixture.keyed(&fixture.dev, Method::POST, "/sessions", "job-1").await;
    assert!(!first.is_replayed);
    let first = first.reply.is(201);
    assert_eq!((&first["data"]["status"], &first["data"]["holding"]), (&json!("active"), &json!(true)));
    let session = first["data"]["sessionId"].as_str().unwrap();
    fixture.delete(&fixture.dev, &format!("/sessions/{session}")).await.is(200);
    let other = fixture.claim(&fixture.mate, json!({})).await.session();

    let again = fixture.keyed(&fixture.dev, Method::POST, "/sessions", "job-1").await;
    assert!(again.is_replayed);
    let again = again.reply.is(201);
    assert_eq!(again["data"]["sessionId"], session);
    assert_eq!((&again["data"]["status"], &again["data"]["holding"]), (&json!("released"), &json!(false)));
    assert_eq!(again["data"]["lock"]["sessionId"], other, "the lock is the other user's");
    fixture.end().await;
}

#[tokio::test]
async fn a_repeated_take_over_shows_that_it_was_taken_over() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let displaced = fixture.claim(&fixture.dev, json!({})).await.session();
    let forced = fixture.keyed(&fixture.owner, Method::POST, "/force-claim", "k").await.reply.is(201);
    assert_eq!(forced["data"]["displaced"]["sessionId"], displaced);
    fixture.send(&fixture.dev, Method::POST, "/force-claim", json!({ "context": "hotfix" })).await.is(201);

    let again = fixture.keyed(&fixture.owner, Method::POST, "/force-claim", "k").await;
    assert!(again.is_replayed);
    let again = again.reply.is(201);
    assert_eq!(again["data"]["sessionId"], forced["data"]["sessionId"]);
    assert_eq!((&again["data"]["overridden"], &again["data"]["holding"]), (&json!(true), &json!(false)));
    assert_eq!(again["data"]["override"]["reason"], "hotfix");
    assert_eq!(again["data"]["displaced"]["sessionId"], displaced, "whom it displaced is still named");
    fixture.end().await;
}

#[tokio::test]
async fn a_repeated_renewal_does_not_show_an_ended_session_as_active() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let session = fixture.claim(&fixture.dev, json!({})).await.session();
    let renew = format!("/sessions/{session}/renew");
    fixture.keyed(&fixture.dev, Method::POST, &renew, "k").await.reply.is(200);
    fixture.delete(&fixture.dev, &format!("/sessions/{session}")).await.is(200);
    let again = fixture.keyed(&fixture.dev, Method::POST, &renew, "k").await;
    assert!(again.is_replayed);
    assert_eq!(again.reply.is(200)["data"]["status"], "released");
    fixture.end().await;
}

#[tokio::test]
async fn a_repeated_deploy_returns_the_deployment_as_it_is_now() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let session = fixture.claim(&fixture.dev, json!({})).await.session();
    let url = format!(
        "{}/organizations/acme/pipelines/{}/ephemeral-environments/qa-1/sessions/{session}/deploy",
        fixture.server.base, fixture.pipeline
    );
    let deploy = async || {
        let request = fixture.server.client.post(&url).bearer_auth(&fixture.dev.token);
        let request = request.header("idempotency-key", "k").json(&json!({ "commitId": "0123abc" }));
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 202);
        response.json::<Value>().await.unwrap()
    };
    let first = deploy().await;
    assert_eq!(first["data"]["status"], "queued");
    fixture.delete(&fixture.dev, &format!("/sessions/{session}")).await.is(200);
    let again = deploy().await;
    assert_eq!(again["data"]["id"], first["data"]["id"]);
    assert_eq!(again["data"]["status"], "canceled", "{again}");
    fixture.end().await;
}
