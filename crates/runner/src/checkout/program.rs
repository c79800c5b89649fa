//! Calls `git`, always in the same environment. None of its processes outlives the call.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;

use super::credential_helper::{Grant, Helper};
use super::error::{CheckoutError, GitError};
use super::network::Route;
use super::remote::Remote;

/// How much of git's standard output and standard error is kept.
const MAX_OUTPUT_BYTES: u64 = 16 * 1024;
/// The variables of the runner's environment that git and ssh need: proxies, certificates, and the operator's
/// ssh key.
const FORWARDED_VARIABLES: [&str; 13] = [
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
    // The target of a redirect has not been checked.
    "http.followRedirects=false",
    "maintenance.auto=false",
    "fetch.recurseSubmodules=false",
    "gc.auto=0",
    "advice.detachedHead=false",
];

pub(super) struct Git {
    folder: PathBuf,
    route: Route,
    grant: Option<Grant>,
}

impl Git {
    pub(super) fn new(folder: &Path, remote: Remote<'_>) -> Self {
        Git { folder: folder.to_owned(), route: remote.route.clone(), grant: remote.grant.cloned() }
    }

    /// Returns the repository that this is for.
    pub(super) fn remote<'a>(&'a self, repository: &'a str) -> Remote<'a> {
        Remote { repository, route: &self.route, grant: self.grant.as_ref() }
    }

    /// Returns whether errors must not reveal which server is at the repository's address.
    pub(super) fn is_private(&self) -> bool {
        self.route.is_private
    }

    /// Fetches by the address itself: a remote, and `FETCH_HEAD`, would be left in the workspace.
    pub(super) async fn fetch(
        &self,
        options: &[&str],
        repository: &str,
        refspecs: &[&str],
    ) -> Result<(), GitError> {
        let fixed = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head"];
        let arguments = [&fixed[..], options, &["--", repository], refspecs].concat();
        // Only this call gets the credential, and only while it runs.
        let helper = match &self.grant {
            Some(grant) => Some(Helper::start(grant).map_err(|error| could_not_run("fetch", &error))?),
            None => None,
        };
        let settings = helper.as_ref().map(Helper::settings).unwrap_or_default();
        self.run_with(settings, &arguments).await.map(drop).map_err(|error| match &self.grant {
            // The server may have put it into a message.
            Some(grant) => GitError { stderr: grant.credential.mask(&error.stderr), ..error },
            None => error,
        })
    }

    pub(super) fn fetch_failed(&self, error: GitError) -> CheckoutError {
        let secret = self.grant.as_ref().map(|grant| grant.credential.name());
        CheckoutError::fetch(error, self.is_private(), secret)
    }

    /// Runs git and returns its standard output. If this future is dropped, git is killed with all processes
    /// that it has started.
    pub(super) async fn run(&self, arguments: &[&str]) -> Result<String, GitError> {
        self.run_with(&[], arguments).await
    }

    async fn run_with(&self, settings: &[String], arguments: &[&str]) -> Result<String, GitError> {
        let verb = arguments.first().copied().unwrap_or_default();
        let failed = |error: std::io::Error| could_not_run(verb, &error);
        let mut child = self.command(settings, arguments).spawn().map_err(failed)?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).map(|id| Group(Pid::from_raw(id)));
        let (output, stderr, status) = tokio::join!(
            read_beginning(child.stdout.take()),
            read_beginning(child.stderr.take()),
            child.wait()
        );
        let status = status.map_err(failed)?;
        if let Some(group) = group {
            group.disarm();
        }
        if status.success() {
            return Ok(output);
        }
        Err(GitError { verb: verb.to_owned(), code: status.code(), stderr: without_passwords(stderr.trim()) })
    }

    fn command(&self, settings: &[String], arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.env_clear();
        for name in FORWARDED_VARIABLES {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        command
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ALLOW_PROTOCOL", self.route.protocols)
            .env("GIT_SSH_COMMAND", format!("ssh -o BatchMode=yes{}", self.route.ssh))
            // A missing object must fail the command, and not be fetched implicitly.
            .env("GIT_NO_LAZY_FETCH", "1")
            // Do not search parent folders for a repository: the work folder may itself be in one.
            .env("GIT_CEILING_DIRECTORIES", self.folder.parent().unwrap_or(&self.folder))
            .env("LC_ALL", "C");
        let own = self.route.settings.iter().chain(settings).map(String::as_str);
        for setting in SETTINGS.into_iter().chain(own) {
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

fn could_not_run(verb: &str, error: &std::io::Error) -> GitError {
    GitError { verb: verb.to_owned(), code: None, stderr: format!("it could not be run: {error}") }
}

/// The first version with `http.curloptResolve`. An older one would ignore the setting and connect to any
/// address.
const MIN_VERSION: (u32, u32) = (2, 37);

/// Rejects a git that does not support `http.curloptResolve`, by the output of `git version`.
pub(super) fn check_version(printed: &str) -> Result<(), CheckoutError> {
    let number =
        printed.split_whitespace().find(|part| part.starts_with(|letter: char| letter.is_ascii_digit()));
    let mut parts = number.unwrap_or_default().split('.').map(|part| part.parse::<u32>().ok());
    match (parts.next().flatten(), parts.next().flatten()) {
        (Some(major), Some(minor)) if (major, minor) >= MIN_VERSION => Ok(()),
        _ => Err(CheckoutError::transient(format!(
            "this runner's git is too old ({}): version {}.{} or newer is needed",
            printed.trim(),
            MIN_VERSION.0,
            MIN_VERSION.1
        ))),
    }
}

/// git's process group, which also contains its transport helpers. Killed on drop.
struct Group(Pid);

impl Group {
    /// Prevents the kill after git has ended: its process id may be reused from now on.
    fn disarm(self) {
        std::mem::forget(self);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = killpg(self.0, Signal::SIGKILL);
    }
}

/// Returns the beginning of a stream. The rest is read and discarded, so that git does not block on a full
/// pipe.
async fn read_beginning(stream: Option<impl AsyncRead + Unpin>) -> String {
    let Some(mut stream) = stream else { return String::new() };
    let mut kept = Vec::new();
    if (&mut stream).take(MAX_OUTPUT_BYTES).read_to_end(&mut kept).await.is_ok() {
        let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
    }
    String::from_utf8_lossy(&kept).into_owned()
}

/// Removes user names and passwords from addresses such as `https://name:password@host`.
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
    fn old_versions_of_git_are_rejected() {
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
    fn only_credentials_are_removed_from_addresses() {
        for (text, expected) in [
            (
                "unable to access 'https://bot:s3cret@git.test/x.git/': 403",
                "unable to access 'https://…@git.test/x.git/': 403",
            ),
            ("https://git.test/a@b", "https://git.test/a@b"),
            ("from ssh://git@git.test:22/x and http://a:b@c", "from ssh://…@git.test:22/x and http://…@c"),
            ("no address", "no address"),
        ] {
            assert_eq!(without_passwords(text), expected);
        }
    }
}
