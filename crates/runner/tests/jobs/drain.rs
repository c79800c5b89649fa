//! The runner program: draining on SIGTERM, and clean-up after a killed process.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use greenroom_api_types::runner::StepEndStatus;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::{Child, Command};

use crate::support::jobs::{job, secret_file};
use crate::support::server::{Server, TOKEN};
use crate::support::test_runner::{base, entry};
use crate::support::{TIMEOUT, eventually};

pub(crate) struct Program {
    child: Child,
}

impl Program {
    pub(crate) fn start(server: &Server, folder: &Path, drain_seconds: u64) -> Self {
        Self::with_log(server, folder, drain_seconds, Stdio::inherit())
    }

    /// Starts the program with this destination for its own log.
    pub(crate) fn with_log(server: &Server, folder: &Path, drain_seconds: u64, log: Stdio) -> Self {
        let token = folder.join("token");
        fs::write(&token, format!("{TOKEN}\n")).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_greenroom-runner"))
            .env("GREENROOM_URL", base(server.port))
            .arg("--token-file")
            .arg(token)
            .args(["--backend", "process", "--drain-seconds", &drain_seconds.to_string(), "--entry"])
            .arg(entry())
            .arg("--work-dir")
            .arg(folder.join("work"))
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        Program { child }
    }

    fn send(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().unwrap().try_into().unwrap()), signal).unwrap();
    }

    async fn exits_successfully(self) -> bool {
        self.exit_code().await == Some(0)
    }

    /// Waits for the end; returns `None` if a signal ended it.
    pub(crate) async fn exit_code(mut self) -> Option<i32> {
        let ended = tokio::time::timeout(TIMEOUT, self.child.wait()).await;
        ended.expect("the program ends").unwrap().code()
    }
}

#[tokio::test]
async fn a_running_job_may_end_within_the_drain_time() {
    let (server, folder) = (Server::start().await, tempfile::tempdir().unwrap());
    let go = folder.path().join("go");
    let script =
        format!("echo ready; while [ ! -e {} ]; do sleep 0.05 || :; done; echo finished", go.display());
    server.give(job(&[("work", &script)]));
    let program = Program::start(&server, folder.path(), 60);
    server.until("the step runs", |record| record.log("work") == b"ready\n").await;
    program.send(Signal::SIGTERM);
    server.give(job(&[("never", "true")]));
    fs::write(go, "").unwrap();
    assert_eq!(server.until_complete().await.error, None);
    assert!(program.exits_successfully().await);
    server.recorded(|record| {
        assert_eq!(record.log_text("work"), "ready\nfinished\n");
        assert_eq!(record.calls, ["start work", "end work", "complete"]);
    });
}

#[tokio::test]
async fn a_job_that_exceeds_the_drain_time_is_terminated() {
    let (server, folder) = (Server::start().await, tempfile::tempdir().unwrap());
    server.give(job(&[(
        "work",
        "trap 'echo terminated; exit 1' TERM; echo ready; while :; do sleep 0.05 || :; done",
    )]));
    let program = Program::start(&server, folder.path(), 1);
    server.until("the step runs", |record| record.log("work") == b"ready\n").await;
    program.send(Signal::SIGTERM);
    let complete = server.until_complete().await;
    assert_eq!(complete.error.as_deref(), Some("the runner was shut down"));
    assert!(program.exits_successfully().await);
    server.recorded(|record| {
        assert_eq!(record.end("work").status, StepEndStatus::Canceled);
        assert!(record.log_text("work").ends_with("\nterminated\n"), "{}", record.log_text("work"));
    });
}

#[tokio::test]
async fn a_restarted_runner_cleans_up_after_a_killed_one() {
    let (server, folder) = (Server::start().await, tempfile::tempdir().unwrap());
    let pid_file = folder.path().join("number");
    let mut long =
        job(&[("work", &format!("trap '' TERM; echo $$ > {}; echo ready; sleep 600", pid_file.display()))]);
    long.silence_seconds = 600;
    server.give(long);
    let first = Program::start(&server, folder.path(), 60);
    server.until("the step runs", |record| record.log("work") == b"ready\n").await;
    first.send(Signal::SIGKILL);
    first.exits_successfully().await;
    let process = format!("/proc/{}", fs::read_to_string(&pid_file).unwrap().trim());
    assert!(Path::new(&process).exists(), "the step still runs without its runner");

    let second = Program::start(&server, folder.path(), 60);
    eventually("the step is ended", || !Path::new(&process).exists()).await;
    let jobs = folder.path().join("work/jobs");
    eventually("its folder is removed", || fs::read_dir(&jobs).is_ok_and(|jobs| jobs.count() == 0)).await;
    second.send(Signal::SIGTERM);
    assert!(second.exits_successfully().await);
}

#[tokio::test]
async fn a_step_is_killed_after_its_runner_was_killed() {
    let (server, folder) = (Server::start().await, tempfile::tempdir().unwrap());
    let pid_file = folder.path().join("number");
    let mut short =
        job(&[("work", &format!("trap '' TERM; echo $$ > {}; echo ready; sleep 600", pid_file.display()))]);
    short.silence_seconds = 3;
    server.give(short);
    let program = Program::start(&server, folder.path(), 60);
    server.until("the step runs", |record| record.log("work") == b"ready\n").await;
    program.send(Signal::SIGKILL);
    program.exits_successfully().await;
    let begin = std::time::Instant::now();
    let process = format!("/proc/{}", fs::read_to_string(&pid_file).unwrap().trim());
    eventually("the step has ended", || !Path::new(&process).exists()).await;
    assert!(begin.elapsed() <= Duration::from_secs(8), "{:?}", begin.elapsed());
}

#[tokio::test]
async fn secrets_of_a_step_that_was_killed_with_its_runner_are_removed_by_the_next_one() {
    let server = Server::start().await;
    let folder = tempfile::tempdir().unwrap();
    server.configure(|rules| rules.secrets = vec![secret_file("CONFIG", "correct-horse-battery")]);
    // The entrypoint is the parent of the step's shell.
    server.give(job(&[("build", "echo \"$CONFIG\" $PPID; exec sleep 60")]));
    let killed = Program::start(&server, folder.path(), 0);
    server.until("the step runs", |record| record.log_text("build").ends_with('\n')).await;
    let log = server.recorded(|record| record.log_text("build"));
    let (file, entrypoint) = log.trim().split_once(' ').unwrap();
    assert!(file.starts_with("/dev/shm/") && Path::new(file).exists(), "{log}");
    killed.send(Signal::SIGKILL);
    kill(Pid::from_raw(entrypoint.parse().unwrap()), Signal::SIGKILL).unwrap();
    assert_eq!(killed.exit_code().await, None);
    let _next = Program::start(&server, folder.path(), 0);
    let file = Path::new(file);
    eventually("the secrets are removed", || !file.parent().unwrap().exists()).await;
}
