//! A runner whose token was revoked: its jobs are killed, and the program exits with a specific code.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::drain::Program;
use crate::support::jobs::job;
use crate::support::server::Server;

const EXIT_REVOKED: i32 = 77;

#[tokio::test]
async fn a_revoked_runner_kills_its_steps_and_exits() {
    let (server, folder) = (Server::start().await, tempfile::tempdir().unwrap());
    let (pid_file, log) = (folder.path().join("pid"), folder.path().join("log"));
    let script = format!("trap '' TERM; echo $$ > {}; echo ready; sleep 600", pid_file.display());
    server.give(job(&[("work", &script)]));
    let program = Program::with_log(&server, folder.path(), 600, File::create(&log).unwrap().into());
    server.until("the step runs", |record| record.log("work") == b"ready\n").await;
    let begin = Instant::now();
    server.configure(|rules| rules.is_revoked = true);
    assert_eq!(program.exit_code().await, Some(EXIT_REVOKED));
    // The response to the next heartbeat ends the jobs: neither the lease of 30 s nor the drain time is
    // waited for.
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
    let process = format!("/proc/{}", fs::read_to_string(&pid_file).unwrap().trim());
    assert!(!Path::new(&process).exists(), "no process of the step runs");
    server.recorded(|record| assert_eq!(record.calls, ["start work"], "nothing is reported"));
    let log = fs::read_to_string(&log).unwrap();
    assert!(log.contains("exiting: this runner's token was revoked"), "{log}");
}

#[tokio::test]
async fn a_revoked_runner_without_jobs_exits() {
    let (server, folder) = (Server::start().await, tempfile::tempdir().unwrap());
    server.configure(|rules| rules.is_revoked = true);
    let program = Program::start(&server, folder.path(), 600);
    assert_eq!(program.exit_code().await, Some(EXIT_REVOKED));
}
