//! Checkouts as part of a job.

use std::fs;

use greenroom_api_types::runner::{Artifact, CheckedOut, MustBeOn, PermanentFailure, Source};
use greenroom_runner::archive;
use sha2::{Digest, Sha256};

use crate::git_server::{GitServer, Repository, ServerMode};
use crate::support::jobs::job;
use crate::support::server::Server;
use crate::support::test_runner::TestRunner;

fn source(git: &GitServer, commit_id: &str) -> Source {
    Source {
        repository: git.url.clone(),
        commit_id: commit_id.to_owned(),
        must_be_on: None,
        submodules: None,
    }
}

#[tokio::test]
async fn the_commit_is_checked_out_and_its_full_id_reported() {
    let repository = Repository::new();
    let id = repository.commit("meant");
    repository.commit("later");
    let git = GitServer::start(&repository, ServerMode::AnyCommit).await;
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    let mut with_source = job(&[("check", "cat file")]);
    with_source.source = Some(source(&git, &id[..12]));
    server.give(with_source);
    let complete = server.until_complete().await;
    assert_eq!(complete.error, None);
    server.recorded(|record| {
        assert_eq!(record.calls, ["checkout", "start check", "end check", "complete"]);
        assert_eq!(record.checkout, Some(CheckedOut { commit_id: id.clone(), branch: None }));
        assert_eq!(record.log_text("check"), "meant");
    });
    runner.finish().await;
}

#[tokio::test]
async fn a_failed_checkout_is_the_jobs_error_and_no_step_starts() {
    let repository = Repository::new();
    repository.commit("one");
    let git = GitServer::start(&repository, ServerMode::AnyCommit).await;
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    let mut with_source = job(&[("check", "cat file")]);
    with_source.source = Some(source(&git, "0123456"));
    server.give(with_source);
    let complete = server.until_complete().await;
    assert!(complete.error.unwrap().contains("the checkout failed"));
    assert_eq!(complete.failure, Some(PermanentFailure::CommitNotFound));
    server.recorded(|record| assert_eq!(record.calls, ["complete"]));
    runner.finish().await;
}

#[tokio::test]
async fn a_commit_that_is_not_on_its_branch_starts_no_step_and_restores_no_cache() {
    let repository = Repository::new();
    repository.commit("base");
    repository.git(&["checkout", "--quiet", "-b", "feature"]);
    let id = repository.commit("not on main");
    let git = GitServer::start(&repository, ServerMode::AnyCommit).await;
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    let mut claimed = job(&[("deploy", "true")]);
    let must_be_on = Some(MustBeOn { branch: Some("main".to_owned()), any_of: Vec::new() });
    claimed.source = Some(Source { must_be_on, ..source(&git, &id) });
    server.give(claimed);
    let complete = server.until_complete().await;
    assert_eq!(complete.failure, Some(PermanentFailure::CommitNotOnBranch));
    assert!(complete.error.unwrap().contains("`main`"));
    server.recorded(|record| assert_eq!(record.calls, ["complete"]));
    runner.finish().await;
}

#[tokio::test]
async fn an_artifact_does_not_replace_a_file_of_the_checkout() {
    let repository = Repository::new();
    let id = repository.commit("checked out");
    let git = GitServer::start(&repository, ServerMode::AnyCommit).await;
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "forged").unwrap();
    let packed = folder.path().join("archive.tar");
    archive::pack(folder.path(), &["file".to_owned()], &packed).unwrap();
    let packed = fs::read(packed).unwrap();
    // The stage before has declared everything, or this file.
    for (path, result) in [(".", Err("`file`, which was checked out")), ("file", Ok("forged"))] {
        let server = Server::start().await;
        let runner = TestRunner::with_processes(server.port);
        server.offer_artifact("art_1", packed.clone());
        let mut with_both = job(&[("check", "cat file")]);
        with_both.source = Some(source(&git, &id));
        with_both.inputs = vec![Artifact {
            artifact_id: "art_1".to_owned(),
            stage: "build".to_owned(),
            paths: vec![path.to_owned()],
            size: packed.len() as u64,
            sha256: format!("{:x}", Sha256::digest(&packed)),
        }];
        server.give(with_both);
        let error = server.until_complete().await.error;
        match result {
            Err(expected) => assert!(error.unwrap().contains(expected)),
            Ok(expected) => server.recorded(|record| assert_eq!(record.log_text("check"), expected)),
        }
        runner.finish().await;
    }
}
