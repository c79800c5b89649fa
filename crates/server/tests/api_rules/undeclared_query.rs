//! Parameters that an operation does not have: they are refused, and nothing is changed. One that is ignored, such as a misspelled
//! `dryRun`, would be noticed too late.

use reqwest::Method;
use serde_json::{Value, json};

use crate::document::generated;
use crate::requests::{problem, success, wrong_field};
use crate::support::TestServer;
use crate::support::database::TestDatabase;

#[tokio::test]
async fn a_parameter_that_an_operation_does_not_have_is_refused() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let pipeline = server.pipeline(&owner, "Web").await;
    for (method, path, name) in [
        (Method::GET, format!("/pipelines/{pipeline}?expand=lock"), "expand"),
        (Method::HEAD, format!("/pipelines/{pipeline}?expand=lock"), ""),
        (Method::POST, format!("/pipelines/{pipeline}/resume?dryRun=true"), "dryRun"),
        (Method::DELETE, format!("/pipelines/{pipeline}?dryrun=true"), "dryrun"),
        (Method::PUT, format!("/pipelines/{pipeline}?x"), "x"),
        (Method::GET, format!("/pipelines/{pipeline}?=1"), "query"),
        (Method::GET, format!("/pipelines/{pipeline}?%00=1"), "query"),
    ] {
        let request = server.request(&owner, method.clone(), &path);
        let request = if method == Method::PUT { request.json(&json!({ "name": "Other" })) } else { request };
        let response = request.send().await.unwrap();
        if method == Method::HEAD {
            assert_eq!(response.status(), 422);
        } else {
            wrong_field(response, name).await;
        }
    }
    // Who may not call the operation learns nothing else about the request.
    let viewer = server.member(&owner, "acme", "viewer").await;
    let path = format!("/organizations/acme/pipelines/{pipeline}/resume?x=1");
    problem(server.send(Method::POST, &path, Some(&viewer.token), None).await, 403, "forbidden").await;
    problem(server.send(Method::POST, &path, None, None).await, 401, "unauthenticated").await;
    problem(server.send(Method::GET, "/auth/methods?x=1", None, None).await, 422, "invalid_request").await;
    let unchanged = server.get(&owner, &format!("/pipelines/{pipeline}?")).await;
    assert_eq!((&unchanged["data"]["name"], &unchanged["data"]["status"]), (&json!("Web"), &json!("active")));
    server.end().await;
}

/// Reads of the contract of the seed, which a client may send with a parameter of its own, for example against caches.
#[tokio::test]
async fn reads_of_the_seed_ignore_unknown_parameters() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let body = json!({ "name": "Web", "definition": "ephemeralEnvironments: { qa-1: {} }\n\
        stages: { build: { steps: [{ image: a, run: 'true' }] } }" });
    server.post(&owner, "/pipelines", body).await;
    let base = "/pipelines/web/ephemeral-environments";
    let session = server.post(&owner, &format!("{base}/qa-1/sessions"), json!({})).await;
    let session = session["sessionId"].as_str().unwrap();
    for path in [base.to_owned(), format!("{base}/qa-1"), format!("{base}/qa-1/sessions/{session}")] {
        server.get(&owner, &format!("{path}?_=1763")).await;
    }
    let release = server.request(&owner, Method::DELETE, &format!("{base}/qa-1/sessions/{session}?_=1763"));
    wrong_field(release.send().await.unwrap(), "_").await;
    server.end().await;
}

#[test]
fn every_deletion_can_be_tried() {
    let document = generated();
    let paths = document["paths"].as_object().unwrap();
    let deletions: Vec<(&String, &Value)> =
        paths.iter().filter_map(|(path, item)| Some((path, item.get("delete")?))).collect();
    assert!(deletions.len() > 15, "{}", deletions.len());
    for (path, operation) in deletions {
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let has_dry_run = parameters.into_iter().any(|parameter| parameter["name"] == "dryRun");
        assert!(has_dry_run, "DELETE {path} has no `dryRun`");
    }
}

#[tokio::test]
async fn a_dry_run_of_a_deletion_deletes_nothing() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let made =
        server.request(&owner, Method::POST, "/api-tokens").json(&json!({ "name": "ci" })).send().await;
    let token = success(made.unwrap(), 201).await["data"]["id"].as_str().unwrap().to_owned();
    let runner = server.post(&owner, "/runners", json!({ "name": "runner-1" })).await["id"].clone();
    for path in [format!("/api-tokens/{token}"), format!("/runners/{}", runner.as_str().unwrap())] {
        let before = server.events(&pool, &owner).await.len();
        let would =
            server.request(&owner, Method::DELETE, &format!("{path}?dryRun=true")).send().await.unwrap();
        let would = success(would, 200).await;
        assert!(would["data"]["revokedAt"].is_string(), "{path}: {would}");
        assert_eq!(server.events(&pool, &owner).await.len(), before, "{path}");
        let done = server.request(&owner, Method::DELETE, &path).send().await.unwrap();
        success(done, 200).await;
        assert!(server.events(&pool, &owner).await.len() > before, "{path}");
    }
    server.end().await;
}
