//! The connection to Temporal.

use temporalio_client::{Client, ClientOptions, Connection, ConnectionOptions, Url};

pub(crate) async fn connect(address: &str) -> anyhow::Result<Client> {
    let target = Url::parse(&format!("http://{address}"))?;
    let connection =
        Connection::connect(ConnectionOptions::new(target).identity("bare-engine").build()).await?;
    Ok(Client::new(connection, ClientOptions::new("default").build())?)
}
