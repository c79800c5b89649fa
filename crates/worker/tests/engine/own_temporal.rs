//! A Temporal server of one test, with its database in a file, which can be killed and restarted.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use uuid::Uuid;

use crate::temporal::connect;

/// Without the first three settings each dispatch waits for a 50 ms tick. With the last one a new run starts
/// early enough for a test to observe it.
const DYNAMIC: [&str; 4] = [
    "history.transferProcessorMaxPollRPS=1000",
    "history.timerProcessorMaxPollRPS=1000",
    "history.visibilityProcessorMaxPollRPS=200",
    "limit.historyCount.suggestContinueAsNew=200",
];

pub struct OwnTemporal {
    ports: [u16; 3],
    folder: PathBuf,
    child: Option<Child>,
}

fn program() -> PathBuf {
    let given = std::env::var_os("GREENROOM_TEST_TEMPORAL").map(PathBuf::from);
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let program = given.unwrap_or_else(|| checkout.join(".stack/.tools/venv/bin/temporal"));
    assert!(program.exists(), "no Temporal at {}: run dev/stack install", program.display());
    program
}

async fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port()
}

impl OwnTemporal {
    /// Chooses free ports without starting the server.
    async fn reserve_ports() -> Self {
        let folder = std::env::temp_dir().join(format!("greenroom-temporal-{}", Uuid::now_v7()));
        std::fs::create_dir(&folder).unwrap();
        Self { ports: [free_port().await, free_port().await, free_port().await], folder, child: None }
    }

    pub async fn start_new() -> Self {
        for _ in 0..5 {
            let mut temporal = Self::reserve_ports().await;
            if temporal.try_start().await {
                return temporal;
            }
            // Another process has taken one of the ports meanwhile.
        }
        panic!("Temporal did not start");
    }

    /// Starts the server again on its ports.
    pub async fn start(&mut self) {
        assert!(self.try_start().await, "Temporal did not start");
    }

    /// Returns false if the server ended early or is not reachable in time.
    async fn try_start(&mut self) -> bool {
        let [port, metrics, http] = self.ports.map(|port| port.to_string());
        let mut command = Command::new(program());
        command.args(["server", "start-dev", "--ip", "127.0.0.1", "--headless", "--log-level", "error"]);
        command.args(["--port", &port, "--metrics-port", &metrics, "--http-port", &http, "--db-filename"]);
        command.arg(self.folder.join("temporal.db"));
        command.args(["--sqlite-pragma", "journal_mode=wal", "--sqlite-pragma", "synchronous=normal"]);
        for value in DYNAMIC {
            command.args(["--dynamic-config-value", value]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        let address = self.address();
        let child = self.child.insert(command.spawn().unwrap());
        for _ in 0..300 {
            if child.try_wait().unwrap().is_some() {
                return false;
            }
            if connect(&address).await.is_some() {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        false
    }

    /// Kills the server without a graceful shutdown, as a power failure would.
    pub async fn kill(&mut self) {
        let mut child = self.child.take().expect("it runs");
        child.kill().await.unwrap();
    }

    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.ports[0])
    }
}

impl Drop for OwnTemporal {
    fn drop(&mut self) {
        drop(self.child.take());
        drop(std::fs::remove_dir_all(&self.folder));
    }
}
