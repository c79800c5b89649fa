//! The examples in the API document have the form of real responses.

use greenroom_api_types::example;
use jiff::Timestamp;
use reqwest::Method;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::fixture::{DeploymentFixture, Job};
use crate::support::database::TestDatabase;

/// As in the examples of requests.
const COMMIT: &str = "9f3c2a1b7d4e8f60512a3b4c5d6e7f8091a2b3c4";
const DIGEST: &str = "sha256:1ff6c18fbef2045af6b9c16bf034cc421a29027b800e4f9b68ae9b1cb3e9ae07";

const DEFINITION: &str = r#"
ephemeralEnvironments:
  qa-1: { url: "https://{name}.example.com", labels: [qa], stages: [deploy], lease: { default: 4h, max: 24h } }
stages:
  build: { steps: [{ name: build, image: "alpine:3", run: ./build }] }
  deploy: { only: ephemeral, steps: [{ name: roll out, image: "alpine:3", run: ./deploy }] }
"#;

/// Texts of these fields are compared themselves; of all others, only their form.
const ENUMERATIONS: [&str; 6] = ["kind", "purpose", "reason", "status", "trigger", "stage"];

/// Returns the value with texts and numbers replaced by what they are: a time, the id of a kind of record, a text.
fn form(field: &str, value: &Value) -> Value {
    match value {
        Value::String(text) if ENUMERATIONS.contains(&field) => text.as_str().into(),
        Value::String(text) if text.parse::<Timestamp>().is_ok() => "time".into(),
        Value::String(text) => match text.split_once('_') {
            Some((prefix, id)) if Uuid::parse_str(id).is_ok() => prefix.into(),
            _ => "text".into(),
        },
        Value::Number(_) => "number".into(),
        Value::Array(items) => items.iter().map(|item| form(field, item)).collect(),
        Value::Object(members) => {
            let members = members.iter().map(|(name, member)| (name.clone(), form(name, member)));
            Value::Object(members.collect::<Map<_, _>>())
        }
        Value::Bool(_) | Value::Null => value.clone(),
    }
}

/// Collects the responses that differ from their example.
#[derive(Default)]
struct Differences(Vec<String>);

impl Differences {
    fn compare(&mut self, name: &str, example: &str, response: &Value) {
        let example: Value = serde_json::from_str(example).unwrap();
        self.compare_values(name, &example, response);
    }

    fn compare_values(&mut self, name: &str, example: &Value, response: &Value) {
        if form("", example) != form("", response) {
            self.0.push(format!("{name}: the server returned\n{response:#}"));
        }
    }
}

/// Runs the only step of a job, as a runner does.
async fn run_step(fixture: &DeploymentFixture, job: &Job) {
    let step = format!("/steps/{}", job.steps[0]);
    let start = json!({ "imageDigest": DIGEST });
    assert_eq!(fixture.report(job, &format!("{step}/start"), start).await.0, 200);
    let log = b"rolled out\n".to_vec();
    let end = json!({
        "status": "succeeded", "exitCode": 0, "logBytes": log.len(), "outputs": { "url": "https://qa-1.example.com" },
    });
    assert_eq!(fixture.log(job, &job.steps[0], 0, log).await.0, 200);
    assert_eq!(fixture.report(job, &format!("{step}/end"), end).await.0, 200);
    assert_eq!(fixture.report(job, "/complete", json!({})).await.0, 200);
}

#[tokio::test]
async fn examples_of_sessions_have_the_form_of_responses() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DEFINITION).await;
    let mate = fixture.server.member(&fixture.owner, "acme", "developer").await;
    let mut differences = Differences::default();
    let environment = format!("/pipelines/{}/ephemeral-environments/qa-1", fixture.pipeline);
    let as_mate = async |method: Method, path: &str, body: Value| {
        let path = format!("/organizations/acme{environment}{path}");
        let (status, response) = fixture.server.json(method, &path, &mate.token, Some(body)).await;
        (status.as_u16(), response)
    };

    let claim = json!({ "commitId": COMMIT, "context": "Checkout fix" });
    let (status, claimed) = fixture.call(Method::POST, &format!("{environment}/sessions"), claim).await;
    assert_eq!(status, 201, "{claimed}");
    differences.compare("session.json", example::SESSION, &claimed["data"]);
    let claim = json!({ "commitId": COMMIT, "context": "Search", "queue": true });
    let (status, queued) = as_mate(Method::POST, "/sessions", claim).await;
    assert_eq!(status, 202, "{queued}");
    differences.compare("queued_session.json", example::QUEUED_SESSION, &queued["data"]);

    let id = claimed["data"]["deployments"][0]["id"].as_str().unwrap();
    run_step(&fixture, &fixture.take(&fixture.advance(id).await).await).await;
    fixture.advance(id).await;
    let deployment = fixture.deployment(id).await;
    differences.compare("deployment.json", example::DEPLOYMENT, &deployment);
    let path = format!("/deployments/{id}/stages/deploy/attempts");
    let (_, attempts) = fixture.call(Method::GET, &path, Value::Null).await;
    differences.compare("attempts.json", example::ATTEMPTS, &attempts["data"]);
    let (_, record) = fixture.call(Method::GET, &environment, Value::Null).await;
    differences.compare("environment.json", example::ENVIRONMENT, &record["data"]);

    let path = format!("{environment}/sessions/{}", claimed["data"]["sessionId"].as_str().unwrap());
    let (status, released) = fixture.call(Method::DELETE, &path, Value::Null).await;
    assert_eq!(status, 200, "{released}");
    differences.compare("released_session.json", example::RELEASED_SESSION, &released["data"]);
    let (_, history) = fixture.call(Method::GET, &format!("{environment}/history"), Value::Null).await;
    differences.compare("history_entry.json", example::HISTORY_ENTRY, &history["data"][1]);

    // The commit that the session queued with is deployed; a deployment in a session has the form of the example's.
    let path = format!("/sessions/{}/deploy", queued["data"]["sessionId"].as_str().unwrap());
    let (status, accepted) = as_mate(Method::POST, &path, json!({ "commitId": COMMIT })).await;
    assert_eq!(status, 202, "{accepted}");
    let session: Value = serde_json::from_str(example::SESSION).unwrap();
    let mut expected = session["deployments"][0].clone();
    // The first deployment of the session has the work slot.
    expected["waitingOn"] = accepted["data"]["waitingOn"].clone();
    differences.compare_values("deployments of session.json", &expected, &accepted["data"]);
    assert!(differences.0.is_empty(), "{}", differences.0.join("\n"));
    fixture.end().await;
}

#[tokio::test]
async fn examples_of_deployments_have_the_form_of_responses() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DEFINITION).await;
    let mut differences = Differences::default();
    let path = format!("/pipelines/{}/deployments", fixture.pipeline);
    let (status, accepted) = fixture.call(Method::POST, &path, json!({ "commitId": COMMIT })).await;
    assert_eq!(status, 202, "{accepted}");
    differences.compare("accepted_deployment.json", example::ACCEPTED_DEPLOYMENT, &accepted["data"]);
    let id = accepted["data"]["id"].as_str().unwrap();
    let job = fixture.take(&fixture.advance(id).await).await;
    let start = format!("/steps/{}/start", job.steps[0]);
    assert_eq!(fixture.report(&job, &start, json!({})).await.0, 200);
    let path = format!("/deployments/{id}/cancel");
    let (status, canceling) = fixture.call(Method::POST, &path, json!({})).await;
    assert_eq!(status, 202, "{canceling}");
    differences.compare("canceling_deployment.json", example::CANCELING_DEPLOYMENT, &canceling["data"]);
    let (_, list) = fixture.call(Method::GET, "/deployments", Value::Null).await;
    assert_eq!(form("", &list["data"][0]), form("", &canceling["data"]), "a list contains the same summary");
    assert!(differences.0.is_empty(), "{}", differences.0.join("\n"));
    fixture.end().await;
}
