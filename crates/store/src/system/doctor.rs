//! How PostgreSQL is set up, for `greenroomd admin doctor`.

use greenroom_boxed_futures::boxed_futures;

use crate::{Store, StoreError};

#[derive(Clone, Debug, PartialEq)]
pub struct DatabaseSettings {
    /// Such as `150006` for 15.6.
    pub version: i32,
    pub max_connections: i32,
    /// Whether a commit survives a crash of the machine.
    pub fsync: bool,
    pub synchronous_commit: bool,
    pub full_page_writes: bool,
    /// Whether the role could read every organization's files, and change every setting.
    pub is_superuser: bool,
    /// The database's clock, in seconds since 1970.
    pub clock: f64,
}

#[boxed_futures]
impl Store {
    pub async fn database_settings(&self) -> Result<DatabaseSettings, StoreError> {
        Ok(sqlx::query_as!(
            DatabaseSettings,
            r#"select current_setting('server_version_num')::integer as "version!",
                      current_setting('max_connections')::integer as "max_connections!",
                      current_setting('fsync')::boolean as "fsync!",
                      current_setting('synchronous_commit') <> 'off' as "synchronous_commit!",
                      current_setting('full_page_writes')::boolean as "full_page_writes!",
                      current_setting('is_superuser')::boolean as "is_superuser!",
                      extract(epoch from clock_timestamp())::float8 as "clock!""#,
        )
        .fetch_one(&self.pool())
        .await?)
    }
}
