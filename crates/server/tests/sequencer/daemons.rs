//! Daemon processes that can be killed.

use std::net::TcpListener;
use std::process::Stdio;
use std::time::{Duration, Instant};

use sqlx::{ConnectOptions, PgPool};
use tokio::process::{Child, Command};
use uuid::Uuid;

const START_TIMEOUT: Duration = Duration::from_secs(30);

pub struct Database {
    pub url: String,
}

pub struct Organization {
    pub id: String,
    pub uuid: Uuid,
    pub token: String,
}

impl Database {
    pub fn of(pool: &PgPool) -> Self {
        Self { url: pool.connect_options().to_url_lossy().to_string() }
    }

    pub async fn bootstrap(&self, slug: &str) -> Organization {
        let output = self
            .command(&[
                "admin",
                "bootstrap",
                "--slug",
                slug,
                "--owner-name",
                "Owner",
                "--owner-email",
                "owner@example.test",
            ])
            .output()
            .await
            .unwrap();
        let made: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let id = made["organizationId"].as_str().unwrap().to_owned();
        let uuid = id.strip_prefix("org_").unwrap().parse().unwrap();
        Organization { id, uuid, token: made["token"].as_str().unwrap().to_owned() }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_greenroomd"));
        command
            .args(arguments)
            .env("GREENROOM_DATABASE_URL", &self.url)
            .env("GREENROOM_LOG", "warn")
            .kill_on_drop(true);
        command
    }
}

pub struct Daemon {
    child: Child,
    /// The URL without a path.
    pub address: String,
}

impl Daemon {
    pub async fn server(database: &Database) -> Self {
        Self::server_on(database, &free_address()).await
    }

    pub async fn server_on(database: &Database, address: &str) -> Self {
        let listen = address.strip_prefix("http://").unwrap();
        Self::start(database.command(&["serve", "--listen", listen]), address.to_owned()).await
    }

    pub async fn worker(database: &Database) -> Self {
        let address = free_address();
        let listen = address.strip_prefix("http://").unwrap();
        Self::start(database.command(&["worker", "--metrics-listen", listen]), address.clone()).await
    }

    async fn start(mut command: Command, address: String) -> Self {
        let child = command.stdin(Stdio::null()).spawn().unwrap();
        let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(1)).build().unwrap();
        let started = Instant::now();
        loop {
            let ready = client.get(format!("{address}/readyz")).send().await;
            if ready.is_ok_and(|response| response.status() == 200) {
                return Self { child, address };
            }
            assert!(started.elapsed() < START_TIMEOUT, "a daemon was not ready after {START_TIMEOUT:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Sends SIGKILL.
    pub async fn kill(&mut self) {
        self.child.kill().await.unwrap();
    }
}

fn free_address() -> String {
    format!("http://{}", TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap())
}
