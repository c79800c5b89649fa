//! Lasting environments: one deployment works in one at a time, and an older one never replaces a newer one unless it
//! may.

use reqwest::Method;
use serde_json::{Value, json};

use crate::fixture::{DeploymentFixture, started, woken};
use crate::support::database::TestDatabase;

const RELEASE: &str = "environments: { production: {} }
stages:
  release: { environment: production, steps: [{ image: a, run: b }] }
";

const BUILD_AND_RELEASE: &str = "environments: { production: {} }
stages:
  build: { steps: [{ image: a, run: b }] }
  release: { needs: [build], environment: production, steps: [{ image: a, run: b }] }
";

const TWO_STAGES: &str = "environments: { production: {} }
stages:
  migrate: { environment: production, steps: [{ image: a, run: b }] }
  check: { needs: [migrate], steps: [{ image: a, run: b }] }
  release: { needs: [check], environment: production, steps: [{ image: a, run: b }] }
";

fn waits_for_slot(holder: &str, stage: &str) -> Value {
    json!([{ "kind": "work_slot", "deploymentId": holder, "stage": stage, "environment": "production" }])
}

#[tokio::test]
async fn one_deployment_works_in_production_at_a_time() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, RELEASE).await;
    let ids = started(&fixture, &pool, 3).await;
    let first = fixture.advance(&ids[0]).await;
    assert_eq!(first.dispatch.len(), 1);
    for waiting in [&ids[2], &ids[1]] {
        let advance = fixture.advance(waiting).await;
        assert!(advance.dispatch.is_empty() && !advance.ended);
        assert!(advance.again_in.unwrap().as_secs() > 3_600, "it is woken up: a poll is not needed");
        let record = fixture.deployment(waiting).await;
        assert_eq!(record["status"], "waiting");
        assert_eq!(record["waitingOn"], waits_for_slot(&ids[0], "release"));
    }
    fixture.run_job(&fixture.take(&first).await, 0).await;
    woken(&pool).await;
    assert!(fixture.advance(&ids[0]).await.ended);
    assert_eq!(woken(&pool).await, ids[1..2], "the oldest gets the slot");
    assert!(fixture.advance(&ids[2]).await.dispatch.is_empty());
    assert!(fixture.run_next_job(&ids[1], 0).await.ended);
    assert!(fixture.run_next_job(&ids[2], 0).await.ended);
    for id in &ids {
        assert_eq!(fixture.status(id).await, "succeeded");
    }
    fixture.end().await;
}

#[tokio::test]
async fn an_older_deployment_that_comes_later_is_superseded() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, BUILD_AND_RELEASE).await;
    let ids = started(&fixture, &pool, 2).await;
    // The build of the older one is slower.
    let slow = fixture.take(&fixture.advance(&ids[0]).await).await;
    fixture.run_next_job(&ids[1], 0).await;
    assert!(fixture.run_next_job(&ids[1], 0).await.ended);
    fixture.run_job(&slow, 0).await;
    assert!(fixture.advance(&ids[0]).await.ended);
    let record = fixture.deployment(&ids[0]).await;
    assert_eq!((&record["status"], &record["reason"]), (&json!("superseded"), &json!("outdated")));
    assert_eq!(fixture.stages(&ids[0]).await, ["succeeded", "skipped"]);
    assert_eq!(record["stages"][1]["reason"], "outdated");
    assert_eq!(
        fixture.event("deployment.superseded").await["data"]["after"]["deploymentId"],
        ids[0].as_str()
    );
    fixture.end().await;
}

#[tokio::test]
async fn a_deployment_that_waits_is_superseded_when_a_newer_one_becomes_live() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, BUILD_AND_RELEASE).await;
    let ids = started(&fixture, &pool, 2).await;
    fixture.run_next_job(&ids[1], 0).await;
    let release = fixture.take(&fixture.advance(&ids[1]).await).await;
    fixture.run_next_job(&ids[0], 0).await;
    assert_eq!(fixture.deployment(&ids[0]).await["waitingOn"], waits_for_slot(&ids[1], "release"));
    fixture.run_job(&release, 0).await;
    woken(&pool).await;
    assert!(fixture.advance(&ids[1]).await.ended);
    assert_eq!(woken(&pool).await, ids[..1]);
    assert!(fixture.advance(&ids[0]).await.ended);
    assert_eq!(fixture.status(&ids[0]).await, "superseded");
    // A newer one that failed is not live, so it supersedes nothing.
    let more = started(&fixture, &pool, 2).await;
    fixture.run_next_job(&more[1], 0).await;
    assert!(fixture.run_next_job(&more[1], 1).await.ended);
    fixture.run_next_job(&more[0], 0).await;
    assert!(fixture.run_next_job(&more[0], 0).await.ended);
    assert_eq!(fixture.status(&more[0]).await, "succeeded");
    fixture.end().await;
}

#[tokio::test]
async fn a_deployment_keeps_the_slot_between_its_stages() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, TWO_STAGES).await;
    let ids = started(&fixture, &pool, 2).await;
    let check = fixture.run_next_job(&ids[0], 0).await;
    assert_eq!(fixture.stages(&ids[0]).await, ["succeeded", "queued", "pending"]);
    assert!(fixture.advance(&ids[1]).await.dispatch.is_empty());
    assert_eq!(fixture.deployment(&ids[1]).await["waitingOn"], waits_for_slot(&ids[0], "migrate"));
    fixture.run_job(&fixture.take(&check).await, 0).await;
    assert!(fixture.run_next_job(&ids[0], 0).await.ended);
    assert_eq!(fixture.advance(&ids[1]).await.dispatch.len(), 1);
    fixture.end().await;
}

#[tokio::test]
async fn a_canceled_deployment_gives_the_slot_back() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, TWO_STAGES).await;
    let ids = started(&fixture, &pool, 3).await;
    fixture.advance(&ids[0]).await;
    fixture.advance(&ids[1]).await;
    fixture.advance(&ids[2]).await;
    // The one that waits first, so it is passed over.
    for id in [&ids[1], &ids[0]] {
        let (status, _) = fixture.call(Method::POST, &format!("/deployments/{id}/cancel"), json!({})).await;
        assert_eq!(status, 202);
    }
    woken(&pool).await;
    assert!(fixture.advance(&ids[0]).await.ended);
    assert_eq!(woken(&pool).await, ids[2..]);
    assert_eq!(fixture.advance(&ids[2]).await.dispatch.len(), 1);
    assert!(fixture.advance(&ids[1]).await.ended);
    fixture.end().await;
}

#[tokio::test]
async fn a_rollback_replaces_a_newer_deployment_and_needs_a_maintainer() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, RELEASE).await;
    let ids = started(&fixture, &pool, 3).await;
    assert!(fixture.run_next_job(&ids[0], 0).await.ended);
    assert!(fixture.run_next_job(&ids[1], 0).await.ended);
    let path = format!("/deployments/{}/stages/release/retry", ids[0]);
    let (status, refused) = fixture.call(Method::POST, &path, json!({})).await;
    assert_eq!((status, &refused["newerDeploymentId"]), (409, &json!(ids[2])));
    let rollback = json!({ "allowOlder": true });
    let developer = fixture.server.member(&fixture.owner, "acme", "developer").await;
    for path in [&path, "/pipelines/shop/deployments"] {
        let mut body = rollback.clone();
        if path.ends_with("deployments") {
            body["commitId"] = json!("0123abc");
        }
        let path = format!("/organizations/acme{path}");
        let (status, refused) = fixture.server.json(Method::POST, &path, &developer.token, Some(body)).await;
        assert_eq!((status.as_u16(), &refused["requiredRole"]), (403, &json!("maintainer")), "{refused}");
    }
    let (status, accepted) = fixture.call(Method::POST, &path, rollback).await;
    assert_eq!((status, &accepted["data"]["rollback"]), (202, &json!(true)), "{accepted}");
    assert!(fixture.run_next_job(&ids[0], 0).await.ended);
    assert_eq!(fixture.status(&ids[0]).await, "succeeded");
    // The rollback was accepted last, so it also replaces what was accepted before it.
    assert!(fixture.advance(&ids[2]).await.ended);
    assert_eq!(fixture.status(&ids[2]).await, "superseded");
    let next = fixture.start().await;
    assert!(fixture.run_next_job(&next, 0).await.ended);
    assert_eq!(fixture.status(&next).await, "succeeded");
    fixture.end().await;
}

/// Two deployments that each have the slot for which the other one waits.
#[tokio::test]
async fn of_two_deployments_that_block_each_other_the_older_one_ends() {
    let (_database, pool) = TestDatabase::create().await;
    let definition = "environments: { production: {}, staging: {} }
stages:
  first: { steps: [{ image: a, run: b }] }
  second: { steps: [{ image: a, run: b }] }
  stage: { needs: [first], environment: staging, steps: [{ image: a, run: b }] }
  release: { needs: [second], environment: production, steps: [{ image: a, run: b }] }
  check-staging: { needs: [stage, release], environment: staging, steps: [{ image: a, run: b }] }
  check-production: { needs: [stage, release], environment: production, steps: [{ image: a, run: b }] }
";
    let fixture = DeploymentFixture::new(&pool, definition).await;
    let ids = started(&fixture, &pool, 2).await;
    let job = async |id: &str, stage: &str| {
        let advance = fixture.advance(id).await;
        let mut found = None;
        for dispatch in &advance.dispatch {
            let key: String = sqlx::query_scalar("select stage_key from jobs where id = $1")
                .bind(dispatch.job_id.uuid())
                .fetch_one(&pool)
                .await
                .unwrap();
            if key == stage {
                found =
                    Some(greenroom_store::engine::Advance { dispatch: vec![*dispatch], ..advance.clone() });
                break;
            }
        }
        fixture.run_job(&fixture.take(&found.unwrap()).await, 0).await;
        fixture.advance(id).await;
    };
    job(&ids[0], "first").await;
    job(&ids[0], "stage").await;
    job(&ids[1], "second").await;
    job(&ids[1], "release").await;
    job(&ids[0], "second").await;
    assert_eq!(fixture.deployment(&ids[0]).await["waitingOn"][0]["deploymentId"], ids[1].as_str());
    woken(&pool).await;
    job(&ids[1], "first").await;
    assert!(woken(&pool).await.contains(&ids[0]));
    assert!(fixture.advance(&ids[0]).await.ended);
    assert_eq!(fixture.status(&ids[0]).await, "superseded");
    job(&ids[1], "stage").await;
    fixture.end().await;
}

/// A freeze that begins after the stage was queued is seen when its first step is to start.
#[tokio::test]
async fn a_freeze_holds_a_stage_that_no_step_of_which_has_started() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, TWO_STAGES).await;
    let ids = started(&fixture, &pool, 1).await;
    let job = fixture.take(&fixture.advance(&ids[0]).await).await;
    let freeze = json!({
        "name": "Holidays", "reason": "Everybody is away.", "environments": ["production"],
        "from": "2020-01-01T00:00:00Z", "to": "2190-01-01T00:00:00Z",
    });
    let (status, made) = fixture.call(Method::POST, "/freezes", freeze).await;
    assert_eq!(status, 201, "{made}");
    let start = format!("/steps/{}/start", job.steps[0]);
    assert_eq!(fixture.report(&job, &start, json!({})).await.0, 410);
    assert!(fixture.advance(&ids[0]).await.dispatch.is_empty());
    let record = fixture.deployment(&ids[0]).await;
    assert_eq!(record["stages"][0]["status"], "waiting");
    let waiting = &record["waitingOn"][0];
    assert_eq!((&waiting["kind"], &waiting["freezeId"]), (&json!("freeze"), &made["data"]["id"]));
    assert_eq!((&waiting["name"], &waiting["until"]), (&json!("Holidays"), &json!("2190-01-01T00:00:00Z")));
    // Another deployment waits for the freeze as well, and not for the slot: it was given back.
    let other = fixture.start().await;
    fixture.advance(&other).await;
    assert_eq!(fixture.deployment(&other).await["waitingOn"][0]["kind"], "freeze");
    woken(&pool).await;
    let path = format!("/freezes/{}", made["data"]["id"].as_str().unwrap());
    assert_eq!(fixture.call(Method::DELETE, &path, Value::Null).await.0, 200);
    assert_eq!(woken(&pool).await, [ids[0].clone(), other]);
    // The attempt did not count, and the slot stays between the stages although a freeze holds the second one.
    let check = fixture.run_next_job(&ids[0], 0).await;
    fixture.run_job(&fixture.take(&check).await, 0).await;
    assert_eq!(fixture.advance(&ids[0]).await.dispatch.len(), 1);
    fixture.end().await;
}

/// The freeze is committed while the start of the first step waits for it, and begins at that time.
#[tokio::test]
async fn a_freeze_that_begins_now_is_seen_by_a_concurrent_start() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, RELEASE).await;
    let id = fixture.start().await;
    let job = fixture.take(&fixture.advance(&id).await).await;
    let mut freeze = pool.begin().await.unwrap();
    sqlx::query(
        "select pg_advisory_xact_lock(hashtextextended('freezes ' || id::text, 0)) from organizations",
    )
    .execute(&mut *freeze)
    .await
    .unwrap();
    let start = format!("/steps/{}/start", job.steps[0]);
    let starting = fixture.report(&job, &start, json!({}));
    let committing = async {
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        sqlx::query(
            "insert into freezes (organization_id, id, name, reason, pipelines, environments, from_at, to_at, weekly, created_by)
             select id, id, 'Now', 'incident', '{}', '{}', clock_timestamp(), clock_timestamp() + interval '1 hour', '[]', id
             from organizations",
        )
        .execute(&mut *freeze)
        .await
        .unwrap();
        freeze.commit().await.unwrap();
    };
    let ((status, refused), ()) = tokio::join!(starting, committing);
    assert_eq!((status, &refused["code"]), (410, &json!("job_gone")), "{refused}");
    fixture.end().await;
}
