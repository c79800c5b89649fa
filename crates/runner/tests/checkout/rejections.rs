//! Checkouts that are rejected or fail.

use std::path::Path;

use greenroom_api_types::runner::{PermanentFailure, Source};
use greenroom_runner::checkout::{Access, CheckoutError, Protocols, checkout};
use greenroom_runner::credential::NoCredentials;

use crate::git_server::{GitServer, Repository, ServerMode};
use crate::support::test_runner::local_access;

async fn checkout_error(repository: &str, commit_id: &str, access: &Access) -> CheckoutError {
    let folder = tempfile::tempdir().unwrap();
    let (repository, commit_id) = (repository.to_owned(), commit_id.to_owned());
    checkout(
        &Source { repository, commit_id, must_be_on: None, submodules: None },
        folder.path(),
        access,
        &NoCredentials,
    )
    .await
    .unwrap_err()
}

fn access_with_files() -> Access {
    Access { protocols: Protocols::RemoteAndFiles, ..local_access() }
}

#[tokio::test]
async fn a_missing_commit_is_a_permanent_failure() {
    let repository = Repository::new();
    repository.commit("one");
    for mode in [ServerMode::AnyCommit, ServerMode::RefsOnly] {
        let server = GitServer::start(&repository, mode).await;
        for id in ["0123456789012345678901234567890123456789", "0123456"] {
            let error = checkout_error(&server.url, id, &local_access()).await;
            assert!(error.to_string().contains("no commit"), "{error}");
            assert_eq!(error.failure, Some(PermanentFailure::CommitNotFound));
        }
    }
}

#[tokio::test]
async fn an_invalid_commit_id_is_rejected() {
    for id in ["main", "", "abc", "HEAD", "--upload-pack=x", "abcdef1^", &"a".repeat(65)] {
        let error = checkout_error("http://127.0.0.1:9/x", id, &local_access()).await;
        assert!(error.to_string().contains("is not a commit id"), "{id}: {error}");
    }
}

#[tokio::test]
async fn a_repository_on_this_machines_disk_is_rejected_by_default() {
    let repository = Repository::new();
    let id = repository.commit("one");
    let path = repository.path().display().to_string();
    for address in [path.clone(), format!("file://{path}")] {
        let error = checkout_error(&address, &id, &local_access()).await;
        assert_eq!(error.failure, Some(PermanentFailure::RepositoryUnavailable), "{address}: {error}");
        let folder = tempfile::tempdir().unwrap();
        let source =
            Source { repository: address, commit_id: id.clone(), must_be_on: None, submodules: None };
        assert_eq!(
            checkout(&source, folder.path(), &access_with_files(), &NoCredentials).await.unwrap().commit_id,
            id
        );
    }
}

#[tokio::test]
async fn an_address_can_not_run_a_program() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("ran");
    let id = ID;
    for address in
        [format!("ext::touch {}", mark.display()), format!("--upload-pack=touch {}", mark.display())]
    {
        checkout_error(&address, id, &access_with_files()).await;
    }
    assert!(!Path::new(&mark).exists());
}

const ID: &str = "0123456789012345678901234567890123456789";

/// Starts a server that responds to every request with this status.
async fn start_server_with_status(status: u16) -> (String, tokio::task::JoinSet<()>) {
    let respond = move || async move { axum::http::StatusCode::from_u16(status).unwrap() };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/x", listener.local_addr().unwrap());
    let mut serving = tokio::task::JoinSet::new();
    serving.spawn(async move {
        axum::serve(listener, axum::Router::new().fallback(respond)).await.unwrap();
    });
    (address, serving)
}

#[tokio::test]
async fn permanent_and_transient_failures_are_distinguished_by_status() {
    for (status, failure) in [
        (404, Some(PermanentFailure::RepositoryUnavailable)),
        (401, Some(PermanentFailure::RepositoryUnavailable)),
        (403, Some(PermanentFailure::RepositoryUnavailable)),
        (302, Some(PermanentFailure::RepositoryUnavailable)),
        // git treats an empty response as a repository without branches.
        (200, Some(PermanentFailure::CommitNotFound)),
        (500, None),
        (503, None),
        (429, None),
    ] {
        let (address, _serving) = start_server_with_status(status).await;
        let error = checkout_error(&address, ID, &local_access()).await;
        assert_eq!(error.failure, failure, "{status}: {error}");
    }
}

#[tokio::test]
async fn an_unreachable_server_and_a_non_git_server_have_the_same_error() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let closed = format!("http://name:password@127.0.0.1:{port}/x");
    // An open port that does not speak HTTP.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let open = format!("http://{}/x", listener.local_addr().unwrap());
    let mut serving = tokio::task::JoinSet::new();
    serving.spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            drop(stream);
        }
    });
    for address in [closed, open] {
        let error = checkout_error(&address, "0123456", &local_access()).await;
        assert_eq!((error.to_string().as_str(), error.failure), ("could not fetch", None), "{address}");
    }
}

#[tokio::test]
async fn this_machine_is_not_reachable_by_default() {
    let repository = Repository::new();
    let id = repository.commit("one");
    let server = GitServer::start(&repository, ServerMode::AnyCommit).await;
    let nothing = Access { protocols: Protocols::Remote, allow: Vec::new() };
    for address in
        [server.url.clone(), server.url.replace("127.0.0.1", "localhost"), "http://127.0.0.1:1/x".to_owned()]
    {
        let error = checkout_error(&address, &id, &nothing).await;
        assert_eq!(error.failure, Some(PermanentFailure::RepositoryUnavailable), "{error}");
        assert!(error.to_string().contains("--checkout-allow"), "{error}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let repository = Repository::new();
    let id = repository.commit("one");
    let server = GitServer::start(&repository, ServerMode::AnyCommit).await;
    let target = server.url.clone();
    let redirect = move |uri: axum::http::Uri| {
        let path = uri.path_and_query().map(|path| path.as_str().trim_start_matches("/x").to_owned());
        let to = format!("{target}{}", path.unwrap_or_default());
        async move { axum::response::Redirect::temporary(&to) }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/x", listener.local_addr().unwrap());
    let mut serving = tokio::task::JoinSet::new();
    serving.spawn(async move {
        axum::serve(listener, axum::Router::new().fallback(redirect)).await.unwrap();
    });
    let error = checkout_error(&address, &id, &local_access()).await;
    assert_eq!(error.failure, Some(PermanentFailure::RepositoryUnavailable), "{error}");
}

/// Serves the files of a repository by the old "dumb" protocol, and names another server for its objects.
#[tokio::test]
async fn a_server_can_not_redirect_git_to_another_one() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let other = listener.local_addr().unwrap();
    let reached = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let mark = std::sync::Arc::clone(&reached);
    let mut serving = tokio::task::JoinSet::new();
    serving.spawn(async move {
        while listener.accept().await.is_ok() {
            mark.store(true, std::sync::atomic::Ordering::SeqCst);
        }
    });
    let respond = move |uri: axum::http::Uri| async move {
        match uri.path() {
            "/x/info/refs" => Ok(format!("{ID}\trefs/heads/main\n")),
            "/x/HEAD" => Ok("ref: refs/heads/main\n".to_owned()),
            "/x/objects/info/http-alternates" => Ok(format!("http://{other}/y/objects\n")),
            "/x/objects/info/alternates" => Ok(format!("http://{other}/y/objects\n")),
            _ => Err(axum::http::StatusCode::NOT_FOUND),
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/x", listener.local_addr().unwrap());
    serving.spawn(async move {
        axum::serve(listener, axum::Router::new().fallback(respond)).await.unwrap();
    });
    checkout_error(&address, ID, &local_access()).await;
    assert!(!reached.load(std::sync::atomic::Ordering::SeqCst));
}

/// git supports more forms of addresses than those whose host can be checked.
#[tokio::test]
async fn an_address_whose_host_can_not_be_checked_is_rejected() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let nothing = Access { protocols: Protocols::Remote, allow: Vec::new() };
    for address in [
        format!("http::http://{at}/x"),
        format!("http::{at}/x"),
        format!("git+ssh://git@{at}/x"),
        format!("ssh+git://git@{at}/x"),
        format!("http://git.test@evil@{at}/x"),
        format!("http://[::ffff:127.0.0.1]:{}/x", at.port()),
        format!("http://2130706433:{}/x", at.port()),
        format!("ssh://git@{at}/x"),
        "git@localhost:x".to_owned(),
        "http://169.254.169.254/latest/meta-data".to_owned(),
    ] {
        let error = checkout_error(&address, ID, &nothing).await;
        assert_eq!(error.failure, Some(PermanentFailure::RepositoryUnavailable), "{address}: {error}");
    }
    let connected = tokio::time::timeout(std::time::Duration::from_millis(50), listener.accept()).await;
    assert!(connected.is_err(), "something connected");
}
