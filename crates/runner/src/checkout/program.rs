//! How `git` is called: the same environment every time, and none of its processes outlives the call.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;

use super::error::{CheckoutError, GitError};
use super::network::Route;

/// What is kept of its words.
const WORDS: u64 = 16 * 1024;
/// What git and ssh need of the runner's own environment: the way out, and a key if the operator has given one.
const PASSED_ON: [&str; 13] = [
    "PATH",
    "HOME",
    "SSH_AUTH_SOCK",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "GIT_SSL_CAINFO",
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
];
const SETTINGS: [&str; 10] = [
    "core.hooksPath=/dev/null",
    "core.askPass=",
    "core.fsmonitor=false",
    "credential.helper=",
    // Reflogs name the address that was fetched from.
    "core.logAllRefUpdates=false",
    // A redirect leads to an address that nobody has checked.
    "http.followRedirects=false",
    "maintenance.auto=false",
    "fetch.recurseSubmodules=false",
    "gc.auto=0",
    "advice.detachedHead=false",
];

pub(super) struct Git {
    folder: PathBuf,
    route: Route,
}

impl Git {
    pub(super) fn new(folder: &Path, route: &Route) -> Self {
        Git { folder: folder.to_owned(), route: route.clone() }
    }

    /// Whether errors must not tell what answers at the repository's address.
    pub(super) fn is_private(&self) -> bool {
        self.route.is_private
    }

    /// Fetches by the address itself: a remote, and what git notes of a fetch, would stay in the workspace.
    pub(super) async fn fetch(
        &self,
        options: &[&str],
        repository: &str,
        refspecs: &[&str],
    ) -> Result<(), GitError> {
        let fixed = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head"];
        self.run(&[&fixed[..], options, &["--", repository], refspecs].concat()).await.map(drop)
    }

    /// What it wrote to its standard output. If this is dropped, git is killed with all that it has started.
    pub(super) async fn run(&self, arguments: &[&str]) -> Result<String, GitError> {
        let verb = arguments.first().copied().unwrap_or_default();
        let failed = |error: std::io::Error| GitError {
            verb: verb.to_owned(),
            code: None,
            words: format!("it could not be run: {error}"),
        };
        let mut child = self.command(arguments).spawn().map_err(failed)?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).map(|id| Group(Pid::from_raw(id)));
        let (output, words, status) =
            tokio::join!(beginning(child.stdout.take()), beginning(child.stderr.take()), child.wait());
        let status = status.map_err(failed)?;
        if let Some(group) = group {
            group.has_ended();
        }
        if status.success() {
            return Ok(output);
        }
        Err(GitError { verb: verb.to_owned(), code: status.code(), words: without_passwords(words.trim()) })
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.env_clear();
        for name in PASSED_ON {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        command
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ALLOW_PROTOCOL", self.route.protocols)
            .env("GIT_SSH_COMMAND", format!("ssh -o BatchMode=yes{}", self.route.ssh))
            // An object that is missing is an answer, and not fetched in passing.
            .env("GIT_NO_LAZY_FETCH", "1")
            // Not a folder above: the workspace lies in one that may itself be in a repository.
            .env("GIT_CEILING_DIRECTORIES", self.folder.parent().unwrap_or(&self.folder))
            .env("LC_ALL", "C");
        for setting in SETTINGS.into_iter().chain(self.route.settings.iter().map(String::as_str)) {
            command.args(["-c", setting]);
        }
        command
            .args(arguments)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        command
    }
}

/// The first version with `http.curloptResolve`. An older one would ignore the setting, and connect to any address.
const OLDEST: (u32, u32) = (2, 37);

/// Rejects a git that could not be told which address to connect to, by what `git version` prints.
pub(super) fn check_version(printed: &str) -> Result<(), CheckoutError> {
    let number =
        printed.split_whitespace().find(|word| word.starts_with(|letter: char| letter.is_ascii_digit()));
    let mut parts = number.unwrap_or_default().split('.').map(|part| part.parse::<u32>().ok());
    match (parts.next().flatten(), parts.next().flatten()) {
        (Some(major), Some(minor)) if (major, minor) >= OLDEST => Ok(()),
        _ => Err(CheckoutError::transient(format!(
            "this runner's git is too old ({}): version {}.{} or newer is needed",
            printed.trim(),
            OLDEST.0,
            OLDEST.1
        ))),
    }
}

/// git's process group: what it has started to reach the server is in it too.
struct Group(Pid);

impl Group {
    /// From here on its number may be another's.
    fn has_ended(self) {
        std::mem::forget(self);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = killpg(self.0, Signal::SIGKILL);
    }
}

/// The beginning of what it says; the rest is read and thrown away, so that it does not wait for a reader.
async fn beginning(stream: Option<impl AsyncRead + Unpin>) -> String {
    let Some(mut stream) = stream else { return String::new() };
    let mut kept = Vec::new();
    if (&mut stream).take(WORDS).read_to_end(&mut kept).await.is_ok() {
        let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
    }
    String::from_utf8_lossy(&kept).into_owned()
}

/// An address may carry a name and a password: `https://name:password@host`.
fn without_passwords(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let end = after
            .find(|letter: char| letter == '/' || letter.is_whitespace() || letter == '\'')
            .unwrap_or(after.len());
        match after[..end].rfind('@') {
            Some(host) => {
                out.push('…');
                rest = &after[host..];
            }
            None => rest = after,
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::{check_version, without_passwords};

    #[test]
    fn a_git_that_can_not_be_told_an_address_is_too_old() {
        for (printed, is_new_enough) in [
            ("git version 2.37.0", true),
            ("git version 2.39.5 (Apple Git-154)", true),
            ("git version 2.47.3\n", true),
            ("git version 3.0.1", true),
            ("git version 2.36.6", false),
            ("git version 1.99.0", false),
            ("", false),
        ] {
            assert_eq!(check_version(printed).is_ok(), is_new_enough, "{printed}");
        }
    }

    #[test]
    fn an_address_loses_its_password_and_nothing_else() {
        for (text, shown) in [
            (
                "unable to access 'https://bot:s3cret@git.test/x.git/': 403",
                "unable to access 'https://…@git.test/x.git/': 403",
            ),
            ("https://git.test/a@b", "https://git.test/a@b"),
            ("from ssh://git@git.test:22/x and http://a:b@c", "from ssh://…@git.test:22/x and http://…@c"),
            ("no address", "no address"),
        ] {
            assert_eq!(without_passwords(text), shown);
        }
    }
}
