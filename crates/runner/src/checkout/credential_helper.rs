//! Gives a credential to git for exactly one scheme, host and port. git's own helper `credential-cache` requests
//! it by a socket that only this user can reach, so the credential is in no file, no argument and no variable.
//! The socket exists only while git fetches.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;
use zeroize::Zeroizing;

use super::origin::Origin;
use crate::credential::Credential;

const SOCKET: &str = "socket";
/// git sends a few short lines, and possibly the server's header `WWW-Authenticate`.
const MAX_REQUEST_BYTES: u64 = 64 * 1024;

/// A credential, and where it may be sent.
#[derive(Clone)]
pub(super) struct Grant {
    pub(super) credential: Arc<Credential>,
    pub(super) origin: Origin,
    /// The path of a folder for the socket, which no step can access.
    pub(super) folder: PathBuf,
}

/// Answers git until it is dropped.
pub(super) struct Helper {
    settings: Vec<String>,
    folder: PathBuf,
    _answering: JoinSet<()>,
}

impl Helper {
    pub(super) fn start(grant: &Grant) -> io::Result<Self> {
        DirBuilder::new().mode(0o700).create(&grant.folder)?;
        let mut helper =
            Helper { settings: settings(grant), folder: grant.folder.clone(), _answering: JoinSet::new() };
        // The path of a socket must be short, and that of the folder may be long.
        let folder = File::open(&grant.folder)?;
        let listener = UnixListener::bind(format!("/proc/self/fd/{}/{SOCKET}", folder.as_raw_fd()))?;
        let grant = grant.clone();
        helper._answering.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                if let Err(error) = respond(stream, &grant).await {
                    tracing::debug!(%error, "could not answer git's request for a credential");
                }
            }
        });
        Ok(helper)
    }

    /// Returns arguments for `git -c`.
    pub(super) fn settings(&self) -> &[String] {
        &self.settings
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.folder) {
            tracing::warn!(%error, "could not remove the socket of a credential");
        }
    }
}

/// git calls the helper for this origin only. What it requests is checked again in [`answer`].
fn settings(grant: &Grant) -> Vec<String> {
    let socket = quote(&grant.folder.join(SOCKET));
    let mut settings = vec![format!("credential.{}.helper=cache --socket {socket}", grant.origin.url())];
    if !grant.origin.is_encrypted() {
        // Without encryption it must not leave this machine.
        settings.push("http.proxy=".to_owned());
    }
    settings
}

/// git runs helpers by a shell.
fn quote(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

async fn respond(mut stream: UnixStream, grant: &Grant) -> io::Result<()> {
    let mut request = String::new();
    (&mut stream).take(MAX_REQUEST_BYTES).read_to_string(&mut request).await?;
    if let Some(answer) = answer(&request, grant) {
        stream.write_all(answer.as_bytes()).await?;
    }
    stream.shutdown().await
}

/// Returns the credential if git requests it, for the origin that it is for. Other requests, such as to keep or
/// to forget one, are ignored.
fn answer(request: &str, grant: &Grant) -> Option<Zeroizing<String>> {
    let field = |name: &str| {
        request
            .lines()
            .find_map(|line| line.split_once('=').filter(|(key, _)| *key == name))
            .map(|(_, value)| value)
    };
    if field("action") != Some("get") {
        return None;
    }
    // git decodes escapes in the host, so that it can contain anything.
    let host = field("host").filter(|host| !host.contains(['/', '?', '#']))?;
    let origin = Origin::parse(&format!("{}://{host}/", field("protocol")?))?;
    let credential = &grant.credential;
    if origin != grant.origin || field("username").is_some_and(|name| name != credential.username()) {
        tracing::warn!("git has requested a credential of another server, and got none");
        return None;
    }
    Some(Zeroizing::new(format!("username={}\npassword={}\n", credential.username(), credential.password())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(url: &str) -> Grant {
        Grant {
            credential: Arc::new(Credential::parse("key", b"bot:hunter22").ok().unwrap()),
            origin: Origin::parse(url).unwrap(),
            folder: PathBuf::from("/x/it's"),
        }
    }

    fn request(lines: &str) -> String {
        lines.replace(' ', "\n") + "\n"
    }

    #[test]
    fn only_the_same_scheme_host_and_port_get_the_credential() {
        let grant = grant("https://git.test/team/shop");
        for (lines, is_answered) in [
            ("action=get timeout=900 protocol=https host=git.test", true),
            ("action=get protocol=https host=Git.Test:443", true),
            ("action=get protocol=https host=git.test username=bot", true),
            ("action=get protocol=https host=git.test username=root", false),
            ("action=get protocol=http host=git.test", false),
            ("action=get protocol=http host=git.test:443", false),
            ("action=get protocol=https host=git.test:8443", false),
            ("action=get protocol=https host=evil.test", false),
            ("action=get protocol=https host=git.test.evil.test", false),
            ("action=get protocol=https host=evil.test@git.test", false),
            ("action=get protocol=https host=git.test/evil.test", false),
            ("action=get protocol=https", false),
            ("action=get host=git.test", false),
            // Only the first field counts, in the order in which git writes them.
            ("action=get protocol=https host=evil.test host=git.test", false),
            ("action=store protocol=https host=git.test", false),
            ("action=erase protocol=https host=git.test", false),
            ("protocol=https host=git.test", false),
        ] {
            let answer = answer(&request(lines), &grant);
            assert_eq!(answer.is_some(), is_answered, "{lines}");
            if let Some(answer) = answer {
                assert_eq!(*answer, "username=bot\npassword=hunter22\n");
            }
        }
    }

    #[test]
    fn git_asks_the_helper_for_one_origin_only() {
        assert_eq!(
            settings(&grant("https://git.test:8443/x")),
            [r"credential.https://git.test:8443.helper=cache --socket '/x/it'\''s/socket'"]
        );
        assert_eq!(settings(&grant("http://127.0.0.1:80/x")).last().unwrap(), "http.proxy=");
    }
}
