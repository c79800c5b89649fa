//! Outputs that can't be passed on: the step has failed, and the job ends.

use std::time::{Duration, Instant};

use greenroom_api_types::runner::{Cancel, StepEndStatus};

use crate::support::jobs::job;
use crate::support::running::Running;
use crate::support::server::Server;

#[tokio::test]
async fn a_nul_byte_fails_the_step_by_the_outputs_name() {
    let server = Server::start().await;
    let runner = Running::with_processes(server.port);
    server.give(job(&[("build", "printf 'a=b\\000c\\n' > \"$GREENROOM_OUTPUT\""), ("next", "true")]));
    assert_eq!(server.until_complete().await.error, None);
    server.told(|record| {
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
async fn a_large_output_fails_the_step_that_wrote_it() {
    let server = Server::start().await;
    let runner = Running::with_processes(server.port);
    let script = "echo \"big=$(head -c 200000 /dev/zero | tr '\\0' x)\" > \"$GREENROOM_OUTPUT\"";
    server.give(job(&[("build", script)]));
    server.until_complete().await;
    server.told(|record| {
        let end = record.end("build");
        assert_eq!(end.status, StepEndStatus::Failed);
        assert!(end.reason.as_ref().unwrap().contains("`big` is longer than 32 KiB"), "{:?}", end.reason);
    });
    runner.finish().await;
}

#[tokio::test]
async fn outputs_that_the_server_rejects_fail_the_step() {
    let server = Server::start().await;
    let runner = Running::with_processes(server.port);
    server.rule(|rules| rules.reject_outputs = Some(422));
    server.give(job(&[("build", "echo a=b > \"$GREENROOM_OUTPUT\""), ("next", "true")]));
    assert_eq!(server.until_complete().await.error, None);
    server.told(|record| {
        assert_eq!(record.calls, ["start build", "end build", "complete"]);
        let end = record.end("build");
        assert_eq!((end.status, end.outputs.len()), (StepEndStatus::Failed, 0));
        assert!(end.reason.as_ref().unwrap().contains("outputs were rejected"), "{:?}", end.reason);
    });
    runner.finish().await;
}

/// While the lease is renewed the whole time: the retries have an end of their own.
#[tokio::test]
async fn a_report_that_the_server_can_not_process_is_given_up() {
    let server = Server::start().await;
    let runner = Running::with_processes(server.port);
    server.rule(|rules| rules.reject_outputs = Some(500));
    server.give(job(&[("build", "echo a=b > \"$GREENROOM_OUTPUT\""), ("next", "true")]));
    server.until_complete().await;
    server.told(|record| {
        assert_eq!(record.calls, ["start build", "complete"]);
        assert!((2..20).contains(&record.turned_away), "{} requests", record.turned_away);
    });
    runner.finish().await;
}

#[tokio::test]
async fn a_canceled_job_stops_retrying_the_start_of_its_step() {
    let server = Server::start().await;
    let runner = Running::with_processes(server.port);
    server.rule(|rules| rules.unavailable_start = true);
    server.give(job(&[("build", "true")]));
    server.until("the start is retried", |record| record.turned_away >= 3).await;
    server.rule(|rules| {
        rules.cancel = Some(Cancel { grace_seconds: 600, reason: "not needed".to_owned() });
    });
    let canceled = Instant::now();
    server.until_complete().await;
    assert!(canceled.elapsed() < Duration::from_secs(20));
    server.told(|record| assert_eq!(record.calls, ["complete"]));
    runner.finish().await;
}

#[tokio::test]
async fn a_job_past_its_deadline_stops_retrying_the_start_of_its_step() {
    let server = Server::start().await;
    let runner = Running::with_processes(server.port);
    server.rule(|rules| rules.unavailable_start = true);
    let mut short = job(&[("build", "true")]);
    short.timeout_seconds = 2;
    server.give(short);
    let complete = server.until_complete().await;
    assert!(complete.timed_out);
    server.told(|record| assert_eq!(record.calls, ["complete"]));
    runner.finish().await;
}
