//! `admin verify`: nothing is found in a database that works, and each damage is.

use std::time::Duration;

use greenroom_server::verify::{require_complete, verify};
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::fixture::DeploymentFixture;
use crate::support::database::TestDatabase;
use crate::support::eventually;

const SHOP: &str = r#"
environments: { production: {} }
ephemeralEnvironments: { qa-1: {}, qa-2: {} }
stages:
  build:
    artifacts: [out]
    steps: [{ image: a, run: b }]
"#;

const DAMAGES: &str = include_str!("../../../../e2e/damages.sql");

async fn found(fixture: &DeploymentFixture) -> Value {
    let app = &fixture.server.server.app;
    verify(&app.store, &app.keys, Some(&app.objects)).await.unwrap()
}

fn has(found: &Value, invariant: &str) -> bool {
    let broken = found["broken"].as_array().unwrap();
    broken.iter().any(|broken| broken["invariant"].as_str().unwrap().starts_with(invariant))
}

/// A shop with a deployment that has a log and an artifact, a session, one that has ended, and secrets.
async fn shop(pool: &PgPool) -> DeploymentFixture {
    let fixture = DeploymentFixture::new(pool, SHOP).await;
    for name in ["first", "second", "other"] {
        let secret = json!({ "name": name, "value": format!("value of {name}") });
        assert_eq!(fixture.call(Method::POST, "/secrets", secret).await.0, 201);
    }
    let owner = fixture.owner.clone();
    let (ended, _) = fixture.claim("qa-2", &owner, "sessions").await;
    fixture.release("qa-2", &owner, &ended).await;
    fixture.claim("qa-1", &owner, "sessions").await;
    let deployment = fixture.start().await;
    let job = fixture.take(&fixture.advance(&deployment).await).await;
    let step = &job.steps[0];
    assert_eq!(fixture.report(&job, &format!("/steps/{step}/start"), json!({})).await.0, 200);
    assert_eq!(fixture.log(&job, step, 0, b"built".to_vec()).await.0, 200);
    let archive = fixture.request_by(Method::PUT, &job, "/artifact").body(vec![0_u8; 1024]);
    assert_eq!(archive.send().await.unwrap().status(), 200);
    fixture
}

#[tokio::test]
async fn each_damage_is_found() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = shop(&pool).await;
    let sequenced = eventually(Duration::from_secs(10), || async {
        sqlx::query_scalar::<_, i64>("select count(*) from event_intake").fetch_one(&pool).await.unwrap() == 0
    });
    assert!(sequenced.await);
    let before = found(&fixture).await;
    assert_eq!(before["broken"], json!([]), "{before:#}");
    assert!(before["objects"].as_u64().unwrap() >= 1 && before["sealed"].as_u64().unwrap() >= 4, "{before}");
    require_complete(&before).unwrap();
    for damage in DAMAGES.split("-- breaks: ").skip(1) {
        let (invariant, damage) = damage.split_once('\n').unwrap();
        // The damages add up. Each one adds at least one row to what is found.
        let earlier = found(&fixture).await["broken"].clone();
        let script =
            format!("set session_replication_role = replica; {damage} set session_replication_role = origin");
        let mut connection = pool.acquire().await.unwrap();
        sqlx::raw_sql(sqlx::AssertSqlSafe(script)).execute(&mut *connection).await.unwrap();
        let after = found(&fixture).await;
        assert!(has(&after, invariant) && after["broken"] != earlier, "`{damage}` was not found: {after:#}");
        require_complete(&after).unwrap_err();
    }
    fixture.end().await;
}
