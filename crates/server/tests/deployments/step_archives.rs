//! The archives of steps of registries, which the runner of a job downloads by their digest.

use greenroom_domain::id::{OrganizationId, PipelineId};
use greenroom_domain::step::{LockedStep, StepLock};
use greenroom_store::step_registry::NewStepVersion;
use reqwest::{Method, Response};
use serde_json::json;
use sha2::{Digest, Sha256};
use sqlx::PgPool;

use crate::fixture::{DeploymentFixture, Job};
use crate::runs::DIAMOND;
use crate::support::Caller;
use crate::support::database::TestDatabase;
use crate::support::steps::{new_version, publish};

/// Larger than a piece that is read from the database.
const ARCHIVE_BYTES: usize = 2_500_000;

/// Publishes a step in a registry of the organization, and locks it for the first version of a pipeline. Returns the digest and the
/// archive.
async fn locked(
    fixture: &DeploymentFixture,
    pool: &PgPool,
    owner: &Caller,
    pipeline: &str,
    name: &str,
) -> (String, Vec<u8>) {
    let body = json!({ "name": name, "url": "https://git.example.com/acme/steps.git" });
    let path = format!("/organizations/{}/step-registries", owner.organization);
    let (status, made) = fixture.server.json(Method::POST, &path, &owner.token, Some(body)).await;
    assert_eq!(status, 201, "{made}");
    let registry = made["data"]["id"].as_str().unwrap();
    let store = &fixture.server.server.app.store;
    let manifest = format!("name: roll-out\n# {name}\n");
    let archive: Vec<u8> = manifest.bytes().cycle().take(ARCHIVE_BYTES).collect();
    let version = NewStepVersion { archive: archive.clone(), ..new_version("roll-out", "1.0.0", &manifest) };
    let digest = version.digest.clone();
    publish(store, pool, registry, vec![version]).await;
    let step = LockedStep {
        registry_id: registry.parse().unwrap(),
        registry: name.to_owned(),
        name: "roll-out".to_owned(),
        version: "1.0.0".parse().unwrap(),
        digest: digest.clone(),
    };
    let lock: StepLock = [(format!("{name}/roll-out@v1"), step)].into_iter().collect();
    let organization: OrganizationId = owner.organization.parse().unwrap();
    let pipeline: PipelineId = pipeline.parse().unwrap();
    let mut transaction = store.system_transaction(organization).await.unwrap();
    transaction.write_step_lock(pipeline, 1, &lock).await.unwrap();
    transaction.commit().await.unwrap();
    (digest.to_string(), archive)
}

async fn get(fixture: &DeploymentFixture, job: &Job, digest: &str) -> Response {
    fixture.request_by(Method::GET, job, &format!("/steps/{digest}")).send().await.unwrap()
}

#[tokio::test]
async fn a_job_gets_what_its_definition_has_locked_and_nothing_else() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DIAMOND).await;
    let (own, archive) = locked(&fixture, &pool, &fixture.owner, &fixture.pipeline, "acme").await;
    let other_pipeline = fixture.server.pipeline(&fixture.owner, "Other").await;
    let (other, _) = locked(&fixture, &pool, &fixture.owner, &other_pipeline, "other").await;
    let stranger = fixture.server.organization("globex").await;
    let their_pipeline = fixture.server.pipeline(&stranger, "Theirs").await;
    let (theirs, _) = locked(&fixture, &pool, &stranger, &their_pipeline, "globex").await;

    let job = fixture.job_of(&fixture.pipeline).await;
    let response = get(&fixture, &job, &own).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "application/x-tar");
    let sha256 = response.headers()["x-greenroom-sha256"].to_str().unwrap().to_owned();
    let bytes = response.bytes().await.unwrap();
    assert!(bytes == archive, "{} of {} bytes", bytes.len(), archive.len());
    assert_eq!(sha256, format!("{:x}", Sha256::digest(&bytes)));

    let unknown = format!("sha256:{}", "0".repeat(64));
    let upper = own.to_uppercase().replace("SHA256", "sha256");
    for digest in [&other, &theirs, &unknown, &upper, "sha256:", "roll-out", "%00", "..%2F..%2Fheartbeat"] {
        assert_eq!(get(&fixture, &job, digest).await.status(), 404, "{digest}");
    }
    // A later version of the definition has another lock: a job that runs keeps its own.
    let body = json!({ "definition": DIAMOND.replace("build", "make") });
    let path = format!("/pipelines/{}", fixture.pipeline);
    let (status, response) = fixture.call(Method::PUT, &path, body).await;
    assert_eq!(status, 200, "{response}");
    assert_eq!(get(&fixture, &job, &own).await.status(), 200);
    let newer = fixture.job_of(&fixture.pipeline).await;
    assert_eq!(get(&fixture, &newer, &own).await.status(), 404);
    fixture.end().await;
}

#[tokio::test]
async fn a_job_that_is_forged_or_has_ended_gets_no_step() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DIAMOND).await;
    let (own, _) = locked(&fixture, &pool, &fixture.owner, &fixture.pipeline, "acme").await;
    assert_eq!(get(&fixture, &fixture.forged_job(), &own).await.status(), 410);
    let (job, other) = (fixture.job_of(&fixture.pipeline).await, fixture.job_of(&fixture.pipeline).await);
    // The id of one job with the token of another one.
    let mixed = Job { id: job.id, ..other };
    assert_eq!(get(&fixture, &mixed, &own).await.status(), 410);
    let path = format!("{}/runner/jobs/{}/steps/{own}", fixture.server.base, job.id);
    let user = fixture.server.client.get(path).bearer_auth(&fixture.owner.token).send().await.unwrap();
    assert_eq!(user.status(), 401);
    fixture.run_job(&job, 0).await;
    assert_eq!(get(&fixture, &job, &own).await.status(), 410);
    fixture.end().await;
}
