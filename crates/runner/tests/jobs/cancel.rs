//! Cancellation of a job: SIGTERM first, SIGKILL after the grace.

use std::time::{Duration, Instant};

use greenroom_api_types::runner::{Cancel, StepEndStatus};

use crate::support::jobs::job;
use crate::support::server::Server;
use crate::support::test_runner::TestRunner;

fn cancel(grace_seconds: u32) -> Option<Cancel> {
    Some(Cancel { grace_seconds, reason: "claimed by another user".into() })
}

#[tokio::test]
async fn a_canceled_step_can_clean_up() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    let script = "trap 'echo cleaned up; exit 0' TERM; echo ready; while :; do sleep 0.05 || :; done";
    server.give(job(&[("deploy", script), ("after", "true")]));
    server.until("the step runs", |record| record.log("deploy") == b"ready\n").await;
    server.configure(|rules| rules.cancel = cancel(600));
    assert_eq!(server.until_complete().await.error, None);
    server.recorded(|record| {
        let end = record.end("deploy");
        assert_eq!(end.status, StepEndStatus::Canceled);
        assert_eq!(end.reason.as_deref(), Some("claimed by another user"));
        // Before that line the shell may print that its `sleep` was terminated.
        assert!(record.log_text("deploy").ends_with("\ncleaned up\n"), "{}", record.log_text("deploy"));
        assert_eq!(record.calls, ["start deploy", "end deploy", "complete"]);
    });
    runner.finish().await;
}

#[tokio::test]
async fn a_step_that_ignores_sigterm_is_killed_after_the_grace() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    let script = "trap 'echo terminated' TERM; echo ready; while :; do sleep 0.05 || :; done";
    server.give(job(&[("deploy", script)]));
    server.until("the step runs", |record| record.log("deploy") == b"ready\n").await;
    server.configure(|rules| rules.cancel = cancel(1));
    let begin = Instant::now();
    server.until_complete().await;
    assert!(begin.elapsed() >= Duration::from_secs(1));
    server.recorded(|record| {
        let end = record.end("deploy");
        assert_eq!((end.status, end.exit_code), (StepEndStatus::Canceled, Some(137)));
        assert!(record.log_text("deploy").ends_with("\nterminated\n"), "{}", record.log_text("deploy"));
    });
    runner.finish().await;
}

#[tokio::test]
async fn a_job_that_is_canceled_before_a_step_does_not_start_it() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    // So late that the first heartbeat is sent before the first step.
    server.configure(|rules| (rules.cancel, rules.acquire_delay) = (cancel(5), Duration::from_millis(1_200)));
    let mut short = job(&[("deploy", "true")]);
    short.lease_seconds = 2;
    server.give(short);
    assert_eq!(server.until_complete().await.error, None);
    server.recorded(|record| assert_eq!(record.calls, ["complete"]));
    runner.finish().await;
}
