//! A job that stops being this runner's: everything of it ends at once, and nobody is told anything.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::jobs::job;
use crate::support::running::Running;
use crate::support::server::Server;
use crate::support::{eventually, record::Record};

/// Writes its number where the test finds it, and listens to nothing.
fn stubborn(folder: &Path) -> String {
    format!(
        "trap '' TERM; echo $$ > {}; echo ready; while :; do sleep 0.05 || :; done",
        folder.join("number").display()
    )
}

fn is_ready(record: &Record) -> bool {
    record.log("deploy") == b"ready\n"
}

fn runs(folder: &Path) -> bool {
    let number = fs::read_to_string(folder.join("number")).unwrap();
    let stat = fs::read_to_string(format!("/proc/{}/stat", number.trim()));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

#[tokio::test]
async fn a_lease_that_is_not_renewed_ends_the_step_in_its_time() {
    let server = Server::start().await;
    let runner = Running::with_processes(server.port);
    let folder = runner.folder.path().to_owned();
    let mut short = job(&[("deploy", &stubborn(&folder)), ("after", "true")]);
    short.lease_seconds = 4;
    server.give(short);
    server.until("the step runs", is_ready).await;
    let begin = Instant::now();
    server.rule(|rules| rules.deaf = true);
    eventually("the step is killed", || !runs(&folder)).await;
    // The last heartbeat that was answered is at most its interval old, and the whole lease counts from there.
    assert!(begin.elapsed() >= Duration::from_secs(2), "{:?}", begin.elapsed());
    assert!(begin.elapsed() <= Duration::from_secs(10), "{:?}", begin.elapsed());
    runner.finish().await;
    server.told(|record| assert_eq!(record.calls, ["start deploy"]));
}

#[tokio::test]
async fn a_job_that_was_taken_back_ends_at_once() {
    let server = Server::start().await;
    let runner = Running::with_processes(server.port);
    let folder = runner.folder.path().to_owned();
    server.give(job(&[("deploy", &stubborn(&folder)), ("after", "true")]));
    server.until("the step runs", is_ready).await;
    let begin = Instant::now();
    server.rule(|rules| rules.gone = true);
    eventually("the step is killed", || !runs(&folder)).await;
    // Long before the lease of 30 s is over: the next heartbeat says so.
    assert!(begin.elapsed() <= Duration::from_secs(15), "{:?}", begin.elapsed());
    runner.finish().await;
    server.told(|record| assert_eq!(record.calls, ["start deploy"]));
}

#[tokio::test]
async fn who_asked_long_ago_begins_nothing_before_the_server_has_confirmed_the_job() {
    let server = Server::start().await;
    let runner = Running::with_processes(server.port);
    server.rule(|rules| (rules.deaf, rules.late) = (true, Duration::from_millis(1_200)));
    let mut short = job(&[("deploy", "true")]);
    short.lease_seconds = 2;
    server.give(short);
    server.until("the job is taken", |record| record.job.is_some()).await;
    runner.finish().await;
    server.told(|record| assert_eq!(record.calls, Vec::<String>::new()));
}
