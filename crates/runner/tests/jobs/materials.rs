//! Artifacts and caches.

use std::fs;

use greenroom_api_types::runner::{Artifact, Cache};
use greenroom_runner::archive;
use sha2::{Digest, Sha256};

use crate::support::jobs::job;
use crate::support::server::Server;
use crate::support::test_runner::TestRunner;

/// Returns an archive with one file.
fn archive_with_file(name: &str, content: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(name), content).unwrap();
    let file = folder.path().join("archive.tar");
    archive::pack(folder.path(), &[name.to_owned()], &file).unwrap();
    fs::read(file).unwrap()
}

fn unpack(archive: &[u8]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("archive.tar");
    fs::write(&file, archive).unwrap();
    archive::Unpacker::new(folder.path()).unwrap().artifact(&file, &[".".to_owned()]).unwrap();
    folder
}

/// The artifact of a stage that declares `program`.
fn input(archive: &[u8]) -> Artifact {
    Artifact {
        artifact_id: "art_1".to_owned(),
        stage: "build".to_owned(),
        paths: vec!["program".to_owned()],
        size: archive.len() as u64,
        sha256: format!("{:x}", Sha256::digest(archive)),
    }
}

#[tokio::test]
async fn a_stage_gets_its_inputs_and_uploads_its_artifact() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    let archive = archive_with_file("program", "from the stage before");
    server.offer_artifact("art_1", archive.clone());
    let mut with_both = job(&[("use", "mkdir -p dist/deep; cp program dist/deep/copy; cat program")]);
    with_both.inputs = vec![input(&archive)];
    with_both.artifacts = vec!["dist".to_owned()];
    server.give(with_both);
    assert_eq!(server.until_complete().await.error, None);
    server.recorded(|record| {
        assert_eq!(record.log_text("use"), "from the stage before");
        let left = unpack(record.artifact.as_ref().unwrap());
        assert_eq!(fs::read_to_string(left.path().join("dist/deep/copy")).unwrap(), "from the stage before");
    });
    runner.finish().await;
}

#[tokio::test]
async fn an_input_with_a_wrong_checksum_is_not_used() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    let archive = archive_with_file("program", "right");
    server.offer_artifact("art_1", archive_with_file("program", "wrong"));
    let mut damaged = job(&[("use", "cat program")]);
    damaged.inputs = vec![input(&archive)];
    server.give(damaged);
    let error = server.until_complete().await.error.unwrap();
    assert!(error.contains("SHA-256"), "{error}");
    server.recorded(|record| assert_eq!(record.calls, ["complete"]));
    runner.finish().await;
}

#[tokio::test]
async fn an_input_with_a_file_that_its_stage_does_not_declare_is_not_used() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    let archive = archive_with_file("deploy.sh", "forged");
    server.offer_artifact("art_1", archive.clone());
    let mut deploy = job(&[("deploy", "sh deploy.sh")]);
    deploy.inputs = vec![input(&archive)];
    server.give(deploy);
    let error = server.until_complete().await.error.unwrap();
    assert!(error.contains("`deploy.sh`, which is not allowed here"), "{error}");
    server.recorded(|record| assert_eq!(record.calls, ["complete"]));
    runner.finish().await;
}

#[tokio::test]
async fn a_missing_artifact_is_an_error() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    let mut missing = job(&[("forget", "true")]);
    missing.artifacts = vec!["dist".to_owned()];
    server.give(missing);
    let error = server.until_complete().await.error.unwrap();
    assert!(error.contains("`dist`"), "{error}");
    runner.finish().await;
}

#[tokio::test]
async fn an_artifact_cannot_be_taken_from_outside_of_the_workspace() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    fs::write(runner.folder.path().join("secret"), "secret").unwrap();
    let mut thief = job(&[("link", &format!("ln -s {} dist", runner.folder.path().display()))]);
    thief.artifacts = vec!["dist/secret".to_owned()];
    server.give(thief);
    let error = server.until_complete().await.error.unwrap();
    assert!(error.contains("outside of the workspace"), "{error}");
    server.recorded(|record| assert!(record.artifact.is_none()));
    runner.finish().await;
}

#[tokio::test]
async fn found_caches_are_restored_and_missing_ones_are_saved() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    server.offer_cache("old/key 1", archive_with_file("warm", "from last time"));
    let mut with_caches = job(&[("use", "cat warm; echo fresh > cold; echo changed > warm")]);
    with_caches.caches = vec![
        Cache { key: "old/key 1".to_owned(), paths: vec!["warm".to_owned()] },
        Cache { key: "new".to_owned(), paths: vec!["cold".to_owned()] },
        Cache { key: "never".to_owned(), paths: vec!["not-there".to_owned()] },
    ];
    server.give(with_caches);
    assert_eq!(server.until_complete().await.error, None);
    server.recorded(|record| {
        assert_eq!(record.log_text("use"), "from last time");
        let saved = unpack(&record.caches["new"]);
        assert_eq!(fs::read_to_string(saved.path().join("cold")).unwrap(), "fresh\n");
        let kept = unpack(&record.caches["old/key 1"]);
        assert_eq!(fs::read_to_string(kept.path().join("warm")).unwrap(), "from last time");
        assert!(!record.caches.contains_key("never"));
    });
    runner.finish().await;
}

#[tokio::test]
async fn a_cache_can_not_write_outside_of_its_paths() {
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    server.offer_cache("deps", archive_with_file("deploy.sh", "forged"));
    let mut with_cache = job(&[("deploy", "if [ -e deploy.sh ]; then cat deploy.sh; else echo clean; fi")]);
    with_cache.caches = vec![Cache { key: "deps".to_owned(), paths: vec!["deps".to_owned()] }];
    server.give(with_cache);
    assert_eq!(server.until_complete().await.error, None);
    server.recorded(|record| assert_eq!(record.log_text("deploy"), "clean\n"));
    runner.finish().await;
}
