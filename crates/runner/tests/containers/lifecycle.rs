//! The life cycle of a step in a container: success, failure, SIGTERM, kill, removal.

use std::time::{Duration, Instant};

use greenroom_api_types::runner::{Cancel, StepEndStatus};
use greenroom_runner::backend::{Backend, Running, StepValues};
use tokio::io::AsyncReadExt;

use crate::engine::{Engine, IMAGE};
use crate::support::eventually;
use crate::support::jobs::job;
use crate::support::server::Server;

#[tokio::test]
async fn heavy_a_job_runs_in_containers() {
    let (engine, server) = (Engine::start().await, Server::start().await);
    let runner = engine.runner(server.port, |_| {}).await;
    server.give(job(&[
        ("build", "echo hello; echo oops >&2; echo built > made; echo version=1.2 >> \"$GREENROOM_OUTPUT\""),
        ("check", "cat made; echo \"$PWD $GREENROOM_STAGE\"; exit 3"),
    ]));
    assert_eq!(server.until_complete().await.error, None);
    server.recorded(|record| {
        assert_eq!(record.log_text("build"), "hello\noops\n");
        assert_eq!(record.end("build").status, StepEndStatus::Succeeded);
        assert_eq!(record.end("build").outputs["version"], "1.2");
        assert_eq!(record.log_text("check"), "built\n/workspace build\n");
        let end = record.end("check");
        assert_eq!((end.status, end.exit_code), (StepEndStatus::Failed, Some(3)));
    });
    runner.finish().await;
    assert_eq!(engine.containers(), Vec::<String>::new());
}

/// Versions of Podman before 4.5 use a whole processor for each request that waits for a container's end.
#[tokio::test]
async fn waits_waiting_for_a_step_takes_little_of_the_engine() {
    let (engine, server) = (Engine::start().await, Server::start().await);
    let runner = engine.runner(server.port, |_| {}).await;
    server.give(job(&[("deploy", "echo ready; sleep 3; echo done")]));
    server.until("the step runs", |record| record.log("deploy") == b"ready\n").await;
    let before = engine.processor_time();
    server.until("the step ends", |record| record.log("deploy") == b"ready\ndone\n").await;
    let used = engine.processor_time().saturating_sub(before);
    server.until_complete().await;
    assert!(used < Duration::from_millis(500), "{used:?}");
    runner.finish().await;
}

#[tokio::test]
async fn waits_a_canceled_step_gets_sigterm_and_is_then_killed() {
    let (engine, server) = (Engine::start().await, Server::start().await);
    let runner = engine.runner(server.port, |_| {}).await;
    let script = "trap 'echo terminated' TERM; echo ready; while :; do sleep 0.1 || :; done";
    server.give(job(&[("deploy", script)]));
    server.until("the step runs", |record| record.log("deploy") == b"ready\n").await;
    server.configure(|rules| rules.cancel = Some(Cancel { grace_seconds: 2, reason: "enough".into() }));
    server.until_complete().await;
    server.recorded(|record| {
        assert_eq!(record.end("deploy").status, StepEndStatus::Canceled);
        assert!(record.log_text("deploy").ends_with("\nterminated\n"), "{}", record.log_text("deploy"));
    });
    runner.finish().await;
    assert_eq!(engine.containers(), Vec::<String>::new());
}

#[tokio::test]
async fn heavy_a_job_that_was_taken_back_leaves_no_container() {
    let (engine, server) = (Engine::start().await, Server::start().await);
    let runner = engine.runner(server.port, |_| {}).await;
    server.give(job(&[("deploy", "trap '' TERM; echo ready; while :; do sleep 0.1 || :; done")]));
    server.until("the step runs", |record| record.log("deploy") == b"ready\n").await;
    server.configure(|rules| rules.is_job_gone = true);
    eventually("its container is gone", || engine.containers().is_empty()).await;
    runner.finish().await;
    server.recorded(|record| assert_eq!(record.calls, ["start deploy"]));
}

#[tokio::test]
async fn waits_a_container_whose_runner_is_silent_is_killed() {
    let engine = Engine::start().await;
    let folder = tempfile::tempdir().unwrap();
    let backend = engine.backend(folder.path(), |_| {}).await;
    let script = "trap '' TERM; echo ready; while :; do sleep 0.1 || :; done";
    let step = crate::isolation::plan(folder.path(), script, 2);
    let mut running = backend.prepare(&step).await.unwrap();
    let (mut output, _files) = running.start(&StepValues::default()).await.unwrap();
    let mut ready = [0; 6];
    let mut count = 1;
    loop {
        count += 1;
        std::fs::write(step.folders.control.join("alive"), count.to_string()).unwrap();
        let read = tokio::time::timeout(Duration::from_millis(100), output.read_exact(&mut ready));
        if read.await.is_ok_and(|read| read.is_ok()) {
            break;
        }
    }
    assert_eq!(&ready, b"ready\n");
    let begin = Instant::now();
    assert_eq!(running.wait().await.unwrap().exit_code, 250);
    assert!(begin.elapsed() >= Duration::from_secs(1), "{:?}", begin.elapsed());
    running.remove().await.unwrap();
}

#[tokio::test]
async fn waits_a_container_that_starts_after_the_lease_has_ended_runs_no_step() {
    let engine = Engine::start().await;
    let folder = tempfile::tempdir().unwrap();
    let backend = engine.backend(folder.path(), |_| {}).await;
    let step = crate::isolation::plan(folder.path(), "echo started", 2);
    let mut running = backend.prepare(&step).await.unwrap();
    let (mut output, _files) = running.start(&StepValues::default()).await.unwrap();
    assert_eq!(running.wait().await.unwrap().exit_code, 250);
    let mut text = String::new();
    output.read_to_string(&mut text).await.unwrap();
    assert!(!text.contains("started"), "{text}");
    running.remove().await.unwrap();
}

#[tokio::test]
async fn heavy_a_sweep_removes_containers_of_this_runner_only() {
    let engine = Engine::start().await;
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let ours = engine.backend(folder.path(), |_| {}).await;
    let theirs = engine.backend(other.path(), |_| {}).await;
    let left = ours.prepare(&crate::isolation::plan(folder.path(), "true", 20)).await.unwrap();
    let kept = theirs.prepare(&crate::isolation::plan(other.path(), "true", 20)).await.unwrap();
    engine.podman(&["create", "--network", "none", IMAGE, "/bin/true"]);
    assert_eq!(engine.containers().len(), 3);
    ours.sweep().await.unwrap();
    assert_eq!(engine.containers().len(), 2);
    drop((left, kept));
}

#[tokio::test]
async fn waits_an_image_that_can_not_be_pulled_is_the_jobs_error() {
    let (engine, server) = (Engine::start().await, Server::start().await);
    let runner = engine.runner(server.port, |_| {}).await;
    let mut missing = job(&[("build", "true")]);
    missing.steps[0].image = "127.0.0.1:9/no/such:1".to_owned();
    server.give(missing);
    let error = server.until_complete().await.error.unwrap();
    assert!(error.contains("the image 127.0.0.1:9/no/such:1 could not be pulled"), "{error}");
    server.recorded(|record| assert_eq!(record.calls, ["complete"]));
    runner.finish().await;
}
