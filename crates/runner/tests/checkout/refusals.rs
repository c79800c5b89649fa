//! What is not checked out.

use std::path::Path;

use greenroom_api_types::runner::Source;
use greenroom_runner::checkout::{Protocols, checkout};

use crate::git_server::{GitServer, Manner, Repository};

async fn refusal(repository: &str, commit_id: &str, protocols: Protocols) -> String {
    let folder = tempfile::tempdir().unwrap();
    let source = Source { repository: repository.to_owned(), commit_id: commit_id.to_owned() };
    checkout(&source, folder.path(), protocols).await.unwrap_err().to_string()
}

#[tokio::test]
async fn a_commit_that_is_not_there() {
    let repository = Repository::new();
    repository.commit("one");
    for manner in [Manner::Willing, Manner::Strict] {
        let server = GitServer::start(&repository, manner).await;
        for id in ["0123456789012345678901234567890123456789", "0123456"] {
            let error = refusal(&server.url, id, Protocols::Remote).await;
            assert!(error.contains("no commit"), "{error}");
        }
    }
}

#[tokio::test]
async fn something_that_is_no_id() {
    for id in ["main", "", "abc", "HEAD", "--upload-pack=x", "abcdef1^", &"a".repeat(65)] {
        let error = refusal("http://127.0.0.1:9/x", id, Protocols::Remote).await;
        assert!(error.contains("is not a commit's id"), "{id}: {error}");
    }
}

#[tokio::test]
async fn a_repository_on_this_machines_disk_unless_it_is_allowed() {
    let repository = Repository::new();
    let id = repository.commit("one");
    let path = repository.path().display().to_string();
    for address in [path.clone(), format!("file://{path}")] {
        let error = refusal(&address, &id, Protocols::Remote).await;
        assert!(error.contains("not allowed"), "{address}: {error}");
        let folder = tempfile::tempdir().unwrap();
        let source = Source { repository: address, commit_id: id.clone() };
        assert_eq!(checkout(&source, folder.path(), Protocols::RemoteAndFiles).await.unwrap(), id);
    }
}

#[tokio::test]
async fn an_address_that_would_run_a_program() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("ran");
    let id = "0123456789012345678901234567890123456789";
    for address in
        [format!("ext::touch {}", mark.display()), format!("--upload-pack=touch {}", mark.display())]
    {
        refusal(&address, id, Protocols::RemoteAndFiles).await;
    }
    assert!(!Path::new(&mark).exists());
}

#[tokio::test]
async fn a_server_that_is_not_there() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = format!("http://name:password@127.0.0.1:{port}/x");
    let error = refusal(&address, "0123456", Protocols::Remote).await;
    assert!(error.contains("git fetch failed"), "{error}");
    assert!(!error.contains("password"), "{error}");
}
