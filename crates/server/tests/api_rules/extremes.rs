//! Every operation of the document, with values at their extremes in each path variable, query parameter and
//! header: the response is never a 5xx.

use reqwest::Method;
use serde_json::{Value, json};

use crate::document::committed;
use crate::requests::{problem, wrong_field};
use crate::support::database::TestDatabase;
use crate::support::{Caller, TestServer};

const ISSUER: &str = "https://issuer.example";
const GITHUB: &str = "https://api.github.com";
const DEFINITION: &str = "environments: { production: {} }
ephemeralEnvironments: { qa-1: { labels: [qa] }, 'pr-*': { max: 3 } }
stages: { build: { steps: [{ image: a, run: b }] } }";

/// Percent-encoded, as in a URL.
const EXTREMES: [&str; 30] = [
    "%00",
    "a%00b",
    "%1B%5B31m",
    "%0D%0Ax%3A%20y",
    "%7F",
    "%C2%85",
    "%D8%9C",
    "%E2%80%8E",
    "%E2%80%AE",
    "%E2%81%A6",
    "%FF%FE",
    "%ED%A0%80",
    "%F0%9F%92%A9",
    "%25",
    "_",
    "'--",
    "%5C",
    "none",
    "-1",
    "0",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "99999999999999999999999999999",
    "1e309",
    "-009998-01-01T00:00:00Z",
    "-004713-01-01T00:00:00Z",
    "9999-12-30T22:00:00.999999999Z",
    "%2B010000-01-01T00:00:00Z",
    "true",
];

struct Operation {
    method: Method,
    path: String,
    /// Location and name of each parameter.
    parameters: Vec<(String, String)>,
}

fn operations() -> Vec<Operation> {
    let document = committed();
    let mut operations = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            operations.push(Operation {
                method: method.to_uppercase().parse().unwrap(),
                path: path.clone(),
                parameters: parameters.iter().map(|p| (text(&p["in"]), text(&p["name"]))).collect(),
            });
        }
    }
    // Deletions come last, because the other operations need the records.
    operations.sort_by_key(|operation| operation.method == Method::DELETE);
    operations
}

/// Returns a path whose variables name existing records, except for one.
fn fill(path: &str, existing_ids: &[(&str, String)], except: Option<(&str, &str)>) -> String {
    let mut filled = path.to_owned();
    if let Some((name, value)) = except {
        filled = filled.replace(&format!("{{{name}}}"), value);
    }
    for (name, value) in existing_ids {
        filled = filled.replace(&format!("{{{name}}}"), value);
    }
    assert!(!filled.contains('{'), "this test has no value for a variable of {path}");
    filled
}

async fn existing_ids(server: &TestServer, owner: &Caller) -> Vec<(&'static str, String)> {
    let body = json!({ "name": "Shop", "definition": DEFINITION });
    server.post(owner, "/pipelines", body).await;
    let claim = "/pipelines/shop/ephemeral-environments/qa-1/sessions";
    let session = server.post(owner, claim, json!({ "commitId": "0123abc" })).await;
    let secret = server.post(owner, "/secrets", json!({ "name": "key", "value": "a value" })).await;
    let (from, to) = ("2026-12-23T17:00:00Z", "2027-01-04T08:00:00Z");
    let freeze = json!({ "name": "Holidays", "reason": "Holidays", "from": from, "to": to });
    let freeze = server.post(owner, "/freezes", freeze).await;
    let account = json!({ "name": "storefront-ci", "role": "developer" });
    let account = server.post(owner, "/service-accounts", account).await;
    let group = server.post(owner, "/groups", json!({ "name": "ops" })).await;
    let registry = json!({ "name": "acme", "url": "https://git.example.com/acme/steps.git" });
    let registry = server.post(owner, "/step-registries", registry).await;
    let credential = json!({ "token": "github_pat_example" });
    let forge = json!({ "name": "acme", "kind": "github", "address": GITHUB, "credential": credential });
    let forge = server.post(owner, "/forges", forge).await;
    let none = "0190a0b0-0000-7000-8000-000000000001";
    vec![
        ("orgId", "acme".to_owned()),
        ("pipelineId", "shop".to_owned()),
        ("envName", "qa-1".to_owned()),
        ("environmentName", "production".to_owned()),
        ("sessionId", session["sessionId"].as_str().unwrap().to_owned()),
        ("deploymentId", session["deployments"][0]["id"].as_str().unwrap().to_owned()),
        ("stageKey", "build".to_owned()),
        ("stepRunId", format!("stp_{none}")),
        ("userId", owner.user.clone()),
        ("serviceAccountId", account["id"].as_str().unwrap().to_owned()),
        ("policyId", format!("tru_{none}")),
        ("tokenId", format!("tok_{none}")),
        ("runnerId", format!("run_{none}")),
        ("eventId", format!("evt_{none}")),
        ("jobId", format!("job_{none}")),
        ("artifactId", format!("art_{none}")),
        ("poolName", "default".to_owned()),
        ("provider", "none".to_owned()),
        ("groupId", group["id"].as_str().unwrap().to_owned()),
        ("analysisId", format!("ana_{none}")),
        ("fixId", format!("fix_{none}")),
        ("approvalId", format!("apr_{none}")),
        ("fingerprint", "fp_1e81c80184316ccc0c3239cff5357".to_owned()),
        ("freezeId", freeze["id"].as_str().unwrap().to_owned()),
        ("registryId", registry["id"].as_str().unwrap().to_owned()),
        ("forgeName", forge["name"].as_str().unwrap().to_owned()),
        ("stepName", "roll-out".to_owned()),
        ("stepVersion", "1.0.0".to_owned()),
        ("secretId", secret["id"].as_str().unwrap().to_owned()),
        ("version", "1".to_owned()),
    ]
}

#[tokio::test]
async fn no_parameter_value_causes_a_5xx() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let existing_ids = existing_ids(&server, &owner).await;
    let mut failed = Vec::new();
    let mut sent = 0;
    for operation in operations() {
        for (place, name) in &operation.parameters {
            for extreme in EXTREMES {
                let (url, header) = match place.as_str() {
                    "path" => (fill(&operation.path, &existing_ids, Some((name, extreme))), None),
                    "query" => {
                        (format!("{}?{name}={extreme}", fill(&operation.path, &existing_ids, None)), None)
                    }
                    _ => (fill(&operation.path, &existing_ids, None), Some((name.as_str(), extreme))),
                };
                // A command with a valid path would be executed.
                if header.is_some() && operation.method != Method::GET {
                    continue;
                }
                let mut request = server
                    .client
                    .request(operation.method.clone(), format!("{}{url}", server.base))
                    .bearer_auth(&owner.token);
                if let Some((name, value)) = header {
                    request = request.header(name, value);
                }
                if matches!(operation.method.as_str(), "POST" | "PUT" | "PATCH") {
                    request = request.json(&json!({}));
                }
                // The body of a stream is not waited for.
                let status = request.send().await.unwrap().status().as_u16();
                sent += 1;
                if status >= 500 {
                    failed.push(format!("{status} {} {url} {header:?}", operation.method));
                }
            }
        }
    }
    assert!(sent > 3_000, "only {sent} requests were sent");
    assert!(failed.is_empty(), "{} of {sent}:\n{}", failed.len(), failed.join("\n"));
    server.end().await;
}

#[tokio::test]
async fn an_invalid_name_is_not_found() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    existing_ids(&server, &owner).await;
    let environments = "/pipelines/shop/ephemeral-environments";
    for (method, path) in [
        (Method::GET, format!("{environments}/%00")),
        (Method::GET, format!("{environments}/%00/queue")),
        (Method::POST, format!("{environments}/%00/sessions")),
        (Method::POST, format!("{environments}/pr-%E2%80%AE/sessions")),
        (Method::GET, "/runner-pools/%00".to_owned()),
        (Method::PATCH, "/runner-pools/%00".to_owned()),
    ] {
        let response = server.request(&owner, method, &path).json(&json!({})).send().await.unwrap();
        problem(response, 404, "not_found").await;
    }
    for (parameter, value) in [
        ("from", "-009998-01-01T00:00:00Z"),
        ("to", "-004714-01-01T00:00:00Z"),
        ("type", "%00"),
        ("subject", "pipelines/%E2%80%AE"),
    ] {
        let path = format!("/events?{parameter}={value}");
        let response = server.request(&owner, Method::GET, &path).send().await.unwrap();
        wrong_field(response, parameter).await;
    }
    server.end().await;
}

/// Text that cannot be stored or is displayed misleadingly, and numbers that overflow.
#[tokio::test]
async fn extremes_in_a_body_are_invalid_fields() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let existing_ids = existing_ids(&server, &owner).await;
    let runner = server.post(&owner, "/runners", json!({ "name": "one" })).await["token"].take();
    let session = existing_ids.iter().find(|(name, _)| *name == "sessionId").unwrap().1.clone();
    let account = existing_ids.iter().find(|(name, _)| *name == "serviceAccountId").unwrap().1.clone();
    let policies = format!("/service-accounts/{account}/trust-policies");
    let of = "/pipelines/shop/ephemeral-environments";
    let (named, held) = (format!("{of}/pr-1/sessions"), format!("{of}/qa-1/sessions/{session}"));
    let of_approval = "/approvals/apr_0190a0b0-0000-7000-8000-000000000001";
    let feedback = "/analyses/ana_0190a0b0-0000-7000-8000-000000000001/feedback";
    let (approval, rejection) = (format!("{of_approval}/approve"), format!("{of_approval}/reject"));
    let deployment = existing_ids.iter().find(|(name, _)| *name == "deploymentId").unwrap().1.clone();
    let overriding = format!("/deployments/{deployment}/stages/build/override");
    let analyses = format!("/deployments/{deployment}/analyses");
    let digest = format!("sha256:{}", "0".repeat(64));
    let registry = existing_ids.iter().find(|(name, _)| *name == "registryId").unwrap().1.clone();
    let yank = format!("/step-registries/{registry}/steps/roll-out/versions/1.0.0/yank");
    for text in ["a\u{0}b", "a\u{1b}[31mb", "a\u{202e}b", "a\u{2066}b", "a\u{200f}b", "a\u{61c}b"] {
        for (path, pointer, body) in [
            ("/pipelines", "/name", json!({ "name": text, "slug": "web", "definition": DEFINITION })),
            ("/pipelines/shop/stop", "/reason", json!({ "reason": text })),
            ("/pipelines/shop/deployments", "/branch", json!({ "commitId": "0123abc", "branch": text })),
            ("/api-tokens", "/name", json!({ "name": text })),
            ("/members", "/name", json!({ "name": text, "email": "a@b.test", "role": "viewer" })),
            (
                "/members",
                "/email",
                json!({ "name": "A", "email": format!("{text}@b.test"), "role": "viewer" }),
            ),
            ("/runners", "/name", json!({ "name": text })),
            ("/service-accounts", "/name", json!({ "name": text, "role": "viewer" })),
            (
                "/service-accounts",
                "/description",
                json!({ "name": "a", "role": "viewer", "description": text }),
            ),
            (&format!("/service-accounts/{account}/api-tokens"), "/name", json!({ "name": text })),
            ("/groups", "/name", json!({ "name": text })),
            ("/groups", "/description", json!({ "name": "a", "description": text })),
            (
                &policies,
                "/name",
                json!({ "name": text, "issuer": ISSUER, "claims": { "a": 1 }, "pipelines": [] }),
            ),
            (
                &policies,
                "/issuer",
                json!({ "name": "a", "issuer": text, "claims": { "a": 1 }, "pipelines": [] }),
            ),
            ("/freezes", "/name", json!({ "name": text, "reason": "a" })),
            ("/freezes", "/reason", json!({ "name": "a", "reason": text })),
            ("/step-registries", "/name", json!({ "name": text, "url": "https://git.example.com/a" })),
            (
                "/step-registries",
                "/url",
                json!({ "name": "a", "url": format!("https://git.example.com/{text}") }),
            ),
            (
                "/step-registries",
                "/signers/0",
                json!({ "name": "a", "url": "https://git.example.com/a", "signers": [text] }),
            ),
            (
                "/forges",
                "/name",
                json!({ "name": text, "kind": "github", "address": GITHUB, "credential": { "token": "t" } }),
            ),
            (
                "/forges",
                "/kind",
                json!({ "name": "a", "kind": text, "address": GITHUB, "credential": { "token": "t" } }),
            ),
            (
                "/forges",
                "/address",
                json!({
                    "name": "a",
                    "kind": "github",
                    "address": format!("{GITHUB}/{text}"),
                    "credential": { "token": "t" },
                }),
            ),
            (
                "/forges",
                "/repositories/0",
                json!({
                    "name": "a",
                    "kind": "github",
                    "address": GITHUB,
                    "repositories": [text],
                    "credential": { "token": "t" },
                }),
            ),
            (
                "/forges",
                "/credential",
                json!({ "name": "a", "kind": "github", "address": GITHUB, "credential": { "token": text } }),
            ),
            ("/step-registries/resolve", "/uses", json!({ "uses": text })),
            (&yank, "/reason", json!({ "reason": text })),
            (analyses.as_str(), "/stage", json!({ "stage": text })),
            (feedback, "/comment", json!({ "helpful": true, "comment": text })),
            (rejection.as_str(), "/comment", json!({ "subjectDigest": digest, "comment": text })),
            (approval.as_str(), "/comment", json!({ "subjectDigest": digest, "comment": text })),
            (overriding.as_str(), "/reason", json!({ "reason": text, "gates": ["approval"] })),
            ("/secrets", "/name", json!({ "name": text, "value": "a value" })),
            ("/secrets", "/description", json!({ "name": "a", "description": text, "value": "a value" })),
            (named.as_str(), "/context", json!({ "context": text })),
            (&format!("{of}/qa-1/force-claim"), "/context", json!({ "context": text })),
            (&format!("{of}/claim"), "/context", json!({ "labels": ["qa"], "context": text })),
            (&format!("{held}/request-handover"), "/context", json!({ "context": text })),
        ] {
            let response = server.request(&owner, Method::POST, path).json(&body).send().await.unwrap();
            wrong_field(response, pointer).await;
        }
        for (pointer, body) in [
            ("/protocol", json!({ "protocol": text })),
            ("/address", json!({ "address": format!("https://models.example/{text}") })),
            ("/model", json!({ "model": text })),
            (
                "/credential",
                json!({ "address": "https://models.example/v1", "credential": { "token": text } }),
            ),
        ] {
            let request = server.request(&owner, Method::PATCH, "/analysis-settings");
            wrong_field(request.json(&body).send().await.unwrap(), pointer).await;
        }
        let url = format!("{}/runner/jobs/acquire", server.base);
        let body = json!({ "version": text, "waitSeconds": 0 });
        let request = server.client.post(url).bearer_auth(runner.as_str().unwrap()).json(&body);
        wrong_field(request.send().await.unwrap(), "/version").await;
    }
    // Names with a character that is not displayed: two tokens would look the same.
    for (hidden, code) in [('\u{200b}', "U+200B"), ('\u{ad}', "U+00AD"), ('\u{feff}', "U+FEFF")] {
        let name = format!("a{hidden}b");
        for (path, pointer, body) in [
            ("/pipelines", "/name", json!({ "name": name, "slug": "web", "definition": DEFINITION })),
            ("/pipelines/shop/deployments", "/branch", json!({ "commitId": "0123abc", "branch": name })),
            ("/api-tokens", "/name", json!({ "name": name })),
            ("/members", "/name", json!({ "name": name, "email": "a@b.test", "role": "viewer" })),
            (
                "/members",
                "/email",
                json!({ "name": "A", "email": format!("{name}@b.test"), "role": "viewer" }),
            ),
            ("/runners", "/name", json!({ "name": name })),
            ("/service-accounts", "/name", json!({ "name": name, "role": "viewer" })),
            (
                &policies,
                "/name",
                json!({ "name": name, "issuer": ISSUER, "claims": { "a": 1 }, "pipelines": [] }),
            ),
            ("/freezes", "/name", json!({ "name": name, "reason": "a" })),
        ] {
            let response = server.request(&owner, Method::POST, path).json(&body).send().await.unwrap();
            let refused = wrong_field(response, pointer).await;
            let detail = refused["errors"][0]["detail"].as_str().unwrap();
            assert!(detail.contains(code) && !detail.contains(hidden), "{detail}");
        }
    }
    for seconds in [i64::MAX, i64::MIN, 0, -1, i64::from(u32::MAX)] {
        for (path, pointer, body) in [
            (named.as_str(), "/ttlSeconds", json!({ "ttlSeconds": seconds })),
            (&format!("{of}/qa-1/sessions"), "/ttlSeconds", json!({ "ttlSeconds": seconds, "queue": true })),
            (&format!("{of}/qa-1/force-claim"), "/ttlSeconds", json!({ "ttlSeconds": seconds })),
            (&format!("{held}/request-handover"), "/graceSeconds", json!({ "graceSeconds": seconds })),
        ] {
            let response = server.request(&owner, Method::POST, path).json(&body).send().await.unwrap();
            wrong_field(response, pointer).await;
        }
        let body = json!({ "labels": ["qa"], "ttlSeconds": seconds });
        let response =
            server.request(&owner, Method::POST, &format!("{of}/claim")).json(&body).send().await.unwrap();
        assert_eq!(response.status().as_u16() / 100, 4);
    }
    server.end().await;
}
