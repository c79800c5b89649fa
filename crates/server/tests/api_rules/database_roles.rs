//! A daemon whose role owns no table: it works, and can't rewrite the record of events.

use std::time::Duration;

use greenroom_server::http::Limits;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions, PgPool};
use uuid::Uuid;

use crate::support::database::TestDatabase;
use crate::support::{TestServer, eventually};

/// What an operator runs.
const GRANTS: &str = include_str!("../../../store/grants/daemon.sql");
const ROLE: &str = "greenroom_daemon";
const INSUFFICIENT_PRIVILEGE: &str = "42501";

async fn execute(pool: &PgPool, statement: &str) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(AssertSqlSafe(statement.to_owned())).execute(pool).await.map(|_| ())
}

async fn partitions(pool: &PgPool) -> Vec<String> {
    let query = "select inhrelid::regclass::text from pg_inherits where inhparent = 'events'::regclass";
    sqlx::query_scalar(query).fetch_all(pool).await.unwrap()
}

/// Creates a role for this test with the rights of a daemon. Roles belong to all databases of the server.
async fn daemon_role(pool: &PgPool) -> (String, PgConnectOptions) {
    let (role, password) =
        (format!("{ROLE}_{}", Uuid::now_v7().simple()), Uuid::now_v7().simple().to_string());
    execute(pool, &format!("create role {role} login password '{password}'")).await.unwrap();
    execute(pool, &GRANTS.replace(ROLE, &role)).await.unwrap();
    let options = pool.connect_options().as_ref().clone().username(&role).password(&password);
    (role, options)
}

#[tokio::test]
async fn a_daemon_that_owns_no_table_works_and_can_not_change_events() {
    let (_database, pool) = TestDatabase::create().await;
    let (role, options) = daemon_role(&pool).await;
    let limits = Limits::new(Duration::from_secs(15), 512);
    let server = TestServer::start_on(options.to_url_lossy().as_str(), limits).await;
    let owner = server.organization("acme").await;
    server.member(&owner, "acme", "developer").await;
    let daemon = PgPoolOptions::new().max_connections(2).connect_with(options).await.unwrap();
    let has_events = || async {
        let count: i64 = sqlx::query_scalar("select count(*) from events").fetch_one(&daemon).await.unwrap();
        count > 0
    };
    assert!(eventually(Duration::from_secs(30), has_events).await, "no event was numbered");

    // Its housekeeping creates and drops partitions.
    let store = &server.server.app.store;
    let old =
        "create table events_2020_01 partition of events for values from ('2020-01-01Z') to ('2020-02-01Z')";
    execute(&pool, old).await.unwrap();
    assert!(store.ensure_event_partitions(6).await.unwrap() > 0);
    assert_eq!(store.drop_event_partitions(400).await.unwrap(), 1);
    // Not even with a retention that an attacker states.
    let before = partitions(&pool).await;
    assert!(store.drop_event_partitions(-10_000).await.is_ok());
    assert_eq!(partitions(&pool).await, before);

    let mut statements = [
        "update events set type = 'x'",
        "delete from events",
        "truncate events",
        "drop table events",
        "alter table events add column x text",
        "alter table events detach partition events_default",
        "create table x (y text)",
        "update event_intake set type = 'x'",
        "update _sqlx_migrations set success = true",
        "alter function drop_event_partitions(interval) security invoker",
    ]
    .map(str::to_owned)
    .to_vec();
    for partition in partitions(&pool).await {
        statements.push(format!("update {partition} set type = 'x'"));
        statements.push(format!("delete from {partition}"));
    }
    for statement in statements {
        let refused = execute(&daemon, &statement).await.expect_err(&statement);
        let code = refused.as_database_error().and_then(|error| error.code().map(|code| code.to_string()));
        assert_eq!(code.as_deref(), Some(INSUFFICIENT_PRIVILEGE), "{statement}: {refused}");
    }
    server.end().await;
    daemon.close().await;
    execute(&pool, &format!("drop owned by {role}")).await.unwrap();
    execute(&pool, &format!("drop role {role}")).await.unwrap();
}
