//! Registries as they should be, and tags that change.

use greenroom_hostile_registries::git_server::GitServer;
use greenroom_hostile_registries::repository::Repository;
use greenroom_hostile_registries::tags::{TAG, tag_that_moves};
use greenroom_registry::{Bounds, FileMode, RegistryError};

use crate::{TestReader, bounds, source};

#[tokio::test]
async fn lightweight_and_annotated_tags_have_the_same_step() {
    let repository = Repository::init();
    repository.write("roll-out/step.yaml", "name: roll-out\n");
    repository.write("roll-out/lib/b.sh", "echo b\n");
    repository.write("roll-out/run.sh", "#!/bin/sh\n");
    // Outside of the step's folder there may be anything.
    repository.write("roll-out-2/step.yaml", "name: other\n");
    std::os::unix::fs::symlink("/etc/passwd", repository.path().join("link")).unwrap();
    repository.git(&["add", "--all"]);
    repository.git(&["update-index", "--chmod=+x", "roll-out/run.sh"]);
    repository.git(&["commit", "--quiet", "--message", "x"]);
    let commit = repository.git(&["rev-parse", "HEAD"]);
    repository.git(&["tag", "roll-out/v1.0.0"]);
    repository.git(&["tag", "--annotate", "--message", "x", "roll-out/v1.0.1"]);
    let server = GitServer::start(&repository).await;
    let reader = TestReader::new();

    let tags = reader.reader.list_tags(&source(&server.url), &bounds()).await.unwrap();
    let listed: Vec<_> = tags
        .iter()
        .map(|tag| (tag.name.as_str(), tag.peeled.as_ref().unwrap_or(&tag.object).as_str()))
        .collect();
    assert_eq!(listed, [("roll-out/v1.0.0", commit.as_str()), ("roll-out/v1.0.1", commit.as_str())]);
    assert_eq!((tags[0].peeled.is_some(), tags[1].peeled.is_some()), (false, true));

    let light = reader.fetch(&server.url, "roll-out/v1.0.0").await.unwrap();
    let annotated = reader.fetch(&server.url, "roll-out/v1.0.1").await.unwrap();
    assert_eq!((light.commit.as_str(), annotated.commit.as_str()), (commit.as_str(), commit.as_str()));
    assert_eq!((light.tag_object.is_some(), annotated.tag_object.is_some()), (false, true));
    assert_eq!((&light.files, &light.archive), (&annotated.files, &annotated.archive));
    let files: Vec<_> =
        light.files.iter().map(|file| (file.path.as_str(), file.mode, file.bytes.as_slice())).collect();
    let expected: [(&str, FileMode, &[u8]); 3] = [
        ("lib/b.sh", FileMode::Regular, b"echo b\n"),
        ("run.sh", FileMode::Executable, b"#!/bin/sh\n"),
        ("step.yaml", FileMode::Regular, b"name: roll-out\n"),
    ];
    assert_eq!(files, expected);
}

#[tokio::test]
async fn a_moved_tag_is_refused_before_anything_is_downloaded() {
    let repository = Repository::with_step();
    let old = repository.git(&["rev-parse", "HEAD"]);
    repository.write("roll-out/step.yaml", "name: other\n");
    let new = repository.commit();
    repository.git(&["tag", "--force", "roll-out/v1.0.0"]);
    let server = GitServer::start(&repository).await;
    let error = TestReader::new().fetch_expected(&server.url, "roll-out/v1.0.0", &old).await.unwrap_err();
    assert!(matches!(&error, RegistryError::TagMoved { found, .. } if found.as_str() == new), "{error}");
    assert_eq!(server.fetches(), 0);
}

#[tokio::test]
async fn a_tag_that_is_moved_during_the_call_is_refused() {
    // The first list is that of all tags, the second one is compared, and the third one is that of the fetch.
    let served = tag_that_moves(3).await;
    let error = TestReader::new().fetch(&served.url, TAG).await.unwrap_err();
    assert!(matches!(error, RegistryError::TagMoved { .. }), "{error}");
}

#[tokio::test]
async fn what_is_missing_is_named() {
    let repository = Repository::with_step();
    let object = repository.git(&["rev-parse", "HEAD"]);
    let server = GitServer::start(&repository).await;
    let reader = TestReader::new();
    let missing = reader.fetch_expected(&server.url, "roll-out/v7.0.0", &object).await.unwrap_err();
    assert!(matches!(missing, RegistryError::TagMissing(_)), "{missing}");
    let elsewhere = format!("http://127.0.0.1:{}/elsewhere", server.port);
    let missing = reader.reader.list_tags(&source(&elsewhere), &bounds()).await.unwrap_err();
    assert!(matches!(missing, RegistryError::NotFound), "{missing}");
}

#[tokio::test]
async fn a_repository_can_have_no_tags() {
    let repository = Repository::with_step();
    repository.git(&["tag", "--delete", "roll-out/v1.0.0"]);
    let server = GitServer::start(&repository).await;
    let tags = TestReader::new().reader.list_tags(&source(&server.url), &bounds()).await.unwrap();
    assert_eq!(tags, []);
}

#[tokio::test]
async fn the_number_of_tags_is_bounded() {
    let repository = Repository::with_step();
    repository.git(&["tag", "a"]);
    let server = GitServer::start(&repository).await;
    let reader = TestReader::new();
    let few = Bounds { max_tags: 1, ..bounds() };
    let short = Bounds { max_tag_list_bytes: 80, ..bounds() };
    for bounds in [few, short] {
        let error = reader.reader.list_tags(&source(&server.url), &bounds).await.unwrap_err();
        assert!(matches!(error, RegistryError::TooManyTags { .. }), "{error}");
    }
}

#[tokio::test]
async fn as_many_tags_as_are_allowed_can_be_listed() {
    let (repository, count) = (Repository::with_step(), Bounds::default().max_tags);
    let commit = repository.git(&["rev-parse", "HEAD"]);
    let name = "long".repeat(30);
    let refs: String =
        (1..count).map(|number| format!("{commit} refs/tags/{name}/v1.0.{number}\n")).collect();
    repository.write(".git/packed-refs", &refs);
    let server = GitServer::start(&repository).await;
    let tags = TestReader::new().reader.list_tags(&source(&server.url), &bounds()).await.unwrap();
    assert_eq!(tags.len(), count);
}
