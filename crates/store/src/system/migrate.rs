//! The schema's versions, up and down.

use std::time::Duration;

use crate::{MIGRATOR, Store, StoreError};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigrationStatus {
    pub version: i64,
    pub description: String,
    pub applied: bool,
}

impl Store {
    /// Brings the schema up to date. Safe to run from several daemons at once: sqlx takes a lock.
    pub async fn migrate_up(&self) -> Result<(), StoreError> {
        MIGRATOR.run(&self.pool()).await.map_err(StoreError::Migrate)
    }

    /// Takes back every migration above `version`.
    pub async fn migrate_down(&self, version: i64) -> Result<(), StoreError> {
        MIGRATOR.undo(&self.pool(), version).await.map_err(StoreError::Migrate)
    }

    pub async fn migrations(&self) -> Result<Vec<MigrationStatus>, StoreError> {
        let known = sqlx::query_scalar!("select to_regclass('_sqlx_migrations') is not null")
            .fetch_one(&self.pool())
            .await?;
        // The table is sqlx's own and is not there before the first run, so this one query can't be checked at build time.
        let applied: Vec<(i64, Vec<u8>)> = if known == Some(true) {
            sqlx::query_as("select version, checksum from _sqlx_migrations where success")
                .fetch_all(&self.pool())
                .await?
        } else {
            Vec::new()
        };
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

    /// Whether the schema is the one this build was made for.
    pub async fn is_migrated(&self) -> Result<bool, StoreError> {
        Ok(self.migrations().await?.iter().all(|migration| migration.applied))
    }
}

/// Migrations may rewrite tables; the short time-outs of requests are not for them.
pub const MIGRATION_TIMEOUT: Duration = Duration::from_secs(60 * 60);
