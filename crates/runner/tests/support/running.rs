//! A runner under test, in this process, with a folder of its own.

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

use super::DEADLINE;
use super::server::TOKEN;

pub struct Running {
    pub folder: tempfile::TempDir,
    stop: Stop,
    task: JoinSet<()>,
}

impl Running {
    /// Steps are processes of this machine.
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
            access: Arc::new(local()),
            drain: Duration::from_secs(60),
        };
        let stop = Stop::default();
        let mut task = JoinSet::new();
        let told = stop.clone();
        task.spawn(async move {
            runner.run(told).await.unwrap();
        });
        Running { folder, stop, task }
    }

    /// Lets what runs come to its end, and sees to it that nothing is left.
    pub async fn finish(mut self) {
        self.stop.drain.cancel();
        let ended = tokio::time::timeout(DEADLINE, self.task.join_next()).await;
        ended.expect("the runner ends").unwrap().unwrap();
        let left: Vec<_> = std::fs::read_dir(self.folder.path().join("jobs")).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// What checkouts may reach in tests, whose git servers are on this machine.
pub fn local() -> Access {
    let allow = vec!["127.0.0.0/8".parse().unwrap()];
    Access { protocols: Protocols::Remote, allow }
}

pub fn base(port: u16) -> String {
    format!("http://127.0.0.1:{port}/api/v1")
}

/// The entrypoint that was built beside this test.
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
