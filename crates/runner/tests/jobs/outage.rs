//! A temporarily unavailable server: nothing is lost as long as the lease is valid.

use greenroom_api_types::runner::StepEndStatus;

use crate::support::eventually;
use crate::support::jobs::job;
use crate::support::server::Server;
use crate::support::test_runner::TestRunner;

#[tokio::test]
async fn a_step_continues_during_an_outage_and_is_reported_later() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    let go = runner.folder.path().join("go");
    let script =
        format!("echo before; while [ ! -e {} ]; do sleep 0.05 || :; done; echo after", go.display());
    server.give(job(&[("build", &script), ("next", "echo done")]));
    server.until("the step runs", |record| record.log("build") == b"before\n").await;
    server.configure(|rules| rules.is_unavailable = true);
    std::fs::write(&go, "").unwrap();
    server.until("the runner has retried", |record| record.rejected_calls >= 8).await;
    server.recorded(|record| assert_eq!(record.calls, ["start build"]));
    server.configure(|rules| rules.is_unavailable = false);
    assert_eq!(server.until_complete().await.error, None);
    server.recorded(|record| {
        assert_eq!(record.calls, ["start build", "end build", "start next", "end next", "complete"]);
        assert_eq!(record.end("build").status, StepEndStatus::Succeeded);
        assert_eq!(record.log_text("build"), "before\nafter\n");
    });
    runner.finish().await;
}

#[tokio::test]
async fn a_runner_waits_for_a_server_that_starts_later() {
    // A free port, on which the server listens later.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let runner = TestRunner::with_processes(port);
    eventually("the runner is up", || runner.folder.path().join("jobs").is_dir()).await;
    let server = Server::start_on(port).await;
    server.give(job(&[("build", "true")]));
    assert_eq!(server.until_complete().await.error, None);
    runner.finish().await;
}
