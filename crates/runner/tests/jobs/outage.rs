//! A server that is away for a while: nothing is lost, as long as the lease lasts.

use greenroom_api_types::runner::StepEndStatus;

use crate::support::eventually;
use crate::support::jobs::job;
use crate::support::running::Running;
use crate::support::server::Server;

#[tokio::test]
async fn a_step_goes_on_while_the_server_is_away_and_is_reported_later() {
    let server = Server::start().await;
    let runner = Running::with_processes(server.port);
    let go = runner.folder.path().join("go");
    let script =
        format!("echo before; while [ ! -e {} ]; do sleep 0.05 || :; done; echo after", go.display());
    server.give(job(&[("build", &script), ("next", "echo done")]));
    server.until("the step runs", |record| record.log("build") == b"before\n").await;
    server.rule(|rules| rules.away = true);
    std::fs::write(&go, "").unwrap();
    server.until("it has tried in vain", |record| record.turned_away >= 8).await;
    server.told(|record| assert_eq!(record.calls, ["start build"]));
    server.rule(|rules| rules.away = false);
    assert_eq!(server.until_complete().await.error, None);
    server.told(|record| {
        assert_eq!(record.calls, ["start build", "end build", "start next", "end next", "complete"]);
        assert_eq!(record.end("build").status, StepEndStatus::Succeeded);
        assert_eq!(record.log_text("build"), "before\nafter\n");
    });
    runner.finish().await;
}

#[tokio::test]
async fn a_runner_waits_for_a_server_that_is_not_there_yet() {
    // A port that nobody listens on any more, and then somebody does.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let runner = Running::with_processes(port);
    eventually("the runner is up", || runner.folder.path().join("jobs").is_dir()).await;
    let server = Server::start_on(port).await;
    server.give(job(&[("build", "true")]));
    assert_eq!(server.until_complete().await.error, None);
    runner.finish().await;
}
