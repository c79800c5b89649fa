//! What is shown about runners: whether they take jobs, and which ones they have.

use reqwest::Method;
use serde_json::{Value, json};

use crate::environments::SHOP;
use crate::fixture::{DeploymentFixture, Job};
use crate::support::database::TestDatabase;

async fn runner(fixture: &DeploymentFixture) -> Value {
    let (status, list) = fixture.call(Method::GET, "/runners", Value::Null).await;
    assert_eq!(status, 200, "{list}");
    list["data"][0].clone()
}

async fn drain(fixture: &DeploymentFixture, job: &Job) {
    let request = fixture.request_by(Method::POST, job, "/heartbeat").header("x-greenroom-draining", "true");
    assert_eq!(request.send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_runner_shows_its_status_and_its_jobs() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let idle = runner(&fixture).await;
    assert_eq!(
        (&idle["status"], &idle["jobs"]),
        (&json!("offline"), &json!([])),
        "it has sent no request yet"
    );
    assert_eq!(fixture.request_job(json!({ "waitSeconds": 0 })).await.0, 204);
    assert_eq!(runner(&fixture).await["status"], "online");

    let id = fixture.start().await;
    let job = fixture.take(&fixture.advance(&id).await).await;
    let busy = runner(&fixture).await;
    let own = &busy["jobs"][0];
    assert_eq!((&own["jobId"], &own["deploymentId"]), (&json!(job.id.to_string()), &json!(id)));
    assert!(own["startedAt"].is_string() && own["stage"].is_string(), "{busy}");
    drain(&fixture, &job).await;
    assert_eq!(runner(&fixture).await["status"], "draining");
    let (_, beat) = fixture.report(&job, "/heartbeat", json!({})).await;
    assert!(beat["data"]["leaseSeconds"].is_number(), "{beat}");
    assert_eq!(runner(&fixture).await["status"], "draining", "only a request for a job ends it");

    // A runner that is gone is offline, also if it was draining.
    let silence = "update runners set last_seen_at = clock_timestamp() - interval '61 seconds'";
    sqlx::query(silence).execute(&pool).await.unwrap();
    assert_eq!(runner(&fixture).await["status"], "offline");
    assert_eq!(fixture.request_job(json!({ "waitSeconds": 0 })).await.0, 204);
    assert_eq!(runner(&fixture).await["status"], "online", "it was started again");
    fixture.run_job(&job, 0).await;
    assert_eq!(runner(&fixture).await["jobs"], json!([]));

    let path = format!("/runners/{}", idle["id"].as_str().unwrap());
    let (_, revoked) = fixture.call(Method::DELETE, &path, Value::Null).await;
    assert_eq!(revoked["data"]["status"], "offline");
    fixture.end().await;
}

/// Developers and viewers can't read runners and pools, but see whether there is a runner for their stage.
#[tokio::test]
async fn a_stage_that_waits_shows_how_many_runners_are_online() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let viewer = fixture.server.member(&fixture.owner, "acme", "viewer").await;
    let id = fixture.start().await;
    fixture.advance(&id).await;
    let online = async || {
        let path = format!("/organizations/acme/deployments/{id}");
        let (status, record) = fixture.server.json(Method::GET, &path, &viewer.token, None).await;
        assert_eq!(status, 200, "{record}");
        let waiting = &record["data"]["waitingOn"][0];
        assert_eq!((&waiting["kind"], &waiting["pool"]), (&json!("runner"), &json!("default")), "{record}");
        waiting["online"].clone()
    };
    assert_eq!(online().await, 0);
    let seen = "update runners set last_seen_at = clock_timestamp()";
    sqlx::query(seen).execute(&pool).await.unwrap();
    assert_eq!(online().await, 1);
    // Those of other pools, and of other organizations, do not count.
    let body = json!({ "name": "runner-2", "pool": "big" });
    assert_eq!(fixture.call(Method::POST, "/runners", body).await.0, 201);
    let stranger = fixture.server.organization("other").await;
    let path = format!("/organizations/{}/runners", stranger.organization);
    let body = json!({ "name": "runner-3" });
    assert_eq!(fixture.server.json(Method::POST, &path, &stranger.token, Some(body)).await.0, 201);
    sqlx::query(seen).execute(&pool).await.unwrap();
    assert_eq!(online().await, 1);
    for sql in [
        "update runners set draining = true",
        "update runners set draining = false, revoked_at = clock_timestamp()",
    ] {
        sqlx::query(sql).execute(&pool).await.unwrap();
        assert_eq!(online().await, 0, "{sql}");
    }
    fixture.end().await;
}
