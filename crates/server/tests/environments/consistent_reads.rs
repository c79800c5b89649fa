//! Reads that are concurrent with renewals at the last moment: a lease is shown as expired only if its end is
//! recorded.

use std::time::Duration;

use serde_json::json;
use sqlx::{Connection, PgConnection, PgPool, Postgres, Transaction};

use crate::fixture::EnvironmentFixture;
use crate::support::database::TestDatabase;
use crate::support::eventually;

const DEFINITION: &str = "ephemeralEnvironments:\n  qa-1: {}\n  qa-2: {}\n  qa-3: {}\nstages:\n  build:\n    steps:\n      - image: busybox\n        run: 'true'\n";
const DEADLINE: Duration = Duration::from_secs(10);

/// Makes the lease expire in this many seconds and renews it in a transaction that is not committed yet.
async fn renew_in_time<'a>(
    pool: &PgPool,
    connection: &'a mut PgConnection,
    (name, seconds): (&str, f64),
) -> Transaction<'a, Postgres> {
    sqlx::query(
        "update environments set expires_at = clock_timestamp() + $2 * interval '1 second' where name = $1",
    )
    .bind(name)
    .bind(seconds)
    .execute(pool)
    .await
    .unwrap();
    let mut renewal = connection.begin().await.unwrap();
    sqlx::query("update environments set expires_at = clock_timestamp() + interval '1 hour' where name = $1")
        .bind(name)
        .execute(&mut *renewal)
        .await
        .unwrap();
    renewal
}

async fn is_over(pool: &PgPool, name: &str) -> bool {
    sqlx::query_scalar("select expires_at < clock_timestamp() from environments where name = $1")
        .bind(name)
        .fetch_one(pool)
        .await
        .unwrap()
}

async fn waiting_for_rows(pool: &PgPool) -> bool {
    let waiting = "select count(*) > 0 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    sqlx::query_scalar(waiting).fetch_one(pool).await.unwrap()
}

#[tokio::test]
async fn a_list_does_not_show_a_lease_as_expired_while_it_is_renewed() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::with(&pool, DEFINITION).await;
    let names = ["qa-1", "qa-2", "qa-3"];
    for name in names {
        fixture
            .send(&fixture.dev, reqwest::Method::POST, &format!("//{name}/sessions"), json!({}))
            .await
            .is(201);
    }
    let mut connections = Vec::new();
    for _ in names {
        connections.push(PgConnection::connect_with(&pool.connect_options()).await.unwrap());
    }
    let mut renewals = Vec::new();
    for (connection, lease) in connections.iter_mut().zip([("qa-3", 1.6), ("qa-2", 0.8), ("qa-1", 0.0)]) {
        renewals.push(renew_in_time(&pool, connection, lease).await);
    }
    let base = format!("/organizations/acme/pipelines/{}/ephemeral-environments", fixture.pipeline);
    let mut list = Box::pin(fixture.server.json(reqwest::Method::GET, &base, &fixture.owner.token, None));
    // Each time the list waits for a row lock, the next lease expires before the renewal of this one is
    // committed.
    let (status, response) = loop {
        let next = match renewals.len() {
            3 => Some("qa-2"),
            2 => Some("qa-3"),
            _ => None,
        };
        let blocked = async {
            assert!(eventually(DEADLINE, async || waiting_for_rows(&pool).await).await);
            if let Some(next) = next {
                assert!(eventually(DEADLINE, async || is_over(&pool, next).await).await);
            }
        };
        tokio::select! {
            biased;
            response = &mut list => break response,
            () = blocked => renewals.pop().unwrap().commit().await.unwrap(),
        }
    };
    assert_eq!(status, 200, "{response}");
    for environment in response["data"].as_array().unwrap() {
        assert_eq!(environment["lock"]["status"], "locked", "{environment}");
    }
    drop((list, renewals));
    fixture.end().await;
}
