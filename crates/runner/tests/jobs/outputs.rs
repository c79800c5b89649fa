//! Invalid outputs: the step fails, and the job ends.

use std::time::{Duration, Instant};

use greenroom_api_types::runner::{Cancel, StepEndStatus};

use crate::support::jobs::job;
use crate::support::server::Server;
use crate::support::test_runner::TestRunner;

#[tokio::test]
async fn a_nul_byte_fails_the_step_and_the_reason_names_the_output() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    server.give(job(&[("build", "printf 'a=b\\000c\\n' > \"$GREENROOM_OUTPUT\""), ("next", "true")]));
    assert_eq!(server.until_complete().await.error, None);
    server.recorded(|record| {
        assert_eq!(record.calls, ["start build", "end build", "complete"]);
        let end = record.end("build");
        assert_eq!((end.status, end.exit_code), (StepEndStatus::Failed, Some(0)));
        let reason = end.reason.as_deref().unwrap();
        assert!(reason.contains("`a`") && reason.contains("control character"), "{reason}");
        assert!(end.outputs.is_empty());
    });
    runner.finish().await;
}

#[tokio::test]
async fn a_too_large_output_fails_the_step() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    let script = "echo \"big=$(head -c 200000 /dev/zero | tr '\\0' x)\" > \"$GREENROOM_OUTPUT\"";
    server.give(job(&[("build", script)]));
    server.until_complete().await;
    server.recorded(|record| {
        let end = record.end("build");
        assert_eq!(end.status, StepEndStatus::Failed);
        assert!(end.reason.as_ref().unwrap().contains("`big` is longer than 32 KiB"), "{:?}", end.reason);
    });
    runner.finish().await;
}

#[tokio::test]
async fn outputs_that_the_server_rejects_fail_the_step() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    server.configure(|rules| rules.reject_outputs = Some(422));
    server.give(job(&[("build", "echo a=b > \"$GREENROOM_OUTPUT\""), ("next", "true")]));
    assert_eq!(server.until_complete().await.error, None);
    server.recorded(|record| {
        assert_eq!(record.calls, ["start build", "end build", "complete"]);
        let end = record.end("build");
        assert_eq!((end.status, end.outputs.len()), (StepEndStatus::Failed, 0));
        assert!(end.reason.as_ref().unwrap().contains("outputs were rejected"), "{:?}", end.reason);
    });
    runner.finish().await;
}

/// The retries are limited, although the lease is renewed all the time.
#[tokio::test]
async fn a_report_that_causes_internal_errors_is_not_retried_forever() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    server.configure(|rules| rules.reject_outputs = Some(500));
    server.give(job(&[("build", "echo a=b > \"$GREENROOM_OUTPUT\""), ("next", "true")]));
    server.until_complete().await;
    server.recorded(|record| {
        assert_eq!(record.calls, ["start build", "complete"]);
        assert!((2..20).contains(&record.rejected_calls), "{} requests", record.rejected_calls);
    });
    runner.finish().await;
}

#[tokio::test]
async fn a_canceled_job_stops_retrying_the_start_of_its_step() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    server.configure(|rules| rules.rejects_starts = true);
    server.give(job(&[("build", "true")]));
    server.until("the start is retried", |record| record.rejected_calls >= 3).await;
    server.configure(|rules| {
        rules.cancel = Some(Cancel { grace_seconds: 600, reason: "not needed".into() });
    });
    let canceled = Instant::now();
    server.until_complete().await;
    assert!(canceled.elapsed() < Duration::from_secs(20));
    server.recorded(|record| assert_eq!(record.calls, ["complete"]));
    runner.finish().await;
}

#[tokio::test]
async fn a_job_past_its_deadline_stops_retrying_the_start_of_its_step() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    server.configure(|rules| rules.rejects_starts = true);
    let mut short = job(&[("build", "true")]);
    short.timeout_seconds = 2;
    server.give(short);
    let complete = server.until_complete().await;
    assert!(complete.timed_out);
    server.recorded(|record| assert_eq!(record.calls, ["complete"]));
    runner.finish().await;
}
