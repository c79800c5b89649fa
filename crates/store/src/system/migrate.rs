//! The schema's versions, up and down, and whether the schema fits this build. A migration waits for locks only for a short
//! time: whoever needs the same table waits behind it for as long. Then it is rolled back and repeated after a pause, in which
//! the others go on.

use std::time::Duration;

use sqlx::Connection;
use sqlx::migrate::MigrateError;
use tokio::time::Instant;

use crate::{MIGRATOR, Store, StoreError};

/// How long a migration waits for a lock.
pub const MIGRATION_LOCK_TIMEOUT: Duration = Duration::from_secs(2);
/// Migrations may rewrite tables; the short time-outs of requests are not for them.
pub const MIGRATION_STATEMENT_TIMEOUT: Duration = Duration::from_secs(60 * 60);
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigrationStatus {
    pub version: i64,
    pub description: String,
    pub applied: bool,
}

/// The schema, compared with the migrations of this build.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schema {
    /// Migrations of this build that were not applied.
    pub missing: Vec<i64>,
    /// Migrations that were applied in another form than this build has.
    pub changed: Vec<i64>,
    /// Migrations that only a newer build has. The schema still fits: migrations run while the older version serves.
    pub newer: Vec<i64>,
}

impl Schema {
    /// Why this build can't work with the schema, and what to do; `None` if it can.
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

impl Store {
    /// Brings the schema up to date. Several may do so at the same time: they wait for each other.
    pub async fn migrate_up(&self, retry_for: Duration) -> Result<(), StoreError> {
        self.migrate(None, retry_for).await
    }

    /// Takes back every migration above `version`.
    pub async fn migrate_down(&self, version: i64, retry_for: Duration) -> Result<(), StoreError> {
        self.migrate(Some(version), retry_for).await
    }

    async fn migrate(&self, down_to: Option<i64>, retry_for: Duration) -> Result<(), StoreError> {
        let (started, mut pause) = (Instant::now(), FIRST_PAUSE);
        loop {
            // Not one of the pool: sqlx keeps the lock by which migrations exclude each other when one fails, and closing the
            // connection releases it.
            let mut connection = self.pool().acquire().await?.detach();
            let outcome = match down_to {
                None => MIGRATOR.run(&mut connection).await,
                Some(version) => MIGRATOR.undo(&mut connection, version).await,
            };
            if let Err(error) = connection.close().await {
                tracing::debug!(
                    error = &error as &dyn std::error::Error,
                    "a connection was not closed in order"
                );
            }
            let Err(error) = outcome else { return Ok(()) };
            let Some(version) = lock_timeout(&error) else { return Err(StoreError::Migrate(error)) };
            let what = version
                .map_or_else(|| "the migration".to_owned(), |version| format!("migration {version:04}"));
            let waited = started.elapsed().as_secs();
            if started.elapsed() + pause > retry_for {
                return Err(StoreError::MigrationLocked { what, seconds: waited });
            }
            tracing::warn!(
                waited_seconds = waited,
                "{what} did not get a lock that another transaction holds; rolled back, and retried in {} s",
                pause.as_secs()
            );
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
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
                // A migration that was changed after it was applied is not the one that was.
                applied: applied.iter().any(|(version, checksum)| {
                    *version == migration.version && *checksum == *migration.checksum
                }),
            })
            .collect())
    }

    /// Compares the schema with the migrations of this build, by one small query.
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

    /// The table is sqlx's own and is not there before the first run, so this one query can't be checked at build time.
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

/// The migration that did not get a lock in time, or was chosen to end a deadlock; `None` if it failed otherwise. The inner
/// `None`: it was the lock by which migrations exclude each other.
fn lock_timeout(error: &MigrateError) -> Option<Option<i64>> {
    let (error, version) = match error {
        MigrateError::Execute(error) => (error, None),
        MigrateError::ExecuteMigration(error, version) => (error, Some(*version)),
        _ => return None,
    };
    let code = error.as_database_error()?.code()?;
    matches!(code.as_ref(), "55P03" | "40P01").then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_that_does_not_fit_is_one_clear_line() {
        let schema = |missing: &[i64], changed: &[i64], newer: &[i64]| {
            let (missing, changed, newer) = (missing.to_vec(), changed.to_vec(), newer.to_vec());
            Schema { missing, changed, newer }.problem()
        };
        assert_eq!(schema(&[], &[], &[]), None);
        assert_eq!(schema(&[], &[], &[19, 20]), None, "a newer version is being rolled out");
        assert_eq!(
            schema(&[18], &[], &[]).as_deref(),
            Some("the database lacks migration 0018: run `greenroomd migrate up` with this version")
        );
        assert_eq!(
            schema(&[1, 2, 3], &[], &[]).as_deref(),
            Some(
                "the database lacks 3 migrations, from 0001 to 0003: run `greenroomd migrate up` with this version"
            )
        );
        assert!(schema(&[], &[5], &[]).is_some_and(|problem| problem.contains("0005")));
    }
}
