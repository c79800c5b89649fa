//! How workers collect evidence: one failure of an organization at a time, and the calls of forges beside it.

use std::time::Duration;

use greenroom_recording_forge::{AppliesTo, Dialect, Fault, RecordingForge, TOKEN};
use greenroom_worker::evidence::{self, EvidenceBell};
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::evidence_fixture::{DEFINITION, FAILURE, FIRST, SECOND, THIRD, noise};
use crate::fixture::DeploymentFixture;
use crate::support::database::TestDatabase;

/// Connects a forge that has the repository of the pipeline.
async fn connected_forge(fixture: &DeploymentFixture, pool: &PgPool) -> RecordingForge {
    let forge = RecordingForge::start(Dialect::Github).await;
    forge.state().commits = vec![(SECOND.to_owned(), "Rename `orders`\u{202e}".to_owned())];
    forge.state().files = vec!["db/41.sql".to_owned()];
    let body = json!({
        "name": "github", "kind": "github", "address": forge.address(), "credential": { "token": TOKEN },
    });
    let (status, made) = fixture.call(Method::POST, "/forges", body).await;
    assert_eq!(status, 201, "{made}");
    let query = sqlx::query("update pipelines set repository = $1").bind(forge.repository());
    query.execute(pool).await.unwrap();
    forge
}

#[tokio::test]
async fn a_worker_leases_one_failure_of_an_organization_at_a_time() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DEFINITION).await;
    let owner = &fixture.owner;
    fixture.deploy("qa-1", owner, FIRST, noise(1, FAILURE), 1).await;
    fixture.deploy("qa-2", owner, FIRST, noise(2, FAILURE), 1).await;
    let store = &fixture.server.server.app.store;
    let first = store.lease_due_failure(&[]).await.unwrap().unwrap();
    assert_eq!(store.lease_due_failure(&[fixture.organization()]).await.unwrap(), None);
    let second = store.lease_due_failure(&[]).await.unwrap().unwrap();
    assert_ne!(first.id, second.id);
    assert_eq!(store.lease_due_failure(&[]).await.unwrap(), None);
    // A worker that fails gives its lease back; one that crashes loses it.
    store.put_off_failure(&first).await.unwrap();
    sqlx::query("update failures set due_at = now() - interval '1 s', leased_until = now() - interval '1 s'")
        .execute(&pool)
        .await
        .unwrap();
    let again = store.lease_due_failure(&[]).await.unwrap().unwrap();
    assert_eq!(again.tries, u32::from(again.id == first.id));
    fixture.collect().await;
    fixture.end().await;
}

#[tokio::test]
async fn a_connected_forge_lists_the_commits_since_it_was_good() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DEFINITION).await;
    let (owner, forge) = (&fixture.owner, connected_forge(&fixture, &pool).await);
    fixture.deploy("qa-1", owner, FIRST, noise(1, ""), 0).await;
    let (id, _) = fixture.deploy("qa-1", owner, SECOND, noise(2, FAILURE), 1).await;
    fixture.collect().await;
    let commits = fixture.evidence(&id).await["failures"][0]["changes"]["commits"].clone();
    assert_eq!((&commits["status"], &commits["total"]), (&json!("ready"), &json!(1)), "{commits}");
    assert_eq!(commits["list"][0]["commitId"], SECOND);
    assert!(!commits["list"][0]["title"].as_str().unwrap().contains('\u{202e}'), "{commits}");
    assert_eq!(commits["files"], json!(["db/41.sql"]));

    // A forge that does not respond costs the list only, and its error is recorded. The forge is in a network that only the
    // operator allows: what it has responded is in the log.
    let mut texts = Vec::new();
    for fault in [
        Fault::unauthorized(),
        Fault::Respond(302, vec![("location".to_owned(), "http://127.0.0.1:1/".to_owned())], Vec::new()),
        Fault::Respond(500, Vec::new(), b"{\"message\":\"out of order\"}".to_vec()),
        Fault::Respond(200, Vec::new(), b"hello".to_vec()),
    ] {
        forge.set_fault(AppliesTo::Everything, fault);
        let (id, _) = fixture.deploy("qa-1", owner, THIRD, noise(3, FAILURE), 1).await;
        fixture.collect().await;
        let failure = fixture.evidence(&id).await["failures"][0].clone();
        assert_eq!(failure["changes"]["commits"]["status"], "unavailable", "{failure}");
        assert_eq!(failure["verdict"]["kind"], "yours");
        let (_, record) = fixture.call(Method::GET, "/forges/github", Value::Null).await;
        texts.push(record["data"]["lastError"].as_str().unwrap().to_owned());
    }
    assert!(texts[0].contains("--outbound-allow"), "{texts:?}");
    texts.dedup();
    assert_eq!(texts.len(), 1, "{texts:?}");
    fixture.end().await;
}

#[tokio::test]
async fn a_slow_forge_delays_no_evidence() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DEFINITION).await;
    let (owner, forge) = (&fixture.owner, connected_forge(&fixture, &pool).await);
    fixture.deploy("qa-1", owner, FIRST, noise(1, ""), 0).await;
    forge.set_fault(AppliesTo::Everything, Fault::SlowAfter(Duration::from_secs(60)));
    let (first, _) = fixture.deploy("qa-1", owner, SECOND, noise(2, FAILURE), 1).await;
    let (second, _) = fixture.deploy("qa-1", owner, THIRD, noise(3, FAILURE), 1).await;
    let stop = CancellationToken::new();
    let store = fixture.server.server.app.store.clone();
    let running =
        evidence::run(store, fixture.evidence_sources(), EvidenceBell::default(), stop.child_token());
    let mut tasks = JoinSet::new();
    tasks.spawn(running);
    let begin = Instant::now();
    while fixture.evidence(&first).await["status"] != "ready"
        || fixture.evidence(&second).await["status"] != "ready"
    {
        assert!(begin.elapsed() < Duration::from_secs(10), "the evidence waits for the forge");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    stop.cancel();
    tasks.join_next().await.unwrap().unwrap();
    fixture.end().await;
}
