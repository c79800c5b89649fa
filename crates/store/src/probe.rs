//! One connection, tried and closed: a command at the console then fails with the reason, where a pool would only time out.

use std::str::FromStr;
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection};

use crate::StoreError;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Connects to the database at this address, and closes the connection.
pub async fn probe(url: &str) -> Result<(), StoreError> {
    let options = PgConnectOptions::from_str(url)?;
    let connecting = tokio::time::timeout(CONNECT_TIMEOUT, options.connect()).await;
    let connection = connecting.map_err(|_| sqlx::Error::PoolTimedOut)??;
    Ok(connection.close().await?)
}
