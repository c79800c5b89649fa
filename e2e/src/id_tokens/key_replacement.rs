//! Replaces the server's signing key while the step runs. A key gets a successor after 30 days, which
//! signs an hour later; the harness moves these times in the database, and the server does the rest.

use std::time::Duration;

use anyhow::Context;
use serde_json::Value;
use sqlx::{Connection, PgConnection};

use crate::id_tokens::fixture::IdTokenFixture;
use crate::parts::deadline::Deadline;
use crate::parts::output::print_progress;

/// The server reads its keys again after 60 seconds.
const PUBLISH_TIMEOUT_SECONDS: u64 = 90;
const BECOMES_DUE: &str =
    "update signing_keys set use_from = clock_timestamp() - interval '31 days' where publish_until is null";
const IS_USED: &str = "update signing_keys set use_from = clock_timestamp() where publish_until is null";

impl IdTokenFixture {
    /// Waits for some seconds, and then replaces the key; without a time, it does nothing.
    pub(super) async fn replace_key(&self, after_seconds: Option<u64>) -> anyhow::Result<()> {
        let Some(seconds) = after_seconds else { return Ok(()) };
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        let mut connection = PgConnection::connect(self.parts.database_url()).await?;
        sqlx::query(BECOMES_DUE).execute(&mut connection).await?;
        let deadline = Deadline::in_seconds(PUBLISH_TIMEOUT_SECONDS);
        while self.published_keys().await? < 2 {
            deadline.wait(|| "no second signing key was published".to_owned()).await?;
        }
        sqlx::query(IS_USED).execute(&mut connection).await?;
        connection.close().await?;
        print_progress("the signing key has a successor");
        Ok(())
    }

    async fn published_keys(&self) -> anyhow::Result<usize> {
        let http = reqwest::Client::builder().no_proxy().build()?;
        let url = format!("http://{}/oidc/jwks.json", self.parts.api.address());
        let published: Value = http.get(url).send().await?.error_for_status()?.json().await?;
        Ok(published["keys"].as_array().context("the server publishes no keys")?.len())
    }
}
