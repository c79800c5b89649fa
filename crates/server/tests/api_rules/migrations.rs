//! Migrations while the database is in use, and daemons whose schema is missing, appears or disappears.

use std::process::Stdio;
use std::time::{Duration, Instant};

use greenroom_server::admin::{MigrateCommand, MigrationRetry, migrate};
use greenroom_server::config::DatabaseConfig;
use reqwest::Method;
use sqlx::{ConnectOptions, PgPool};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::Command;

use crate::requests::problem;
use crate::support::database::TestDatabase;
use crate::support::{TestServer, eventually};

const TIMEOUT: Duration = Duration::from_secs(5);
/// Reverting to this version changes the table `jobs`.
const OLDER_VERSION: i64 = 11;

fn database(pool: &PgPool) -> DatabaseConfig {
    DatabaseConfig { database_url: pool.connect_options().to_url_lossy().to_string() }
}

fn up(retry_seconds: u64) -> MigrateCommand {
    MigrateCommand::Up { retry: MigrationRetry { retry_seconds } }
}

fn down(to: i64, retry_seconds: u64) -> MigrateCommand {
    MigrateCommand::Down { to, even_if_used: true, retry: MigrationRetry { retry_seconds } }
}

async fn newest(pool: &PgPool) -> i64 {
    sqlx::query_scalar("select max(version) from _sqlx_migrations").fetch_one(pool).await.unwrap()
}

#[tokio::test]
async fn a_migration_that_waits_for_a_lock_does_not_block_others() {
    let (_database, pool) = TestDatabase::create().await;
    let (all, database) = (newest(&pool).await, database(&pool));
    let mut reader = pool.begin().await.unwrap();
    sqlx::query("select count(*) from jobs").execute(&mut *reader).await.unwrap();
    let others = async {
        let (mut longest, started) = (Duration::ZERO, Instant::now());
        let waiting = "select count(*) from pg_stat_activity
                       where datname = current_database() and application_name = 'greenroom admin' and wait_event_type = 'Lock'";
        let waits = || async { sqlx::query_scalar::<_, i64>(waiting).fetch_one(&pool).await.unwrap() > 0 };
        assert!(eventually(TIMEOUT, waits).await, "the migration does not wait for the reader");
        // During several of its attempts all others can use the table.
        while started.elapsed() < Duration::from_secs(8) {
            let began = Instant::now();
            sqlx::query("select count(*) from jobs").execute(&pool).await.unwrap();
            longest = longest.max(began.elapsed());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        reader.rollback().await.unwrap();
        longest
    };
    let down = down(OLDER_VERSION, 60);
    let (migrated, longest) = tokio::join!(migrate(&database, &down), others);
    migrated.unwrap();
    assert!(longest < Duration::from_secs(4), "another transaction waited for {longest:?}");
    assert_eq!(newest(&pool).await, OLDER_VERSION);
    // Concurrent migrations wait for each other.
    let up = up(60);
    let (one, other) = tokio::join!(migrate(&database, &up), migrate(&database, &up));
    one.unwrap();
    other.unwrap();
    assert_eq!(newest(&pool).await, all);
}

#[tokio::test]
async fn a_migration_that_never_gets_its_lock_fails() {
    let (_database, pool) = TestDatabase::create().await;
    let mut reader = pool.begin().await.unwrap();
    sqlx::query("select count(*) from jobs").execute(&mut *reader).await.unwrap();
    let started = Instant::now();
    let error = migrate(&database(&pool), &down(OLDER_VERSION, 4)).await.unwrap_err().to_string();
    assert!(error.contains("did not get a lock") && error.contains("pg_stat_activity"), "{error}");
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    reader.rollback().await.unwrap();
    // It leaves neither a partial migration nor the advisory lock.
    migrate(&database(&pool), &up(0)).await.unwrap();
}

async fn readiness(server: &TestServer) -> (u16, String) {
    let response = server.client.get(format!("{}/readyz", server.origin)).send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

#[tokio::test]
async fn readiness_follows_the_schema() {
    let (_database, pool) = TestDatabase::create().await;
    let (all, database) = (newest(&pool).await, database(&pool));
    let server = TestServer::start(&pool).await;
    assert!(eventually(TIMEOUT, || server.is_ready()).await);
    let owner = server.organization("acme").await;

    // While this server is connected, what it needs is not reverted.
    let in_use =
        MigrateCommand::Down { to: all - 1, even_if_used: false, retry: MigrationRetry { retry_seconds: 1 } };
    let refused = migrate(&database, &in_use).await.unwrap_err().to_string();
    assert!(refused.contains("nothing was reverted") && refused.contains("--even-if-used"), "{refused}");
    assert!(server.is_ready().await);
    // A schema older than this build needs, also if it was up to date before.
    migrate(&database, &down(all - 1, 60)).await.unwrap();
    assert!(eventually(TIMEOUT, || async { !server.is_ready().await }).await, "ready without its schema");
    let (status, reason) = readiness(&server).await;
    let expected =
        format!("the database lacks migration {all:04}: run `greenroomd migrate up` with this version\n");
    assert_eq!((status, reason), (503, expected));
    assert_eq!(server.status("/livez").await, 200);
    let refused = server.request(&owner, Method::GET, "/pipelines").send().await.unwrap();
    problem(refused, 503, "database_unavailable").await;
    migrate(&database, &up(60)).await.unwrap();
    assert!(eventually(TIMEOUT, || server.is_ready()).await, "not ready though the schema has come");
    assert_eq!(server.request(&owner, Method::GET, "/pipelines").send().await.unwrap().status(), 200);

    // A newer schema is accepted: the migration runs first, and then the servers are replaced one by one.
    let newer = "insert into _sqlx_migrations (version, description, success, checksum, execution_time)
                 values (9999, 'of the next version', true, '', 0)";
    sqlx::query(newer).execute(&pool).await.unwrap();
    let becomes_unready =
        eventually(Duration::from_millis(2500), || async { !server.is_ready().await }).await;
    assert!(!becomes_unready, "{:?}", readiness(&server).await);
    // The older version can be started again by what migrates first, and can't revert what it does not have.
    migrate(&database, &up(60)).await.unwrap();
    assert!(migrate(&database, &down(all - 1, 60)).await.is_err());
    assert_eq!(newest(&pool).await, 9999);

    // A migration with a different checksum is not the one of this build.
    sqlx::query("update _sqlx_migrations set checksum = '' where version = 2").execute(&pool).await.unwrap();
    assert!(eventually(TIMEOUT, || async { !server.is_ready().await }).await);
    assert!(readiness(&server).await.1.contains("migration 0002 was applied"));
    server.end().await;
}

/// What a daemon on an empty database logs until its schema is migrated.
#[sqlx::test(migrations = false)]
async fn a_missing_migration_is_logged_in_one_line(pool: PgPool) {
    let url = pool.connect_options().to_url_lossy().to_string();
    let greenroomd = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_greenroomd"));
        command.args(arguments).env("GREENROOM_DATABASE_URL", &url).kill_on_drop(true);
        // With this variable it would print more than one line.
        command.env_remove("RUST_BACKTRACE");
        command.stderr(Stdio::piped()).stdout(Stdio::piped());
        command
    };
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let objects = format!(
        "file://{}",
        std::env::temp_dir().join(format!("greenroom-{}", uuid::Uuid::now_v7())).display()
    );
    let temporal = ["--temporal-address", "127.0.0.1:1"];
    let serve: Vec<&str> =
        ["serve", "--listen", &address, "--objects", &objects].into_iter().chain(temporal).collect();
    let worker: Vec<&str> = ["worker", "--objects", &objects].into_iter().chain(temporal).collect();
    let mut daemons = [greenroomd(&serve).spawn().unwrap(), greenroomd(&worker).spawn().unwrap()];
    let mut logs: Vec<_> =
        daemons.iter_mut().map(|daemon| BufReader::new(daemon.stderr.take().unwrap()).lines()).collect();
    let mut lines = Vec::new();
    for log in &mut logs {
        loop {
            let line = tokio::time::timeout(Duration::from_secs(30), log.next_line()).await;
            let line = line.unwrap().unwrap().unwrap();
            let is_it = line.contains("run `greenroomd migrate up`");
            lines.push(line);
            if is_it {
                break;
            }
        }
    }
    // Requests and time add no further lines.
    let client = reqwest::Client::builder().no_proxy().timeout(TIMEOUT).build().unwrap();
    for _ in 0..5 {
        let token = greenroom_app::token::new_secret();
        let request = client.get(format!("http://{address}/api/v1/me")).bearer_auth(token.reveal());
        assert_eq!(request.send().await.unwrap().status(), 503);
    }
    let admin = greenroomd(&["admin", "wake-all"]).output().await.unwrap();
    let printed = String::from_utf8(admin.stderr).unwrap();
    assert!(!admin.status.success());
    assert_eq!(printed.trim().lines().count(), 1, "{printed}");
    assert!(printed.contains("the database lacks") && printed.contains("greenroomd migrate up"), "{printed}");

    greenroom_store::MIGRATOR.run(&pool).await.unwrap();
    let is_ready = || async {
        client
            .get(format!("http://{address}/readyz"))
            .send()
            .await
            .is_ok_and(|response| response.status() == 200)
    };
    assert!(eventually(TIMEOUT, is_ready).await, "not ready though the schema has come");
    for (daemon, log) in daemons.iter_mut().zip(logs) {
        daemon.start_kill().unwrap();
        let mut rest = String::new();
        log.into_inner().read_to_string(&mut rest).await.unwrap();
        lines.extend(rest.lines().map(str::to_owned));
    }
    let complaints: Vec<&String> =
        lines.iter().filter(|line| line.contains("WARN") || line.contains("ERROR")).collect();
    // While the migrations are applied, a daemon may find that fewer are missing.
    let about_schema =
        complaints.iter().filter(|line| line.contains("the database lacks") && line.contains("from 0001 "));
    assert_eq!(about_schema.count(), 2, "{complaints:#?}");
    // Temporal is not reachable in this test either, which is logged separately.
    let others: Vec<_> = complaints
        .iter()
        .filter(|line| !line.contains("the database lacks"))
        .filter(|line| line.contains("relation") || line.contains("column") || line.contains("failed"))
        .collect();
    assert!(others.is_empty(), "{others:#?}");
}
