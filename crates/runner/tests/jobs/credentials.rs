//! Requests for the credentials of the platform.

use greenroom_api_types::runner::{
    Credential, CredentialKind, CredentialRequest, CredentialResponse, PermanentFailure, Source,
};

use crate::support::jobs::{credential, job};
use crate::support::server::Server;
use crate::support::test_runner::TestRunner;

const HOST: &str = "127.0.0.1:9";

/// Returns a job whose repository is at a port where nothing listens.
fn unreachable() -> greenroom_api_types::runner::Job {
    let mut job = job(&[("check", "true")]);
    let (repository, commit_id) = (format!("http://{HOST}/x"), "0123456789".repeat(4));
    job.source = Some(Source { repository, commit_id, must_be_on: None, submodules: None });
    job
}

#[tokio::test]
async fn a_denied_credential_ends_the_job_with_the_rule_and_is_not_replaced() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    let denied = Some("the rule `pools` denies the secret `forge-key` to this stage".to_owned());
    let request =
        CredentialRequest { kind: CredentialKind::Checkout, host: HOST.to_owned(), repository: None };
    let response = CredentialResponse { credential: None, denied };
    server.configure(|rules| rules.credentials = vec![(request, response)]);
    server.give(unreachable());
    let complete = server.until_complete().await;
    assert_eq!(complete.failure, Some(PermanentFailure::SecretDenied));
    assert!(complete.error.unwrap().contains("the rule `pools`"));
    server.recorded(|record| assert_eq!(record.calls, ["complete"]));
    runner.finish().await;
}

#[tokio::test]
async fn a_value_that_is_not_a_credential_is_named_and_not_shown() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    // Its second line would be another field for git.
    let known = credential(CredentialKind::Checkout, HOST, "bot:hunter22\nhost=evil.test");
    server.configure(|rules| rules.credentials = vec![known.clone()]);
    server.give(unreachable());
    let complete = server.until_complete().await;
    assert_eq!(complete.failure, Some(PermanentFailure::SecretDenied));
    let error = complete.error.unwrap();
    assert!(error.contains("name-of-127.0.0.1:9") && !error.contains("hunter22"), "{error}");
    let invalid = Credential { name: "forge-key".to_owned(), value: "hunter22!".to_owned() };
    let response = CredentialResponse { credential: Some(invalid), denied: None };
    server.configure(|rules| rules.credentials = vec![(known.0, response)]);
    server.give(unreachable());
    server
        .until("the second job", |record| record.complete.as_ref().is_some_and(|end| end.failure.is_none()))
        .await;
    let error = server.until_complete().await.error.unwrap();
    assert!(error.contains("`forge-key` is not valid base64") && !error.contains("hunter22"), "{error}");
    runner.finish().await;
}

#[tokio::test]
async fn a_request_is_retried_and_no_checkout_begins_without_its_response() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    server.configure(|rules| rules.rejects_credentials = true);
    server.give(unreachable());
    server.until("two rejected requests", |record| record.rejected_calls >= 2).await;
    server.recorded(|record| assert_eq!(record.complete, None));
    server.configure(|rules| rules.rejects_credentials = false);
    assert_eq!(server.until_complete().await.error.unwrap(), "the checkout failed: could not fetch");
    runner.finish().await;
}
