//! The program itself: how it is told to stop, and what a former life has left.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use greenroom_api_types::runner::StepEndStatus;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::{Child, Command};

use crate::support::jobs::job;
use crate::support::running::{base, entry};
use crate::support::server::{Server, TOKEN};
use crate::support::{DEADLINE, eventually};

pub(crate) struct Program {
    child: Child,
}

impl Program {
    pub(crate) fn start(server: &Server, folder: &Path, drain_seconds: u64) -> Self {
        Self::with_log(server, folder, drain_seconds, Stdio::inherit())
    }

    /// Its own log goes there.
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

    async fn ends(self) -> bool {
        self.exit_code().await == Some(0)
    }

    /// How it ended; `None` if by a signal.
    pub(crate) async fn exit_code(mut self) -> Option<i32> {
        let ended = tokio::time::timeout(DEADLINE, self.child.wait()).await;
        ended.expect("the program ends").unwrap().code()
    }
}

#[tokio::test]
async fn a_job_that_runs_may_end_within_the_drain_time() {
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
    assert!(program.ends().await);
    server.told(|record| {
        assert_eq!(record.log_text("work"), "ready\nfinished\n");
        assert_eq!(record.calls, ["start work", "end work", "complete"]);
    });
}

#[tokio::test]
async fn a_job_that_takes_longer_is_ended_and_told_why() {
    let (server, folder) = (Server::start().await, tempfile::tempdir().unwrap());
    server.give(job(&[(
        "work",
        "trap 'echo asked; exit 1' TERM; echo ready; while :; do sleep 0.05 || :; done",
    )]));
    let program = Program::start(&server, folder.path(), 1);
    server.until("the step runs", |record| record.log("work") == b"ready\n").await;
    program.send(Signal::SIGTERM);
    let complete = server.until_complete().await;
    assert_eq!(complete.error.as_deref(), Some("the runner was told to stop"));
    assert!(program.ends().await);
    server.told(|record| {
        assert_eq!(record.end("work").status, StepEndStatus::Canceled);
        assert!(record.log_text("work").ends_with("\nasked\n"), "{}", record.log_text("work"));
    });
}

#[tokio::test]
async fn what_a_killed_runner_has_left_ends_with_its_next_life() {
    let (server, folder) = (Server::start().await, tempfile::tempdir().unwrap());
    let number = folder.path().join("number");
    let mut long =
        job(&[("work", &format!("trap '' TERM; echo $$ > {}; echo ready; sleep 600", number.display()))]);
    long.silence_seconds = 600;
    server.give(long);
    let first = Program::start(&server, folder.path(), 60);
    server.until("the step runs", |record| record.log("work") == b"ready\n").await;
    first.send(Signal::SIGKILL);
    first.ends().await;
    let process = format!("/proc/{}", fs::read_to_string(&number).unwrap().trim());
    assert!(Path::new(&process).exists(), "the step goes on without its runner, for a while");

    let second = Program::start(&server, folder.path(), 60);
    eventually("the step is ended", || !Path::new(&process).exists()).await;
    let jobs = folder.path().join("work/jobs");
    eventually("its folder is removed", || fs::read_dir(&jobs).is_ok_and(|jobs| jobs.count() == 0)).await;
    second.send(Signal::SIGTERM);
    assert!(second.ends().await);
}

#[tokio::test]
async fn a_step_ends_by_itself_when_its_runner_is_killed() {
    let (server, folder) = (Server::start().await, tempfile::tempdir().unwrap());
    let number = folder.path().join("number");
    let mut short =
        job(&[("work", &format!("trap '' TERM; echo $$ > {}; echo ready; sleep 600", number.display()))]);
    short.silence_seconds = 3;
    server.give(short);
    let program = Program::start(&server, folder.path(), 60);
    server.until("the step runs", |record| record.log("work") == b"ready\n").await;
    program.send(Signal::SIGKILL);
    program.ends().await;
    let begin = std::time::Instant::now();
    let process = format!("/proc/{}", fs::read_to_string(&number).unwrap().trim());
    eventually("the step has ended", || !Path::new(&process).exists()).await;
    assert!(begin.elapsed() <= Duration::from_secs(8), "{:?}", begin.elapsed());
}
