//! Registries whose address is the attack: no connection is made.

use std::io;
use std::net::IpAddr;
use std::path::PathBuf;

use futures_util::future::BoxFuture;
use greenroom_hostile_registries::git_server::GitServer;
use greenroom_hostile_registries::hostile_server::{HostileServer, Reply, capabilities};
use greenroom_hostile_registries::repository::Repository;
use greenroom_outbound::{AllowList, Lookup};
use greenroom_registry::{RegistryError, RegistryReader, Source};

use crate::{TestReader, bounds, source};

struct TestLookup(&'static str);

impl Lookup for TestLookup {
    fn lookup(&self, _: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let address = self.0.parse().unwrap();
        Box::pin(async move { Ok(vec![address]) })
    }
}

fn reader(allow: &str, lookup: &'static str) -> RegistryReader {
    let allow = AllowList::new(allow.split_whitespace().map(|network| network.parse().unwrap()));
    RegistryReader::with_lookup(allow, PathBuf::from("/tmp"), TestLookup(lookup))
}

#[tokio::test]
async fn git_connects_to_the_checked_address() {
    let repository = Repository::with_step();
    let server = GitServer::start(&repository).await;
    // No resolver finds this name.
    let url = format!("http://registry.invalid:{}/.git", server.port);
    let tags = reader("127.0.0.0/8", "127.0.0.1").list_tags(&source(&url), &bounds()).await.unwrap();
    assert_eq!(tags.len(), 1);
}

#[tokio::test]
async fn names_of_this_machine_and_its_networks_are_refused() {
    let server = HostileServer::start(|_, _| capabilities()).await;
    for address in ["127.0.0.1", "169.254.169.254", "10.0.0.1", "100.100.100.200", "::1", "::ffff:127.0.0.1"]
    {
        for scheme in ["https", "http"] {
            let url = format!("{scheme}://registry.invalid:{}/x", server.port);
            let error = reader("", address).list_tags(&source(&url), &bounds()).await.unwrap_err();
            assert!(matches!(error, RegistryError::Address(_)), "{address}: {error}");
        }
    }
    for host in ["localhost", "127.0.0.1", "127.1", "0x7f000001", "[::1]", "[::ffff:7f00:1]", "0"] {
        let url = format!("https://{host}:{}/x", server.port);
        let error = reader("", "127.0.0.1").list_tags(&source(&url), &bounds()).await.unwrap_err();
        assert!(matches!(error, RegistryError::Address(_)), "{host}: {error}");
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn addresses_that_are_not_https_are_refused() {
    for url in ["ext::sh -c id", "file:///etc", "/etc", "-x", "--upload-pack=id", "ssh://a/b", "git@a:b"]
        .into_iter()
        .chain(["https://bot:hunter2@git.example/x", "https://git.example/x?token=hunter2"])
    {
        let error = Source::new(url, None).unwrap_err().to_string();
        assert!(!error.contains("hunter2"), "{error}");
    }
    // Plain http leaves this machine under no setting.
    let plain = source("http://git.example/x");
    let error = reader("0.0.0.0/0", "93.184.216.34").list_tags(&plain, &bounds()).await.unwrap_err();
    assert!(matches!(error, RegistryError::Address(_)), "{error}");
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let target = HostileServer::start(|_, _| capabilities()).await;
    for status in ["301 Moved", "302 Found", "307 Temporary Redirect"] {
        let location = format!("http://127.0.0.1:{}/x/info/refs?service=git-upload-pack", target.port);
        let server = HostileServer::start(move |_, _| {
            Reply::Raw(
                format!("HTTP/1.1 {status}\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n")
                    .into_bytes(),
            )
        })
        .await;
        let error = TestReader::new().reader.list_tags(&source(&server.url), &bounds()).await.unwrap_err();
        assert!(matches!(error, RegistryError::Redirect), "{error:?}");
    }
    assert_eq!(target.connections(), 0);
}

#[tokio::test]
async fn a_server_without_tls_is_refused() {
    let server = HostileServer::start(|_, _| capabilities()).await;
    let url = format!("https://127.0.0.1:{}/x", server.port);
    let error = TestReader::new().reader.list_tags(&source(&url), &bounds()).await.unwrap_err();
    assert!(matches!(error, RegistryError::Certificate), "{error:?}");
}

#[tokio::test]
async fn a_server_that_does_not_run_is_unreachable() {
    let error =
        TestReader::new().reader.list_tags(&source("http://127.0.0.1:1/x"), &bounds()).await.unwrap_err();
    assert!(matches!(error, RegistryError::Unreachable), "{error:?}");
}
