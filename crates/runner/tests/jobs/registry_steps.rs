//! Steps of registries: their files are fetched by digest, verified and kept.

use std::fs;
use std::path::PathBuf;

use greenroom_api_types::runner::{Complete, Job, JobStep, PermanentFailure, StepEndStatus};
use tar::{Builder, EntryType};

use crate::support::jobs::{job, secret, secret_file, step};
use crate::support::server::Server;
use crate::support::steps::{append, publish, registry_step};
use crate::support::test_runner::TestRunner;

fn job_of(steps: Vec<JobStep>) -> Job {
    Job { steps, ..job(&[]) }
}

/// Runs a job of one step of a registry, with this digest.
async fn run(server: &Server, script: &str, digest: &str) -> Complete {
    server.give(job_of(vec![registry_step("use", script, digest)]));
    server.until_complete().await
}

fn kept(runner: &TestRunner, digest: &str) -> PathBuf {
    runner.folder.path().join("steps").join(format!("{}.tar", digest.strip_prefix("sha256:").unwrap()))
}

#[tokio::test]
async fn a_step_gets_its_files_and_inputs_and_works_in_the_workspace() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    let step =
        publish(&[("bin/run", 0o755, "#!/bin/sh\necho \"runs with $1\"\n"), ("data", 0o644, "data\n")]);
    server.offer_step(&step.digest, Some(&step.archive));
    let script = "cat \"$GREENROOM_STEP_FOLDER/data\"; \"$GREENROOM_STEP_FOLDER/bin/run\" \"$GREENROOM_INPUT_REPLICAS\"
        cat \"$GREENROOM_INPUTS_FILE\"; echo; basename \"$PWD\"";
    let complete = run(&server, script, &step.digest).await;
    assert_eq!((complete.error, complete.failure), (None, None));
    let expected = "data\nruns with 2\n{\"message\":\"it's \\\"well\\\"\",\"replicas\":2}\nworkspace\n";
    server.recorded(|record| assert_eq!(record.log_text("use"), expected));
    runner.finish().await;
}

#[tokio::test]
async fn nothing_runs_if_the_content_has_another_digest() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    let (right, wrong) = (publish(&[("run", 0o755, "right")]), publish(&[("run", 0o755, "wrong")]));
    server.offer_step(&right.digest, Some(&wrong.archive));
    server.give(job_of(vec![step("first", "echo runs"), registry_step("use", "echo runs", &right.digest)]));
    let complete = server.until_complete().await;
    assert_eq!(complete.failure, Some(PermanentFailure::StepDigestMismatch), "{complete:?}");
    let error = complete.error.unwrap();
    for part in ["`acme/roll-out@v2`", "version 2.3.0", &right.digest, &wrong.digest] {
        assert!(error.contains(part), "{error}");
    }
    server.recorded(|record| assert_eq!(record.calls, ["complete"]));
    assert!(!kept(&runner, &right.digest).exists() && !kept(&runner, &wrong.digest).exists());
    runner.finish().await;
}

#[tokio::test]
async fn hostile_archives_are_refused_and_nothing_of_them_is_written() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    let step = publish(&[]);
    let outside = runner.folder.path().join("outside");
    let absolute = outside.display().to_string();
    let many: Vec<String> = (0..256).map(|number| format!("file-{number}")).collect();
    let mut hostile: Vec<Vec<(&str, EntryType, &str)>> = vec![
        vec![("link", EntryType::Symlink, &absolute)],
        vec![("link", EntryType::Link, "step.yaml")],
        vec![("link", EntryType::Symlink, ".."), ("link/outside", EntryType::Regular, "x")],
        vec![("../../../outside", EntryType::Regular, "x")],
        vec![(&absolute, EntryType::Regular, "x")],
    ];
    hostile.push(many.iter().map(|name| (name.as_str(), EntryType::Regular, "")).collect());
    for entries in hostile {
        let mut builder = Builder::new(Vec::new());
        append(&mut builder, "step.yaml", 0o644, EntryType::Regular, "name: roll-out\n");
        for (path, kind, content) in &entries {
            append(&mut builder, path, 0o644, *kind, content);
        }
        server.offer_step(&step.digest, Some(&builder.into_inner().unwrap()));
        let complete = run(&server, "echo runs", &step.digest).await;
        assert_eq!(complete.failure, Some(PermanentFailure::StepDigestMismatch), "{:?}", entries[0]);
        server.recorded(|record| assert_eq!(record.calls, ["complete"]));
        assert!(!outside.exists() && !kept(&runner, &step.digest).exists());
    }
    // More than an archive may have.
    server.offer_step(&step.digest, Some(&vec![0; 10 * 1024 * 1024]));
    let error = run(&server, "echo runs", &step.digest).await.error.unwrap();
    assert!(error.contains("more than 9437184 bytes"), "{error}");
    server.recorded(|record| assert_eq!(record.calls, ["complete"]));
    runner.finish().await;
}

#[tokio::test]
async fn a_kept_archive_is_used_without_the_server() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    let step = publish(&[("data", 0o644, "data\n")]);
    server.offer_step(&step.digest, Some(&step.archive));
    let script = "cat \"$GREENROOM_STEP_FOLDER/data\"";
    for requests in [vec![step.digest.clone()], Vec::new()] {
        assert_eq!(run(&server, script, &step.digest).await.error, None);
        server.recorded(|record| {
            assert_eq!((record.log_text("use").as_str(), &record.step_requests), ("data\n", &requests));
        });
        server.offer_step(&step.digest, None);
    }
    runner.finish().await;
}

#[tokio::test]
async fn a_kept_archive_that_was_changed_is_fetched_again() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    let (right, wrong) = (publish(&[("data", 0o644, "right\n")]), publish(&[("data", 0o644, "wrong\n")]));
    server.offer_step(&right.digest, Some(&right.archive));
    let script = "cat \"$GREENROOM_STEP_FOLDER/data\"";
    assert_eq!(run(&server, script, &right.digest).await.error, None);
    let path = kept(&runner, &right.digest);
    fs::write(&path, &wrong.archive).unwrap();
    assert_eq!(run(&server, script, &right.digest).await.error, None);
    let is_right = |step: &str| {
        server.recorded(|record| {
            assert_eq!((record.log_text(step).as_str(), record.step_requests.len()), ("right\n", 1));
        });
    };
    is_right("use");
    // The step before changes it, which a step can that runs as the runner's user.
    let forged = runner.folder.path().join("forged.tar");
    fs::write(&forged, &wrong.archive).unwrap();
    let tamper = format!("cp '{}' '{}'", forged.display(), path.display());
    server.give(job_of(vec![step("tamper", &tamper), registry_step("third", script, &right.digest)]));
    assert_eq!(server.until_complete().await.error, None);
    is_right("third");
    // Without the server nothing runs.
    fs::write(&path, &wrong.archive).unwrap();
    server.offer_step(&right.digest, None);
    let complete = run(&server, script, &right.digest).await;
    assert!(complete.error.unwrap().contains("could not be fetched"));
    assert_eq!(complete.failure, None);
    server.recorded(|record| assert_eq!(record.calls, ["complete"]));
    runner.finish().await;
}

#[tokio::test]
async fn a_step_of_a_registry_with_a_forbidden_variable_is_not_started() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    let published = publish(&[]);
    server.offer_step(&published.digest, Some(&published.archive));
    let mut preload = registry_step("preload", "echo runs", &published.digest);
    preload.variables.insert("LD_PRELOAD".to_owned(), "/workspace/evil.so".to_owned());
    let mut allowed = step("allowed", "echo runs");
    allowed.variables.insert("PS4".to_owned(), "x".to_owned());
    server.give(job_of(vec![allowed, preload]));
    server.until_complete().await;
    server.recorded(|record| {
        assert_eq!(record.log_text("allowed"), "runs\n");
        let end = record.end("preload");
        assert_eq!((end.status, end.exit_code), (StepEndStatus::Failed, None));
        let reason = end.reason.as_deref().unwrap();
        assert!(reason.contains("`LD_PRELOAD` can't be set on the step `acme/roll-out@v2`"), "{reason}");
        assert_eq!(record.log_text("preload"), "");
    });
    for (name, forbidden) in [
        ("one", secret("BASH_ENV", "hunter22")),
        ("two", secret_file("ENV", "hunter22")),
        ("three", secret("GREENROOM_STEP_FOLDER", "hunter22")),
    ] {
        let variable = forbidden.variable.clone();
        server.configure(|rules| rules.secrets = vec![forbidden]);
        server.give(job_of(vec![registry_step(name, "echo runs", &published.digest)]));
        server.until_complete().await;
        server.recorded(|record| {
            let end = record.end(name);
            assert_eq!((end.status, record.log_text(name)), (StepEndStatus::Failed, String::new()));
            assert!(end.reason.as_deref().unwrap().contains(&variable), "{end:?}");
        });
    }
    runner.finish().await;
}
