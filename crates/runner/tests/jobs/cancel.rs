//! A job that is to be ended: asked first, killed after the grace.

use std::time::{Duration, Instant};

use greenroom_api_types::runner::{Cancel, StepEndStatus};

use crate::support::jobs::job;
use crate::support::running::Running;
use crate::support::server::Server;

fn cancel(grace_seconds: u32) -> Option<Cancel> {
    Some(Cancel { grace_seconds, reason: "somebody else was faster".to_owned() })
}

#[tokio::test]
async fn a_step_that_listens_tidies_up() {
    let server = Server::start().await;
    let runner = Running::with_processes(server.port);
    let script = "trap 'echo tidied up; exit 0' TERM; echo ready; while :; do sleep 0.05 || :; done";
    server.give(job(&[("deploy", script), ("after", "true")]));
    server.until("the step runs", |record| record.log("deploy") == b"ready\n").await;
    server.rule(|rules| rules.cancel = cancel(600));
    assert_eq!(server.until_complete().await.error, None);
    server.told(|record| {
        let end = record.end("deploy");
        assert_eq!(end.status, StepEndStatus::Canceled);
        assert_eq!(end.reason.as_deref(), Some("somebody else was faster"));
        // In between the shell may say that its `sleep` was ended.
        assert!(record.log_text("deploy").ends_with("\ntidied up\n"), "{}", record.log_text("deploy"));
        assert_eq!(record.calls, ["start deploy", "end deploy", "complete"]);
    });
    runner.finish().await;
}

#[tokio::test]
async fn a_step_that_does_not_listen_is_killed_after_the_grace() {
    let server = Server::start().await;
    let runner = Running::with_processes(server.port);
    let script = "trap 'echo asked' TERM; echo ready; while :; do sleep 0.05 || :; done";
    server.give(job(&[("deploy", script)]));
    server.until("the step runs", |record| record.log("deploy") == b"ready\n").await;
    server.rule(|rules| rules.cancel = cancel(1));
    let begin = Instant::now();
    server.until_complete().await;
    assert!(begin.elapsed() >= Duration::from_secs(1));
    server.told(|record| {
        let end = record.end("deploy");
        assert_eq!((end.status, end.exit_code), (StepEndStatus::Canceled, Some(137)));
        assert!(record.log_text("deploy").ends_with("\nasked\n"), "{}", record.log_text("deploy"));
    });
    runner.finish().await;
}

#[tokio::test]
async fn a_job_that_is_canceled_between_steps_starts_no_other() {
    let server = Server::start().await;
    let runner = Running::with_processes(server.port);
    // So late that the first heartbeat is before the first step.
    server.rule(|rules| (rules.cancel, rules.late) = (cancel(5), Duration::from_millis(1_200)));
    let mut short = job(&[("deploy", "true")]);
    short.lease_seconds = 2;
    server.give(short);
    assert_eq!(server.until_complete().await.error, None);
    server.told(|record| assert_eq!(record.calls, ["complete"]));
    runner.finish().await;
}
