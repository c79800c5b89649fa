//! Private repositories: the credential reaches git and its server, and nothing else.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use greenroom_api_types::runner::{
    CredentialKind, CredentialRequest, MustBeOn, PermanentFailure, Source, Submodules,
};
use greenroom_runner::checkout::{CheckoutError, checkout};
use greenroom_runner::credential::{Credential, CredentialError, Credentials};

use crate::git_server::{GitServer, Guard, Repository, ServerMode};
use crate::support::jobs::{credential, job};
use crate::support::server::Server;
use crate::support::test_runner::{TestRunner, local_access};

const ID: &str = "0123456789012345678901234567890123456789";

/// Credentials by host, and a record of the hosts that were requested.
struct FixedCredentials {
    values: Vec<(String, &'static str)>,
    requested: Mutex<Vec<String>>,
}

impl FixedCredentials {
    fn new(host: &str, value: &'static str) -> Self {
        FixedCredentials { values: vec![(host.to_owned(), value)], requested: Mutex::default() }
    }

    fn requested(&self) -> Vec<String> {
        self.requested.lock().unwrap().clone()
    }
}

impl Credentials for FixedCredentials {
    async fn get(
        &self,
        kind: CredentialKind,
        host: &str,
        repository: Option<&str>,
    ) -> Result<Option<Arc<Credential>>, CredentialError> {
        assert_eq!(kind, CredentialKind::Checkout);
        assert!(repository.is_some_and(|address| address.contains(host)), "{repository:?}");
        self.requested.lock().unwrap().push(host.to_owned());
        let value = self.values.iter().find(|(known, _)| known == host).map(|(_, value)| value);
        value.map(|value| Credential::parse("forge-key", value.as_bytes()).map(Arc::new)).transpose()
    }
}

fn guard(credential: &str) -> Guard {
    Guard { credential: credential.to_owned(), ..Guard::default() }
}

fn source(git: &GitServer, commit_id: &str) -> Source {
    Source {
        repository: git.url.clone(),
        commit_id: commit_id.to_owned(),
        must_be_on: None,
        submodules: None,
    }
}

async fn check_out(source: &Source, credentials: &FixedCredentials) -> Result<String, CheckoutError> {
    let folder = tempfile::tempdir().unwrap();
    let done = checkout(source, folder.path(), &local_access(), credentials).await;
    assert!(!Path::new(&format!("{}-credential", folder.path().display())).exists());
    done.map(|done| done.commit_id)
}

/// Returns the files below these folders, and the arguments and variables of all processes, that contain a text.
fn places_with(text: &str, folders: &[PathBuf]) -> Vec<String> {
    let contains = |path: &Path| {
        std::fs::read(path)
            .is_ok_and(|content| content.windows(text.len()).any(|part| part == text.as_bytes()))
    };
    let mut waiting = folders.to_vec();
    let mut files = Vec::new();
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => waiting.push(entry.path()),
                Ok(kind) if kind.is_file() => files.push(entry.path()),
                _ => {}
            }
        }
    }
    for process in std::fs::read_dir("/proc").unwrap().flatten() {
        if process.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit()) {
            files.extend(["cmdline", "environ"].map(|part| process.path().join(part)));
        }
    }
    files.into_iter().filter(|path| contains(path)).map(|path| path.display().to_string()).collect()
}

#[tokio::test]
async fn a_private_repository_is_fetched_and_its_credential_is_nowhere_else() {
    let password = "hunter-of-places-22";
    let repository = Repository::new();
    let id = repository.commit("private");
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    let folder = runner.folder.path().to_owned();
    let (found, scans) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(0)));
    let (own_found, own_scans) = (Arc::clone(&found), Arc::clone(&scans));
    let scan = move || {
        own_found.lock().unwrap().extend(places_with(password, std::slice::from_ref(&folder)));
        *own_scans.lock().unwrap() += 1;
    };
    let credential_text = format!("bot:{password}");
    let guard = Guard { on_authorized: Some(Arc::new(scan)), ..guard(&credential_text) };
    let git = GitServer::start_private(&repository, guard).await;
    let known = credential(CredentialKind::Checkout, &git.host, &credential_text);
    server.configure(|rules| rules.credentials = vec![known.clone()]);
    // The step looks for it, and prints what it could compute only from it.
    let script = "cat file; env; cat .git/config; grep -rsl hunter-of .. ; echo \"hunter-of\"\"-places-22\"; \
                  echo \"Basic Ym90Omh1bnRlci1vZi1wbGFjZXMtMjI=\"";
    let mut private = job(&[("check", script)]);
    let must_be_on = Some(MustBeOn { branch: Some("main".to_owned()), any_of: Vec::new() });
    private.source = Some(Source { must_be_on, ..source(&git, &id[..12]) });
    server.give(private);
    assert_eq!(server.until_complete().await.error, None);
    server.recorded(|record| {
        let named = CredentialRequest { repository: Some(git.url.clone()), ..known.0.clone() };
        assert_eq!(record.credential_requests, [named], "it is requested once");
        let log = record.log_text("check");
        assert!(log.starts_with("private") && log.contains("repositoryformatversion"), "{log}");
        assert!(log.ends_with("***\nBasic ***\n"), "{log}");
        // The script itself contains the first half.
        let folder = runner.folder.path().display().to_string();
        let scripts = log.matches("control/step-0.sh").count();
        assert_eq!(log.matches("../").count(), scripts, "{folder}: {log}");
    });
    assert!(*scans.lock().unwrap() >= 4, "two fetches of two requests");
    assert_eq!(*found.lock().unwrap(), Vec::<String>::new());
    assert!(git.requests().iter().any(Option::is_none), "git sends it only when the server asks for it");
    runner.finish().await;
}

#[tokio::test]
async fn a_token_without_a_user_name_is_a_credential() {
    let repository = Repository::new();
    let id = repository.commit("private");
    let git = GitServer::start_private(&repository, guard("token:ghp_hunter22")).await;
    let credentials = FixedCredentials::new(&git.host, "ghp_hunter22\n");
    assert_eq!(check_out(&source(&git, &id), &credentials).await.unwrap(), id);
}

#[tokio::test]
async fn a_wrong_password_is_named_by_its_secret_only() {
    let repository = Repository::new();
    let id = repository.commit("private");
    let git = GitServer::start_private(&repository, guard("bot:right-password")).await;
    let credentials = FixedCredentials::new(&git.host, "bot:hunter22");
    let error = check_out(&source(&git, &id), &credentials).await.unwrap_err();
    assert_eq!(error.failure, Some(PermanentFailure::RepositoryUnavailable));
    assert!(error.to_string().contains("`forge-key`"), "{error}");
    // The server has repeated the credential in its message, which is in the runner's log.
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("is wrong: ***"), "{cause}");
    assert!(!cause.contains("hunter22") && !cause.contains("Ym90Omh1bnRlcjIy"), "{cause}");
}

#[tokio::test]
async fn without_a_credential_a_private_repository_is_unavailable() {
    let repository = Repository::new();
    let id = repository.commit("private");
    let git = GitServer::start_private(&repository, guard("bot:hunter22")).await;
    let credentials = FixedCredentials::new("127.0.0.1:1", "bot:hunter22");
    let error = check_out(&source(&git, &id), &credentials).await.unwrap_err();
    assert_eq!(error.failure, Some(PermanentFailure::RepositoryUnavailable), "{error}");
    assert_eq!(credentials.requested(), std::slice::from_ref(&git.host));
    assert!(git.requests().iter().all(Option::is_none));
}

#[tokio::test]
async fn a_redirect_to_another_server_gets_nothing() {
    let repository = Repository::new();
    let id = repository.commit("private");
    let evil = GitServer::start_private(&repository, guard("bot:hunter22")).await;
    let redirect_to = Some(evil.url.clone());
    let git = GitServer::start_private(&repository, Guard { redirect_to, ..guard("bot:hunter22") }).await;
    let credentials = FixedCredentials::new(&git.host, "bot:hunter22");
    let error = check_out(&source(&git, &id), &credentials).await.unwrap_err();
    assert_eq!(error.failure, Some(PermanentFailure::RepositoryUnavailable), "{error}");
    assert!(git.requests().iter().any(Option::is_some));
    assert_eq!(evil.requests(), Vec::new());
}

#[tokio::test]
async fn hostile_submodules_and_lfs_servers_get_nothing() {
    let evil_repository = Repository::new();
    let evil_id = evil_repository.commit("evil");
    let evil = GitServer::start_private(&evil_repository, guard("bot:hunter22")).await;
    let repository = Repository::new();
    let write = |name: &str, text: String| std::fs::write(repository.path().join(name), text).unwrap();
    write(
        ".gitmodules",
        format!("[submodule \"lib\"]\n\tpath = lib\n\turl = {}\n\tupdate = !id\n", evil.url),
    );
    write(".lfsconfig", format!("[lfs]\n\turl = {}/lfs\n[remote \"origin\"]\n\tlfsurl = {0}\n", evil.url));
    write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n".to_owned());
    let pointer = format!("version https://git-lfs.github.com/spec/v1\noid sha256:{ID:0<64}\nsize 1\n");
    write("large.bin", pointer.clone());
    repository.git(&["add", "."]);
    repository.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{evil_id},lib")]);
    repository.git(&["commit", "--quiet", "--message", "hostile"]);
    let id = repository.git(&["rev-parse", "HEAD"]);
    let git = GitServer::start_private(&repository, guard("bot:hunter22")).await;
    let credentials = FixedCredentials::new(&git.host, "bot:hunter22");
    let folder = tempfile::tempdir().unwrap();
    checkout(&source(&git, &id), folder.path(), &local_access(), &credentials).await.unwrap();
    assert_eq!(std::fs::read_to_string(folder.path().join("large.bin")).unwrap(), pointer);
    assert_eq!(std::fs::read_dir(folder.path().join("lib")).unwrap().count(), 0);
    assert_eq!(evil.requests(), Vec::new());
    assert_eq!(credentials.requested(), std::slice::from_ref(&git.host));
}

#[tokio::test]
async fn nothing_is_requested_for_an_address_that_can_not_have_a_credential() {
    let repository = Repository::new();
    let id = repository.commit("public");
    let git = GitServer::start(&repository, ServerMode::AnyCommit).await;
    for (address, is_fetched) in [
        (git.url.replace("http://", "http://bot:password@"), true),
        // To another machine without encryption.
        ("http://git.invalid/x".to_owned(), false),
        ("ssh://git@git.invalid/x".to_owned(), false),
        ("git@git.invalid:x".to_owned(), false),
    ] {
        let credentials = FixedCredentials::new(&git.host, "bot:hunter22");
        let source =
            Source { repository: address, commit_id: id.clone(), must_be_on: None, submodules: None };
        assert_eq!(check_out(&source, &credentials).await.is_ok(), is_fetched, "{source:?}");
        assert_eq!(credentials.requested(), Vec::<String>::new(), "{source:?}");
    }
    assert!(git.requests().iter().flatten().all(|header| !header.contains("aHVudGVyMjI")));
}

#[tokio::test]
async fn a_request_names_exactly_the_host_and_the_repository() {
    let repository = Repository::new();
    let id = repository.commit("public");
    let git = GitServer::start(&repository, ServerMode::AnyCommit).await;
    let server = Server::start().await;
    let runner = TestRunner::with_processes(server.port);
    let mut public = job(&[("check", "cat file")]);
    public.source = Some(source(&git, &id));
    server.give(public);
    assert_eq!(server.until_complete().await.error, None);
    server.recorded(|record| {
        let (kind, repository) = (CredentialKind::Checkout, Some(git.url.clone()));
        let expected = CredentialRequest { kind, host: git.host.clone(), repository };
        assert_eq!(record.credential_requests, [expected]);
    });
    runner.finish().await;
}

/// Commits a submodule at `lib` with this address.
fn commit_submodule(repository: &Repository, address: &str, commit_id: &str) -> String {
    let text = format!("[submodule \"x\"]\n\tpath = lib\n\turl = {address}\n\tupdate = !touch /tmp/ran\n");
    std::fs::write(repository.path().join(".gitmodules"), text).unwrap();
    repository.git(&["add", ".gitmodules"]);
    repository.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{commit_id},lib")]);
    repository.git(&["commit", "--quiet", "--message", "with a submodule"]);
    repository.git(&["rev-parse", "HEAD"])
}

#[tokio::test]
async fn submodules_are_fetched_from_listed_hosts_with_their_own_credentials() {
    let inner = Repository::new();
    let inner_id = inner.commit("inner");
    let inner_git = GitServer::start_private(&inner, guard("inner:hunter33")).await;
    let lib = Repository::new();
    lib.commit("lib");
    let lib_id = commit_submodule(&lib, &inner_git.url, &inner_id);
    let lib_git = GitServer::start_private(&lib, guard("lib:hunter22")).await;
    let shop = Repository::new();
    shop.commit("shop");
    let id = commit_submodule(&shop, &lib_git.url, &lib_id);
    let git = GitServer::start_private(&shop, guard("shop:hunter11")).await;
    let values = vec![
        (git.host.clone(), "shop:hunter11"),
        (lib_git.host.clone(), "lib:hunter22"),
        (inner_git.host.clone(), "inner:hunter33"),
    ];
    let credentials = FixedCredentials { values, requested: Mutex::default() };
    let hosts = vec![lib_git.host.clone(), inner_git.host.clone()];
    let with_both = Source { submodules: Some(Submodules { hosts }), ..source(&git, &id) };
    let folder = tempfile::tempdir().unwrap();
    checkout(&with_both, folder.path(), &local_access(), &credentials).await.unwrap();
    let text = |path: &str| std::fs::read_to_string(folder.path().join(path)).unwrap();
    assert_eq!(
        (text("file").as_str(), text("lib/file").as_str(), text("lib/lib/file").as_str()),
        ("shop", "lib", "inner")
    );
    assert_eq!(credentials.requested(), [git.host.clone(), lib_git.host.clone(), inner_git.host.clone()]);
    assert_eq!(places_with("hunter22", &[folder.path().to_owned()]), Vec::<String>::new());

    // The inner one is named by a commit of the library, and its host is not listed.
    let fetched = inner_git.requests().len();
    let hosts = vec![lib_git.host.clone()];
    let with_lib = Source { submodules: Some(Submodules { hosts }), ..source(&git, &id) };
    let error = check_out(&with_lib, &credentials).await.unwrap_err();
    assert_eq!(error.failure, Some(PermanentFailure::CheckoutHostNotAllowed));
    assert!(error.to_string().contains("the submodule `lib` is not allowed"), "{error}");
    assert_eq!(inner_git.requests().len(), fetched);
}

#[tokio::test]
async fn a_submodule_on_a_host_that_is_not_listed_gets_nothing() {
    let evil_repository = Repository::new();
    let evil_id = evil_repository.commit("evil");
    let evil = GitServer::start_private(&evil_repository, guard("bot:hunter22")).await;
    let mark = tempfile::tempdir().unwrap().path().join("ran");
    for address in [
        evil.url.clone(),
        evil.url.replace("http://", "http://bot@"),
        format!("ext::sh -c touch% {}", mark.display()),
        evil_repository.path().display().to_string(),
        "-uid".to_owned(),
    ] {
        let repository = Repository::new();
        repository.commit("shop");
        let id = commit_submodule(&repository, &address, &evil_id);
        let git = GitServer::start_private(&repository, guard("bot:hunter22")).await;
        let credentials = FixedCredentials::new(&git.host, "bot:hunter22");
        let hosts = vec![git.host.clone(), "git.test".to_owned()];
        let source = Source { submodules: Some(Submodules { hosts }), ..source(&git, &id) };
        let error = check_out(&source, &credentials).await.unwrap_err();
        assert!(error.to_string().contains("is not allowed"), "{address}: {error}");
        assert_eq!(credentials.requested(), std::slice::from_ref(&git.host), "{address}");
    }
    assert_eq!(evil.requests(), Vec::new());
    assert!(!mark.exists());
}
