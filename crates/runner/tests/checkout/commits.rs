//! Exactly the requested commit is checked out.

use std::path::Path;

use greenroom_api_types::runner::{CheckedOut, MustBeOn, Source};
use greenroom_runner::checkout::checkout;
use greenroom_runner::credential::NoCredentials;

use crate::git_server::{GitServer, Repository, ServerMode};
use crate::support::test_runner::local_access;

const MODES: [ServerMode; 2] = [ServerMode::AnyCommit, ServerMode::RefsOnly];

struct CheckoutResult {
    folder: tempfile::TempDir,
    result: Result<String, String>,
}

impl CheckoutResult {
    fn text(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("file")).unwrap()
    }

    fn has(&self, path: impl AsRef<Path>) -> bool {
        self.folder.path().join(path).exists()
    }
}

async fn check_out(server: &GitServer, commit_id: &str) -> CheckoutResult {
    let folder = tempfile::tempdir().unwrap();
    let (repository, commit_id) = (server.url.clone(), commit_id.to_owned());
    let source = Source { repository, commit_id, must_be_on: None, submodules: None };
    let result = checkout(&source, folder.path(), &local_access(), &NoCredentials).await;
    let result = result.map(|done| done.commit_id).map_err(|error| error.to_string());
    CheckoutResult { folder, result }
}

#[tokio::test]
async fn a_full_id_is_fetched_alone() {
    let repository = Repository::new();
    let ids: Vec<_> = ["one", "two", "three"].map(|text| repository.commit(text)).into();
    let server = GitServer::start(&repository, ServerMode::AnyCommit).await;
    for (id, text) in ids.iter().zip(["one", "two", "three"]) {
        let checked = check_out(&server, id).await;
        assert_eq!(checked.result.as_ref(), Ok(id));
        assert_eq!(checked.text(), text);
        assert!(checked.has(".git/shallow"), "its history was fetched too");
    }
}

#[tokio::test]
async fn everything_is_fetched_from_a_server_that_serves_only_refs() {
    let repository = Repository::new();
    let ids: Vec<_> = ["one", "two", "three"].map(|text| repository.commit(text)).into();
    let server = GitServer::start(&repository, ServerMode::RefsOnly).await;
    let checked = check_out(&server, &ids[0]).await;
    assert_eq!(checked.result.as_ref(), Ok(&ids[0]));
    assert_eq!(checked.text(), "one");
    assert!(!checked.has(".git/shallow"));
}

#[tokio::test]
async fn a_short_id_is_resolved() {
    let repository = Repository::new();
    let ids: Vec<_> = ["one", "two"].map(|text| repository.commit(text)).into();
    for mode in MODES {
        let server = GitServer::start(&repository, mode).await;
        let checked = check_out(&server, &ids[0][..9]).await;
        assert_eq!(checked.result.as_ref(), Ok(&ids[0]));
        assert_eq!(checked.text(), "one");
    }
}

#[tokio::test]
async fn a_commit_on_another_branch_or_only_on_a_tag_is_found_by_a_short_id() {
    let repository = Repository::new();
    repository.commit("base");
    repository.git(&["checkout", "--quiet", "-b", "feature"]);
    let on_branch = repository.commit("on a branch");
    repository.git(&["checkout", "--quiet", "--detach"]);
    let on_tag = repository.commit("on a tag");
    repository.git(&["tag", "v1"]);
    let server = GitServer::start(&repository, ServerMode::RefsOnly).await;
    for (id, text) in [(on_branch, "on a branch"), (on_tag, "on a tag")] {
        let checked = check_out(&server, &id[..10]).await;
        assert_eq!(checked.result.as_ref(), Ok(&id));
        assert_eq!(checked.text(), text);
    }
}

#[tokio::test]
async fn later_commits_on_the_branch_do_not_matter() {
    let repository = Repository::new();
    let meant = repository.commit("meant");
    repository.commit("moved on");
    for mode in MODES {
        let server = GitServer::start(&repository, mode).await;
        assert_eq!(check_out(&server, &meant).await.text(), "meant");
    }
}

#[tokio::test]
async fn a_commit_that_a_force_push_removed_is_never_replaced_by_another() {
    let repository = Repository::new();
    let base = repository.commit("base");
    let meant = repository.commit("meant");
    repository.git(&["reset", "--quiet", "--hard", &base]);
    repository.commit("instead");
    let willing = GitServer::start(&repository, ServerMode::AnyCommit).await;
    assert_eq!(check_out(&willing, &meant).await.text(), "meant");
    // Fails instead of checking out another commit.
    let strict = GitServer::start(&repository, ServerMode::RefsOnly).await;
    let checked = check_out(&strict, &meant).await;
    assert!(checked.result.unwrap_err().contains("no commit"));
}

#[tokio::test]
async fn a_branch_or_tag_that_is_named_like_an_id_is_not_mistaken_for_it() {
    let repository = Repository::new();
    let meant = repository.commit("meant");
    let other = repository.commit("other");
    let short = &meant[..8];
    repository.git(&["update-ref", &format!("refs/heads/{short}"), &other]);
    repository.git(&["update-ref", &format!("refs/tags/{short}"), &other]);
    repository.git(&["update-ref", &format!("refs/heads/{meant}"), &other]);
    for mode in MODES {
        let server = GitServer::start(&repository, mode).await;
        for id in [short, meant.as_str()] {
            let checked = check_out(&server, id).await;
            assert_eq!(checked.result.as_ref(), Ok(&meant), "{id}");
            assert_eq!(checked.text(), "meant");
        }
    }
}

#[tokio::test]
async fn neither_address_nor_credentials_are_left_in_the_workspace() {
    let repository = Repository::new();
    let id = repository.commit("one");
    for mode in MODES {
        let server = GitServer::start(&repository, mode).await;
        for commit_id in [id.clone(), id[..9].to_owned()] {
            let folder = tempfile::tempdir().unwrap();
            let source = Source {
                repository: server.url.replace("http://", "http://bot:hunter2@"),
                commit_id,
                must_be_on: Some(MustBeOn { branch: Some("main".to_owned()), any_of: Vec::new() }),
                submodules: None,
            };
            let done = checkout(&source, folder.path(), &local_access(), &NoCredentials).await.unwrap();
            assert_eq!(done, CheckedOut { commit_id: id.clone(), branch: Some("main".to_owned()) });
            let host = server.url.trim_start_matches("http://").split('/').next().unwrap();
            for secret in ["hunter2", host] {
                let found = std::process::Command::new("grep")
                    .args(["--recursive", "--text", "--files-with-matches", "--fixed-strings", secret])
                    .arg(folder.path())
                    .output()
                    .unwrap();
                assert_eq!(String::from_utf8_lossy(&found.stdout), "", "{secret}");
            }
            let siblings: Vec<_> = std::fs::read_dir(folder.path().parent().unwrap())
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .filter(|name| name.starts_with(folder.path().file_name().unwrap().to_str().unwrap()))
                .collect();
            assert_eq!(siblings.len(), 1, "{siblings:?}");
        }
    }
}
