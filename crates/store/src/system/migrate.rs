//! Schema migrations, up and down, and whether the schema matches this build. A migration waits for locks
//! only for a short time, because other transactions on the same table wait behind it. Then it is rolled back
//! and retried after a backoff, in which the others continue.

use std::fmt;
use std::time::Duration;

use sqlx::Connection;
use sqlx::migrate::MigrateError;
use tokio::time::Instant;

use crate::{MIGRATOR, Store, StoreError};

/// How long a migration waits for a lock.
pub const MIGRATION_LOCK_TIMEOUT: Duration = Duration::from_secs(2);
/// Migrations may rewrite tables, so the short timeouts of requests do not apply to them.
pub const MIGRATION_STATEMENT_TIMEOUT: Duration = Duration::from_secs(60 * 60);
const INITIAL_BACKOFF: Duration = Duration::from_secs(1);
const MAX_BACKOFF: Duration = Duration::from_secs(15);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigrationStatus {
    pub version: i64,
    pub description: String,
    pub applied: bool,
}

/// The result of comparing the schema with the migrations of this build.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schema {
    /// Migrations of this build that were not applied.
    pub missing: Vec<i64>,
    /// Migrations that were applied with another content than this build has.
    pub changed: Vec<i64>,
    /// Migrations that only a newer build has. The schema still matches: migrations run while the older
    /// version serves.
    pub newer: Vec<i64>,
}

impl Schema {
    /// Returns why this build can't use the schema and what to do, or `None` if it can.
    pub fn problem(&self) -> Option<String> {
        let run = "run `greenroomd migrate up` with this version";
        match (self.missing.as_slice(), self.changed.first()) {
            ([], None) => None,
            ([], Some(version)) => Some(format!(
                "migration {version:04} was applied to the database in another form than this version has"
            )),
            ([version], _) => Some(format!("the database lacks migration {version:04}: {run}")),
            ([first, .., last], _) => {
                let count = self.missing.len();
                Some(format!("the database lacks {count} migrations, from {first:04} to {last:04}: {run}"))
            }
        }
    }
}

/// Returns the name under which PostgreSQL shows a daemon's connections: that of the pool, and the newest migration that this
/// build needs. So another version sees what it must not revert.
pub fn application_name(pool: &str) -> String {
    let newest = MIGRATOR.iter().map(|migration| migration.version).max().unwrap_or_default();
    format!("{pool}/{newest}")
}

impl Store {
    /// Applies all migrations. Concurrent calls wait for each other. A schema that has them all and those of a newer version
    /// stays as it is: an older program that is started again runs on it.
    pub async fn migrate_up(&self, retry_for: Duration) -> Result<(), StoreError> {
        let schema = self.schema().await?;
        if schema.problem().is_none() && !schema.newer.is_empty() {
            tracing::info!(newer = ?schema.newer, "the schema is the one of a newer version: there is nothing to apply");
            return Ok(());
        }
        self.migrate(None, retry_for).await
    }

    /// Reverts every migration above `version`. Refuses while daemons are connected that need one of them, unless
    /// `even_if_used`.
    pub async fn migrate_down(
        &self,
        version: i64,
        retry_for: Duration,
        even_if_used: bool,
    ) -> Result<(), StoreError> {
        let connections = self.connections_that_need_more_than(version).await?;
        if connections > 0 && !even_if_used {
            return Err(StoreError::SchemaInUse { version, connections });
        }
        self.migrate(Some(version), retry_for).await
    }

    async fn migrate(&self, down_to: Option<i64>, retry_for: Duration) -> Result<(), StoreError> {
        let (started, mut backoff) = (Instant::now(), INITIAL_BACKOFF);
        loop {
            // The connection is detached from the pool and closed: when a migration fails, sqlx keeps the
            // advisory lock of migrations, and closing the connection releases it.
            let mut connection = self.pool().acquire().await?.detach();
            let outcome = match down_to {
                None => MIGRATOR.run(&mut connection).await,
                Some(version) => MIGRATOR.undo(&mut connection, version).await,
            };
            if let Err(error) = connection.close().await {
                tracing::debug!(
                    error = &error as &dyn std::error::Error,
                    "could not close a connection cleanly"
                );
            }
            let Err(error) = outcome else { return Ok(()) };
            let Some(blocked) = BlockedMigration::of(&error) else { return Err(StoreError::Migrate(error)) };
            let what = blocked.to_string();
            let waited = started.elapsed().as_secs();
            if started.elapsed() + backoff > retry_for {
                return Err(StoreError::MigrationLocked { what, seconds: waited });
            }
            tracing::warn!(
                waited_seconds = waited,
                "{what} did not get a lock that another transaction holds; rolled back, and retried in {} s",
                backoff.as_secs()
            );
            tokio::time::sleep(backoff).await;
            backoff = (backoff * 2).min(MAX_BACKOFF);
        }
    }

    pub async fn migrations(&self) -> Result<Vec<MigrationStatus>, StoreError> {
        let applied = self.applied_migrations().await?;
        Ok(MIGRATOR
            .iter()
            .filter(|migration| migration.migration_type.is_up_migration())
            .map(|migration| MigrationStatus {
                version: migration.version,
                description: migration.description.to_string(),
                // A migration that was changed after it was applied does not count as applied.
                applied: applied.iter().any(|(version, checksum)| {
                    *version == migration.version && *checksum == *migration.checksum
                }),
            })
            .collect())
    }

    /// Compares the schema with the migrations of this build, with one small query.
    pub async fn schema(&self) -> Result<Schema, StoreError> {
        let applied = self.applied_migrations().await?;
        let mut schema = Schema::default();
        for migration in MIGRATOR.iter().filter(|migration| migration.migration_type.is_up_migration()) {
            match applied.iter().find(|(version, _)| *version == migration.version) {
                None => schema.missing.push(migration.version),
                Some((_, checksum)) if *checksum != *migration.checksum => {
                    schema.changed.push(migration.version)
                }
                Some(_) => {}
            }
        }
        let versions = applied.iter().map(|(version, _)| *version);
        schema.newer = versions.filter(|version| !MIGRATOR.version_exists(*version)).collect();
        Ok(schema)
    }

    async fn connections_that_need_more_than(&self, version: i64) -> Result<i64, StoreError> {
        let query = sqlx::query_scalar!(
            r#"select count(*) as "connections!" from pg_stat_activity
               where datname = current_database()
                 and substring(application_name from '^greenroom[a-z-]*/([0-9]+)$')::bigint > $1"#,
            version
        );
        Ok(query.fetch_one(&self.pool()).await?)
    }

    /// The table belongs to sqlx and does not exist before the first run, so this query can't be checked at
    /// build time.
    async fn applied_migrations(&self) -> Result<Vec<(i64, Vec<u8>)>, StoreError> {
        let applied =
            sqlx::query_as("select version, checksum from _sqlx_migrations where success order by version")
                .fetch_all(&self.pool())
                .await;
        match applied {
            Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some("42P01") => Ok(Vec::new()),
            applied => Ok(applied?),
        }
    }
}

/// What timed out waiting for a lock, or was aborted by a deadlock.
enum BlockedMigration {
    /// The run of all migrations, which waited for their advisory lock.
    Run,
    /// The migration with this version.
    Version(i64),
}

impl BlockedMigration {
    /// Returns `None` if the migration failed for another reason.
    fn of(error: &MigrateError) -> Option<Self> {
        let (error, blocked) = match error {
            MigrateError::Execute(error) => (error, Self::Run),
            MigrateError::ExecuteMigration(error, version) => (error, Self::Version(*version)),
            _ => return None,
        };
        let code = error.as_database_error()?.code()?;
        matches!(code.as_ref(), "55P03" | "40P01").then_some(blocked)
    }
}

impl fmt::Display for BlockedMigration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run => f.write_str("the migration"),
            Self::Version(version) => write!(f, "migration {version:04}"),
        }
    }
}
