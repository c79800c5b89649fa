//! A private repository over https, fetched by the program `greenroom-runner`.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use greenroom_api_types::runner::{CredentialKind, CredentialRequest, Source};
use tokio::process::{Child as AsyncChild, Command as AsyncCommand};

use crate::git_server::{GitServer, Guard, Repository};
use crate::support::jobs::{credential, job};
use crate::support::server::{Server, TOKEN};
use crate::support::test_runner::{base, entry};

/// Forwards connections with TLS to a port without it, and prints its own port.
const TLS_PROXY: &str = "
import socket, ssl, sys, threading
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
listener = socket.create_server(('127.0.0.1', 0))
print(listener.getsockname()[1], flush=True)
def copy(a, b):
    try:
        while data := a.recv(65536):
            b.sendall(data)
    except OSError:
        pass
    for end in (a, b):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
def serve(client):
    try:
        client = context.wrap_socket(client, server_side=True)
    except (OSError, ssl.SSLError):
        return
    server = socket.create_connection(('127.0.0.1', int(sys.argv[3])))
    threading.Thread(target=copy, args=(server, client), daemon=True).start()
    copy(client, server)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
";

struct TlsProxy {
    host: String,
    child: Child,
}

impl TlsProxy {
    fn start(folder: &Path, target: &str) -> Self {
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"])
            .args(["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "cert.pem"])
            .current_dir(folder)
            .stderr(Stdio::null())
            .status();
        assert!(made.unwrap().success());
        let port = target.rsplit(':').next().unwrap();
        let mut child = Command::new("python3")
            .args(["-c", TLS_PROXY, "cert.pem", "key.pem", port])
            .current_dir(folder)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        TlsProxy { host: format!("127.0.0.1:{}", line.trim()), child }
    }
}

impl Drop for TlsProxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts the program with the most detailed log.
fn program(server: &Server, folder: &Path, trusted: Option<&Path>) -> AsyncChild {
    fs::create_dir(folder).unwrap();
    fs::write(folder.join("token"), TOKEN).unwrap();
    let mut command = AsyncCommand::new(env!("CARGO_BIN_EXE_greenroom-runner"));
    command
        .args(["--url", &base(server.port), "--backend", "process", "--checkout-allow", "127.0.0.0/8"])
        .args(["--log", "trace", "--name", "test"])
        .arg("--token-file")
        .arg(folder.join("token"))
        .arg("--entry")
        .arg(entry())
        .arg("--work-dir")
        .arg(folder.join("work"))
        .stderr(File::create(folder.join("log")).unwrap())
        .kill_on_drop(true);
    match trusted {
        Some(certificate) => command.env("GIT_SSL_CAINFO", certificate),
        None => command.env_remove("GIT_SSL_CAINFO"),
    };
    command.spawn().unwrap()
}

#[tokio::test]
async fn a_private_repository_is_fetched_over_https_from_a_trusted_server_only() {
    let password = "hunter-of-certificates";
    let (folder, repository) = (tempfile::tempdir().unwrap(), Repository::new());
    let id = repository.commit("private");
    let guard = Guard { credential: format!("bot:{password}"), ..Guard::default() };
    let git = GitServer::start_private(&repository, guard).await;
    let proxy = TlsProxy::start(folder.path(), &git.host);
    let server = Server::start().await;
    let known = credential(CredentialKind::Checkout, &proxy.host, format!("bot:{password}"));
    server.configure(|rules| rules.credentials = vec![known.clone()]);
    let mut private = job(&[("check", "cat file")]);
    let repository = format!("https://{}/.git", proxy.host);
    private.source =
        Some(Source { repository: repository.clone(), commit_id: id, must_be_on: None, submodules: None });

    // An attacker between the runner and the forge has another certificate.
    let mut untrusting = program(&server, &folder.path().join("untrusting"), None);
    server.give(private.clone());
    assert_eq!(server.until_complete().await.error.unwrap(), "the checkout failed: could not fetch");
    assert_eq!(git.requests(), Vec::new());
    untrusting.kill().await.unwrap();

    let certificate = folder.path().join("cert.pem");
    let _trusting = program(&server, &folder.path().join("trusting"), Some(&certificate));
    server.give(private);
    assert_eq!(server.until_complete().await.error, None);
    server.recorded(|record| {
        assert_eq!(record.log_text("check"), "private");
        let named = CredentialRequest { repository: Some(repository.clone()), ..known.0.clone() };
        assert_eq!(record.credential_requests, [named]);
    });
    assert!(git.requests().iter().any(Option::is_some));
    for name in ["untrusting", "trusting"] {
        let log = fs::read_to_string(folder.path().join(name).join("log")).unwrap();
        assert!(log.contains("TRACE") && log.contains("using a credential"), "{log}");
        // The second is the base64 of the value.
        for text in [password, "Ym90Omh1bnRlci1vZi1jZXJ0aWZpY2F0ZXM"] {
            assert!(!log.contains(text), "{text}");
        }
    }
}
