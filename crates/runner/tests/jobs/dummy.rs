//! The dummy backend.

use greenroom_api_types::runner::{Cancel, StepEndStatus};
use greenroom_runner::backend::dummy::Dummy;

use crate::support::jobs::job;
use crate::support::server::Server;
use crate::support::test_runner::TestRunner;

#[tokio::test]
async fn script_commands_are_simulated() {
    let server = Server::start().await;
    let runner = TestRunner::with(server.port, |_| Dummy);
    server.give(job(&[("print", "echo hello\nlog 3000000\nsleep 0.01"), ("fail", "exit 3")]));
    server.until_complete().await;
    server.recorded(|record| {
        assert_eq!(record.log("print").len(), 6 + 3_000_000);
        assert!(record.log("print").starts_with(b"hello\nthe dummy"));
        assert_eq!(record.end("print").status, StepEndStatus::Succeeded);
        assert_eq!(record.end("fail").exit_code, Some(3));
    });
    runner.finish().await;
}

#[tokio::test]
async fn a_simulated_step_can_be_stopped_and_killed() {
    for (script, code) in [("echo ready\nsleep 600", 143), ("ignore-stop\necho ready\nsleep 600", 137)] {
        let server = Server::start().await;
        let runner = TestRunner::with(server.port, |_| Dummy);
        server.give(job(&[("wait", script)]));
        server.until("it runs", |record| record.log("wait") == b"ready\n").await;
        server.configure(|rules| rules.cancel = Some(Cancel { grace_seconds: 1, reason: "enough".into() }));
        server.until_complete().await;
        server.recorded(|record| assert_eq!(record.end("wait").exit_code, Some(code)));
        runner.finish().await;
    }
}
