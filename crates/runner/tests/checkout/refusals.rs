//! What is not checked out.

use std::path::Path;

use greenroom_api_types::runner::{PermanentFailure, Source};
use greenroom_runner::checkout::{Access, CheckoutError, Protocols, checkout};

use crate::git_server::{GitServer, Manner, Repository};
use crate::support::running::local;

async fn refused(repository: &str, commit_id: &str, access: &Access) -> CheckoutError {
    let folder = tempfile::tempdir().unwrap();
    let (repository, commit_id) = (repository.to_owned(), commit_id.to_owned());
    checkout(&Source { repository, commit_id, must_be_on: None }, folder.path(), access).await.unwrap_err()
}

fn with_files() -> Access {
    Access { protocols: Protocols::RemoteAndFiles, ..local() }
}

#[tokio::test]
async fn a_commit_that_is_not_there() {
    let repository = Repository::new();
    repository.commit("one");
    for manner in [Manner::Willing, Manner::Strict] {
        let server = GitServer::start(&repository, manner).await;
        for id in ["0123456789012345678901234567890123456789", "0123456"] {
            let error = refused(&server.url, id, &local()).await;
            assert!(error.to_string().contains("no commit"), "{error}");
            assert_eq!(error.failure, Some(PermanentFailure::CommitNotFound));
        }
    }
}

#[tokio::test]
async fn something_that_is_no_id() {
    for id in ["main", "", "abc", "HEAD", "--upload-pack=x", "abcdef1^", &"a".repeat(65)] {
        let error = refused("http://127.0.0.1:9/x", id, &local()).await;
        assert!(error.to_string().contains("is not a commit's id"), "{id}: {error}");
    }
}

#[tokio::test]
async fn a_repository_on_this_machines_disk_unless_it_is_allowed() {
    let repository = Repository::new();
    let id = repository.commit("one");
    let path = repository.path().display().to_string();
    for address in [path.clone(), format!("file://{path}")] {
        let error = refused(&address, &id, &local()).await;
        assert_eq!(error.failure, Some(PermanentFailure::RepositoryUnavailable), "{address}: {error}");
        let folder = tempfile::tempdir().unwrap();
        let source = Source { repository: address, commit_id: id.clone(), must_be_on: None };
        assert_eq!(checkout(&source, folder.path(), &with_files()).await.unwrap().commit_id, id);
    }
}

#[tokio::test]
async fn an_address_that_would_run_a_program() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("ran");
    let id = ID;
    for address in
        [format!("ext::touch {}", mark.display()), format!("--upload-pack=touch {}", mark.display())]
    {
        refused(&address, id, &with_files()).await;
    }
    assert!(!Path::new(&mark).exists());
}

const ID: &str = "0123456789012345678901234567890123456789";

/// A server that answers everything with this status.
async fn answering(status: u16) -> (String, tokio::task::JoinSet<()>) {
    let answer = move || async move { axum::http::StatusCode::from_u16(status).unwrap() };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/x", listener.local_addr().unwrap());
    let mut serving = tokio::task::JoinSet::new();
    serving.spawn(async move {
        axum::serve(listener, axum::Router::new().fallback(answer)).await.unwrap();
    });
    (address, serving)
}

#[tokio::test]
async fn a_definite_answer_is_permanent_and_what_may_pass_is_not() {
    for (status, failure) in [
        (404, Some(PermanentFailure::RepositoryUnavailable)),
        (401, Some(PermanentFailure::RepositoryUnavailable)),
        (403, Some(PermanentFailure::RepositoryUnavailable)),
        (302, Some(PermanentFailure::RepositoryUnavailable)),
        // An empty answer is that of a repository without branches.
        (200, Some(PermanentFailure::CommitNotFound)),
        (500, None),
        (503, None),
        (429, None),
    ] {
        let (address, _serving) = answering(status).await;
        let error = refused(&address, ID, &local()).await;
        assert_eq!(error.failure, failure, "{status}: {error}");
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_and_one_that_is_no_git_server_read_the_same() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let closed = format!("http://name:password@127.0.0.1:{port}/x");
    // A port that is open and says nothing that HTTP knows.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let open = format!("http://{}/x", listener.local_addr().unwrap());
    let mut serving = tokio::task::JoinSet::new();
    serving.spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            drop(stream);
        }
    });
    for address in [closed, open] {
        let error = refused(&address, "0123456", &local()).await;
        assert_eq!((error.to_string().as_str(), error.failure), ("could not fetch", None), "{address}");
    }
}

#[tokio::test]
async fn this_machine_is_not_reached_unless_it_is_allowed() {
    let repository = Repository::new();
    let id = repository.commit("one");
    let server = GitServer::start(&repository, Manner::Willing).await;
    let nothing = Access { protocols: Protocols::Remote, allow: Vec::new() };
    for address in
        [server.url.clone(), server.url.replace("127.0.0.1", "localhost"), "http://127.0.0.1:1/x".to_owned()]
    {
        let error = refused(&address, &id, &nothing).await;
        assert_eq!(error.failure, Some(PermanentFailure::RepositoryUnavailable), "{error}");
        assert!(error.to_string().contains("--checkout-allow"), "{error}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let repository = Repository::new();
    let id = repository.commit("one");
    let server = GitServer::start(&repository, Manner::Willing).await;
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
    let error = refused(&address, &id, &local()).await;
    assert_eq!(error.failure, Some(PermanentFailure::RepositoryUnavailable), "{error}");
}

/// Serves the files of a repository by the old protocol without a program, and names another server for its objects.
#[tokio::test]
async fn a_server_can_not_send_git_to_another_one() {
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
    let answer = move |uri: axum::http::Uri| async move {
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
        axum::serve(listener, axum::Router::new().fallback(answer)).await.unwrap();
    });
    refused(&address, ID, &local()).await;
    assert!(!reached.load(std::sync::atomic::Ordering::SeqCst));
}

/// git understands more addresses than those whose host is checked.
#[tokio::test]
async fn an_address_whose_host_can_not_be_checked() {
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
        let error = refused(&address, ID, &nothing).await;
        assert_eq!(error.failure, Some(PermanentFailure::RepositoryUnavailable), "{address}: {error}");
    }
    let connected = tokio::time::timeout(std::time::Duration::from_millis(50), listener.accept()).await;
    assert!(connected.is_err(), "something connected");
}
