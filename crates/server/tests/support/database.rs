//! A database for each test: a copy of a template that has all migrations. The template's name contains a hash
//! of the migrations, so it is created once for each state of them, by the first test that needs it.
#![expect(clippy::expect_used, clippy::print_stderr, reason = "a test may")]

use std::thread::JoinHandle;
use std::time::Duration;

use greenroom_store::MIGRATOR;
use sha2::{Digest, Sha256};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgConnection, PgPool};
use tokio::sync::oneshot;
use uuid::Uuid;

/// The key of the advisory lock that serializes the creation of templates. nextest runs each test in a separate
/// process.
const TEMPLATE_LOCK: i64 = 0x0074_656d_706c_6174;
const TEMPLATE_PREFIX: &str = "greenroom_template_";
const TEST_PREFIX: &str = "greenroom_test_";
const MAX_CONNECTIONS: u32 = 5;
/// For how long the sessions of a database may take to end before it is dropped.
const TERMINATION_TIMEOUT: Duration = Duration::from_secs(5);

/// Drops the database when it is dropped, also if the test panics.
pub struct TestDatabase {
    ended: Option<oneshot::Sender<()>>,
    keeper: Option<JoinHandle<()>>,
}

impl TestDatabase {
    /// Creates a database on the server of `DATABASE_URL`.
    pub async fn create() -> (Self, PgPool) {
        let (created, options) = oneshot::channel();
        let (ended, end) = oneshot::channel();
        // `drop` cannot wait for a future of the test's runtime, so a separate thread uses the connection.
        let keeper = std::thread::spawn(move || keep(created, end));
        let database = Self { ended: Some(ended), keeper: Some(keeper) };
        let options = options.await.expect("a test database; the cause is printed above");
        let pool = PgPoolOptions::new()
            .max_connections(MAX_CONNECTIONS)
            .idle_timeout(Duration::from_secs(1))
            .connect_with(options)
            .await
            .unwrap();
        (database, pool)
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        drop(self.ended.take());
        if let Some(keeper) = self.keeper.take() {
            let _ = keeper.join();
        }
    }
}

/// Creates a database, waits for the end of the test, and drops the database. The connection stays open all the
/// time: a test database whose name is no session's application name belongs to a process that was killed.
fn keep(created: oneshot::Sender<PgConnectOptions>, ended: oneshot::Receiver<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let name = format!("{TEST_PREFIX}{}", Uuid::now_v7().simple());
        let url = std::env::var("DATABASE_URL").expect("DATABASE_URL, the address of a PostgreSQL for tests");
        let server: PgConnectOptions = url.parse().unwrap();
        let mut connection = server.clone().application_name(&name).connect().await.unwrap();
        drop_stale(&mut connection).await;
        let template = template(&mut connection, &server).await;
        // Copying the files costs PostgreSQL less than writing their content to its log, the default.
        let create = format!("create database {name} template {template} strategy file_copy");
        execute(&mut connection, &create).await.unwrap();
        let _ = created.send(server.database(&name));
        let _ = ended.await;
        if let Err(error) = drop_database(&mut connection, &name).await {
            eprintln!("the test database {name} stays until the next test: {error}");
        }
    });
}

async fn execute(connection: &mut PgConnection, statement: &str) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(AssertSqlSafe(statement.to_owned())).execute(connection).await.map(|_| ())
}

/// Returns the name of the template. Creates it if there is none, and drops those that were created more than a
/// day ago; another branch may use a newer one.
async fn template(connection: &mut PgConnection, server: &PgConnectOptions) -> String {
    let name = template_name();
    if is_template(connection, &name).await {
        return name;
    }
    execute(connection, &format!("select pg_advisory_lock({TEMPLATE_LOCK})")).await.unwrap();
    if !is_template(connection, &name).await {
        let old = "select datname::text from pg_database
                   where datname ^@ $1 and shobj_description(oid, 'pg_database')::timestamptz < now() - interval '1 day'";
        let old: Vec<String> =
            sqlx::query_scalar(old).bind(TEMPLATE_PREFIX).fetch_all(&mut *connection).await.unwrap();
        for old in old {
            execute(connection, &format!("alter database {old} is_template false")).await.unwrap();
            execute(connection, &format!("drop database {old}")).await.unwrap();
        }
        // One that a killed process has not completed.
        execute(connection, &format!("drop database if exists {name} with (force)")).await.unwrap();
        execute(connection, &format!("create database {name} template template0")).await.unwrap();
        let mut migrated = server.clone().database(&name).connect().await.unwrap();
        MIGRATOR.run(&mut migrated).await.unwrap();
        migrated.close().await.unwrap();
        let comment =
            format!("do $$ begin execute format('comment on database {name} is %L', now()); end $$");
        execute(connection, &comment).await.unwrap();
        // This marks it as complete. A session in it would make copying fail.
        let complete = format!("alter database {name} allow_connections false is_template true");
        execute(connection, &complete).await.unwrap();
    }
    execute(connection, &format!("select pg_advisory_unlock({TEMPLATE_LOCK})")).await.unwrap();
    name
}

fn template_name() -> String {
    let mut hash = Sha256::new();
    for migration in MIGRATOR.iter() {
        hash.update(migration.version.to_be_bytes());
        hash.update(&migration.checksum);
    }
    let hash: String = hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("{TEMPLATE_PREFIX}{hash}")
}

async fn is_template(connection: &mut PgConnection, name: &str) -> bool {
    let query = "select exists (select from pg_database where datname = $1 and datistemplate)";
    sqlx::query_scalar(query).bind(name).fetch_one(connection).await.unwrap()
}

/// Drops the databases of tests that were killed.
async fn drop_stale(connection: &mut PgConnection) {
    let stale = "select datname::text from pg_database
                 where datname ^@ $1 and datname not in (select application_name from pg_stat_activity)";
    let stale: Vec<String> =
        sqlx::query_scalar(stale).bind(TEST_PREFIX).fetch_all(&mut *connection).await.unwrap();
    for name in stale {
        // Another test may drop the same one concurrently, or its own test may have just dropped it.
        let _ = execute(connection, &format!("drop database if exists {name} with (force)")).await;
    }
}

/// Ends the sessions of a database and drops it. `with (force)` alone would do that too, but it checks only every
/// 100 ms whether the sessions have ended.
async fn drop_database(connection: &mut PgConnection, name: &str) -> Result<(), sqlx::Error> {
    let started = std::time::Instant::now();
    let terminate = "select count(pg_terminate_backend(pid)) from pg_stat_activity where datname = $1";
    while started.elapsed() < TERMINATION_TIMEOUT {
        let sessions: i64 = sqlx::query_scalar(terminate).bind(name).fetch_one(&mut *connection).await?;
        if sessions == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    execute(connection, &format!("drop database {name} with (force)")).await
}
