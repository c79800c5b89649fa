//! Opens one connection and closes it, so that a console command fails with the reason instead of the pool's
//! timeout.

use std::str::FromStr;
use std::time::Duration;

use greenroom_boxed_futures::boxed_futures;
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection};

use crate::StoreError;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Checks that the database at this URL accepts a connection.
#[boxed_futures]
pub async fn probe(url: &str) -> Result<(), StoreError> {
    let options = PgConnectOptions::from_str(url)?;
    let connecting = tokio::time::timeout(CONNECT_TIMEOUT, options.connect()).await;
    let connection = connecting.map_err(|_| sqlx::Error::PoolTimedOut)??;
    Ok(connection.close().await?)
}
