//! What a step shows while it is running.

use std::time::Duration;

use greenroom_app::limits::LimitSettings;
use greenroom_server::http::Limits;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::ConnectOptions as _;

use crate::evidence_fixture::{DEFINITION, FAILURE, FIRST, SECOND, noise};
use crate::fixture::{DeploymentFixture, Job};
use crate::support::TestServer;
use crate::support::database::TestDatabase;

/// Starts the first step of a deployment with this log, after a good run.
async fn running(fixture: &DeploymentFixture, log: Vec<u8>) -> (String, Job) {
    fixture.deploy("qa-1", &fixture.owner, FIRST, noise(1, ""), 0).await;
    let (_, id) = fixture.claim_and_deploy("qa-1", &fixture.owner, SECOND).await;
    let job = fixture.take(&fixture.advance(&id).await).await;
    let step = job.steps[0].clone();
    assert_eq!(of_step(fixture, &id, &step).await.0, 404, "not started");
    assert_eq!(fixture.report(&job, &format!("/steps/{step}/start"), json!({})).await.0, 200);
    assert_eq!(fixture.log(&job, &step, 0, log).await.0, 200);
    (id, job)
}

async fn of_step(fixture: &DeploymentFixture, id: &str, step: &str) -> (u16, Value) {
    let path = format!("/deployments/{id}/steps/{step}/evidence");
    fixture.call(Method::GET, &path, Value::Null).await
}

#[tokio::test]
async fn a_running_step_shows_the_line_that_good_runs_did_not_write() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DEFINITION).await;
    let log = noise(2, &format!("{FAILURE}\n"));
    let (id, job) = running(&fixture, log.clone()).await;
    let step = &job.steps[0];
    let (status, found) = of_step(&fixture, &id, step).await;
    assert_eq!(status, 200, "{found}");
    let (found, running) = (&found["data"], &found["data"]["running"]);
    assert!(found["failures"].as_array().unwrap().is_empty(), "nothing has failed yet");
    assert_eq!((&running["stage"], &running["step"]), (&json!("deploy"), &json!("migrate")));
    assert_eq!((&running["environment"], &running["stepRunId"]), (&json!("qa-1"), &json!(step)));
    assert_eq!(running["decisiveLine"], json!({ "line": 202, "text": FAILURE }));
    assert_eq!(
        (&running["decisive"], &running["evidence"][0]["new"]),
        (&json!("E1"), &json!(true)),
        "{running}"
    );
    // The runner's clock is wrong: the line was written before the step was started.
    assert_eq!(running["decisiveAt"], running["startedAt"], "{running}");
    assert!(running["log"]["silentSeconds"].as_u64().unwrap() < 60, "{running}");
    assert_eq!((&running["log"]["newLines"], &running["log"]["bytes"]), (&json!(1), &json!(log.len())));
    assert_eq!(running["log"]["baselines"].as_array().unwrap().len(), 1);
    assert_eq!(fixture.evidence(&id).await["running"], Value::Null, "only that of one step");

    let url = format!("{}/organizations/acme/deployments/{id}/steps/{step}/evidence", fixture.server.base);
    let request = fixture.server.client.get(url).bearer_auth(&fixture.owner.token);
    let text = request.header("accept", "text/markdown").send().await.unwrap().text().await.unwrap();
    assert!(
        text.contains("a step is running") && text.contains(FAILURE) && text.contains("E1 lines"),
        "{text}"
    );

    // A step that hangs: the time without output counts up to now.
    for query in [
        "update log_segments set at = clock_timestamp() - interval '10 minutes'",
        "update step_runs set started_at = clock_timestamp() - interval '11 minutes' where status = 'running'",
    ] {
        sqlx::query(query).execute(&pool).await.unwrap();
    }
    let (_, silent) = of_step(&fixture, &id, step).await;
    let seconds = silent["data"]["running"]["log"]["silentSeconds"].as_u64().unwrap();
    assert!((600..700).contains(&seconds), "{seconds}");

    let end = json!({ "status": "failed", "exitCode": 1, "logBytes": log.len() });
    assert_eq!(fixture.report(&job, &format!("/steps/{step}/end"), end).await.0, 200);
    assert_eq!(fixture.report(&job, "/complete", json!({})).await.0, 200);
    fixture.advance(&id).await;
    let (status, ended) = of_step(&fixture, &id, step).await;
    let (ended, expected) = (&ended["data"], (200, &Value::Null, &Value::Null));
    assert_eq!((status, &ended["running"], &ended["model"]), expected, "{ended}");
    assert_eq!(ended["failures"].as_array().unwrap().len(), 1);
    fixture.end().await;
}

/// An attacker requests the evidence of a running step with a large log again and again.
#[tokio::test]
async fn the_evidence_of_running_steps_counts_as_a_search() {
    let (_database, pool) = TestDatabase::create().await;
    let settings = LimitSettings { organization_search_mib: 1, ..LimitSettings::default() };
    let limits = Limits::with(Duration::from_secs(15), settings);
    let server = TestServer::start_on(pool.connect_options().to_url_lossy().as_str(), limits).await;
    let fixture = DeploymentFixture::on(server, DEFINITION).await;
    let line = b"0123456789 0123456789 0123456789 0123456789 0123456789 01234567\n";
    let (id, job) = running(&fixture, line.repeat(4 * 1024)).await;
    sqlx::query("update step_runs set log_bytes = 40 * 1024 * 1024 where status = 'running'")
        .execute(&pool)
        .await
        .unwrap();
    let (mut found, mut refused) = (0, 0);
    for _ in 0..6 {
        let (status, response) = of_step(&fixture, &id, &job.steps[0]).await;
        match status {
            200 => found += 1,
            _ => {
                assert_eq!((status, &response["limit"]), (429, &json!("organization_search_kib")));
                refused += 1;
            }
        }
    }
    assert!(found >= 1 && refused >= 4, "{found} found, {refused} refused");
    fixture.end().await;
}
