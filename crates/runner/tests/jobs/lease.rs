//! A lost lease: the job's steps are killed immediately, and nothing is reported.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::jobs::job;
use crate::support::server::Server;
use crate::support::test_runner::TestRunner;
use crate::support::{eventually, record::Record};

/// A script that writes its process id to a file and ignores SIGTERM.
fn script_ignoring_sigterm(folder: &Path) -> String {
    format!(
        "trap '' TERM; echo $$ > {}; echo ready; while :; do sleep 0.05 || :; done",
        folder.join("pid").display()
    )
}

fn is_ready(record: &Record) -> bool {
    record.log("deploy") == b"ready\n"
}

fn is_running(folder: &Path) -> bool {
    let pid = fs::read_to_string(folder.join("pid")).unwrap();
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

#[tokio::test]
async fn the_step_is_killed_when_the_lease_expires() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    let folder = runner.folder.path().to_owned();
    let mut short = job(&[("deploy", &script_ignoring_sigterm(&folder)), ("after", "true")]);
    short.lease_seconds = 4;
    server.give(short);
    server.until("the step runs", is_ready).await;
    let begin = Instant::now();
    server.configure(|rules| rules.rejects_heartbeats = true);
    eventually("the step is killed", || !is_running(&folder)).await;
    // The last successful heartbeat is at most one interval old, and the lease counts from it.
    assert!(begin.elapsed() >= Duration::from_secs(2), "{:?}", begin.elapsed());
    assert!(begin.elapsed() <= Duration::from_secs(10), "{:?}", begin.elapsed());
    runner.finish().await;
    server.recorded(|record| assert_eq!(record.calls, ["start deploy"]));
}

#[tokio::test]
async fn a_job_that_was_taken_back_ends_immediately() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    let folder = runner.folder.path().to_owned();
    server.give(job(&[("deploy", &script_ignoring_sigterm(&folder)), ("after", "true")]));
    server.until("the step runs", is_ready).await;
    let begin = Instant::now();
    server.configure(|rules| rules.is_job_gone = true);
    eventually("the step is killed", || !is_running(&folder)).await;
    // The response to the next heartbeat ends the lease, long before its 30 s are over.
    assert!(begin.elapsed() <= Duration::from_secs(15), "{:?}", begin.elapsed());
    runner.finish().await;
    server.recorded(|record| assert_eq!(record.calls, ["start deploy"]));
}

#[tokio::test]
async fn a_job_with_an_unconfirmed_lease_waits_for_the_first_heartbeat() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    server.configure(|rules| {
        (rules.rejects_heartbeats, rules.acquire_delay) = (true, Duration::from_millis(1_200))
    });
    let mut short = job(&[("deploy", "true")]);
    short.lease_seconds = 2;
    server.give(short);
    server.until("the job is taken", |record| record.job.is_some()).await;
    runner.finish().await;
    server.recorded(|record| assert_eq!(record.calls, Vec::<String>::new()));
}

#[tokio::test]
async fn a_heartbeat_after_the_jobs_end_does_not_cancel_the_report_of_the_end() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    server.configure(|rules| rules.complete_delay = Duration::from_secs(3));
    server.give(job(&[("deploy", "true")]));
    server.until("the server has responded", |record| record.is_complete_answered).await;
    runner.finish().await;
    server.recorded(|record| assert_eq!(record.calls, ["start deploy", "end deploy", "complete"]));
}
