//! A runner under test, in this process, with its own folder.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use greenroom_client::{Connection, RunnerClient, Settings};
use greenroom_runner::backend::Backend;
use greenroom_runner::backend::process::Process;
use greenroom_runner::checkout::{Access, Protocols};
use greenroom_runner::job::folders::WorkDir;
use greenroom_runner::runner::{Runner, Stop};
use tokio::task::JoinSet;

use super::TIMEOUT;
use super::server::TOKEN;

pub struct TestRunner {
    pub folder: tempfile::TempDir,
    stop: Stop,
    task: JoinSet<()>,
}

impl TestRunner {
    /// Starts a runner whose steps are processes of this machine.
    pub fn with_processes(port: u16) -> Self {
        Self::with(port, |_| Process { entry: entry() })
    }

    pub fn with<B: Backend>(port: u16, backend: impl FnOnce(&Path) -> B) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let work_dir = WorkDir::take(folder.path()).unwrap();
        let settings = Settings { base: base(port), token: TOKEN.to_owned(), program: "test".to_owned() };
        let runner = Runner {
            client: RunnerClient::new(Connection::new(&settings).unwrap()),
            backend: Arc::new(backend(work_dir.path())),
            work_dir: Arc::new(work_dir),
            concurrency: 1,
            access: Arc::new(local_access()),
            drain: Duration::from_secs(60),
        };
        let stop = Stop::default();
        let mut task = JoinSet::new();
        let stop_token = stop.clone();
        task.spawn(async move {
            runner.run(stop_token).await.unwrap();
        });
        TestRunner { folder, stop, task }
    }

    /// Drains the runner, and asserts that no job folder is left.
    pub async fn finish(mut self) {
        self.stop.drain.cancel();
        let ended = tokio::time::timeout(TIMEOUT, self.task.join_next()).await;
        ended.expect("the runner ends").unwrap().unwrap();
        let left: Vec<_> = std::fs::read_dir(self.folder.path().join("jobs")).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// Returns what checkouts may reach in tests, whose git servers are on this machine.
pub fn local_access() -> Access {
    let allow = vec!["127.0.0.0/8".parse().unwrap()];
    Access { protocols: Protocols::Remote, allow }
}

pub fn base(port: u16) -> String {
    format!("http://127.0.0.1:{port}/api/v1")
}

/// Returns the entrypoint in the folder of this test binary, and builds it if it is missing.
pub fn entry() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let beside = own.parent().and_then(Path::parent).unwrap().join("greenroom-entry");
    if !beside.is_file() {
        let built =
            Command::new(env!("CARGO")).args(["build", "--quiet", "--package", "greenroom-entry"]).status();
        assert!(built.is_ok_and(|status| status.success()), "greenroom-entry could not be built");
    }
    beside
}
