//! Validation of definitions: warnings, the cost of conditions, and that other requests are served meanwhile.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::requests::{problem, success};
use crate::support::TestServer;
use crate::support::database::TestDatabase;

const NESTED: &str = "variables.all(a,variables.all(b,variables.all(c,variables.all(d,variables.all(e,variables.all(f,true))))))";

fn with_condition(condition: &str) -> String {
    let variables = (0..100).map(|n| format!("  V{n}: x\n")).collect::<String>();
    format!(
        "variables:\n{variables}stages:\n  build:\n    if: '{condition}'\n    steps: [{{image: a, run: b}}]\n"
    )
}

#[tokio::test]
async fn a_condition_that_nests_too_deep_is_not_saved() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let body = json!({ "name": "Web", "definition": with_condition(NESTED) });
    let response = server.request(&owner, Method::POST, "/pipelines").json(&body).send().await.unwrap();
    let refused = problem(response, 422, "invalid_definition").await;
    assert_eq!(refused["errors"][0]["pointer"], "/stages/build/if", "{refused}");
    let two = "variables.all(a,variables.exists(b,a == b))";
    let body = json!({ "name": "Web", "definition": with_condition(two) });
    let response = server.request(&owner, Method::POST, "/pipelines").json(&body).send().await.unwrap();
    success(response, 201).await;
    server.end().await;
}

#[tokio::test]
async fn warnings_are_returned_and_do_not_prevent_saving() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let definition = "ephemeralEnvironments: { qa: {} }
environments: { production: {} }
stages:
  build: { steps: [{ image: a, run: b }] }
  seed: { only: ephemeral, steps: [{ image: a, run: b }] }
  ship: { environment: production, steps: [{ image: a, run: b }] }
";
    let report = server.post(&owner, "/pipelines/validate", json!({ "definition": definition })).await;
    assert_eq!((&report["valid"], report["errors"].as_array().map(Vec::len)), (&json!(true), Some(0)));
    let warning = &report["warnings"][0];
    assert_eq!(report["warnings"].as_array().unwrap().len(), 1, "{report}");
    assert_eq!(warning["code"], "runs_without_environment");
    assert_eq!((&warning["path"], &warning["line"]), (&json!("/stages/build"), &json!(4)));
    assert!(
        warning["column"].is_number() && warning["message"].as_str().unwrap().contains("only: ephemeral")
    );

    let body = json!({ "name": "Web", "definition": definition });
    let made = server.request(&owner, Method::POST, "/pipelines").json(&body).send().await.unwrap();
    assert_eq!(success(made, 201).await["warnings"], report["warnings"]);
    let saved =
        server.request(&owner, Method::PUT, "/pipelines/web").json(&json!({ "definition": definition }));
    assert_eq!(success(saved.send().await.unwrap(), 200).await["warnings"], report["warnings"]);
    let renamed = server.request(&owner, Method::PUT, "/pipelines/web").json(&json!({ "name": "Shop" }));
    assert_eq!(success(renamed.send().await.unwrap(), 200).await["warnings"], json!([]));
    server.end().await;
}

/// Concurrent validations of the largest definitions within the limits: these and all other requests are
/// served in time.
#[tokio::test]
async fn validation_does_not_delay_other_requests() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let condition = format!("branch == \"{}\"", "x".repeat(1_000));
    let stages =
        (0..16).map(|n| format!("  s{n}: {{ if: '{condition}', steps: [{{ image: a, run: b }}] }}\n"));
    let body = json!({ "definition": format!("stages:\n{}", stages.collect::<String>()) });
    let validate = || async {
        let request = server.request(&owner, Method::POST, "/pipelines/validate").json(&body).send();
        let response = request.await.unwrap();
        match response.status().as_u16() {
            200 => assert_eq!(response.json::<Value>().await.unwrap()["data"]["valid"], true),
            _ => drop(problem(response, 503, "overloaded").await),
        }
    };
    let me = async {
        let mut slowest = Duration::ZERO;
        for _ in 0..20 {
            let start = Instant::now();
            success(server.request(&owner, Method::GET, "/me").send().await.unwrap(), 200).await;
            slowest = slowest.max(start.elapsed());
        }
        slowest
    };
    let (_, slowest) = tokio::join!(join_all((0..40).map(|_| validate())), me);
    assert!(slowest < Duration::from_secs(5), "{slowest:?}");
    server.end().await;
}
